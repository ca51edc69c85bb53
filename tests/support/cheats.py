"""Adversaries that try to have a correct learner refuted through the objects of the API.

Every class is one attack. None reads frames, the garbage collector or the memory of the process, which
docs/security.md is about.
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from adversaries.release.point_swap import CountSwap
from arena import Claim, Figure1, PrivacyUnit, Query, Referee, Release, Sample, Train, Training
from arena.players import Adversary, GameAdversary, Learner, Moves
from learners.common.learner_bases import ReleaseLearner
from learners.mechanisms.noise import laplace_mechanism
from learners.releases.counts import LaplaceCount

SIZE = 20
ZEROS = Sample([0.0], [0], [SIZE])
ONES = Sample([0.0], [1], [SIZE])
NEIGHBOUR = ZEROS.replace_one(0, 0.0, 1)
TRAINING = (PrivacyUnit.TRAINING_EXAMPLE,)


# --- correct learners ---------------------------------------------------------------------------------------


@attrs.frozen
class IndependentCount(LaplaceCount):
    """laplace-count whose two worlds are played with different random numbers."""

    name = "independent-count"
    common_random_numbers = False


@attrs.frozen
class OddCount(LaplaceCount):
    """Releases the number of odd points, with Laplace noise."""

    name = "odd-count"

    def weigh(self, points: np.ndarray) -> np.ndarray:
        return points % 2 == 1

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        sums = [float(self.weigh(s.points) @ s.counts) for s in training.samples]
        return laplace_mechanism(rng, np.array(sums)[training.which], sensitivity=1, epsilon=self.epsilon)


@attrs.frozen
class SignCount(OddCount):
    """Releases the number of points whose sign bit is set, with Laplace noise."""

    name = "sign-count"

    def weigh(self, points: np.ndarray) -> np.ndarray:
        return np.signbit(points.astype(float))


@attrs.frozen
class ClippedSum(OddCount):
    """Releases the sum of the doubled points, clipped to [0, 1] each, with Laplace noise."""

    name = "clipped-sum"

    def weigh(self, points: np.ndarray) -> np.ndarray:
        return np.clip(points + points, 0, 1)


@attrs.frozen
class LateCount(Learner):
    """Answers one query: whether the number of ones in its sample, with Laplace noise, is above the point.

    It reads the sample when it is asked. Then it halts, and answers without noise, which nobody may see.
    """

    name = "late-count"
    protocols = ("Figure1",)

    claim = Claim(epsilon=1, delta=0, protects=TRAINING)

    def start(self, games: int, rng: np.random.Generator) -> LateState:
        return LateState(games, rng)


class LateState:
    def __init__(self, games: int, rng: np.random.Generator) -> None:
        self.halted, self._rng = np.zeros(games, bool), rng

    def train(self, training: Training) -> None:
        self._training = training

    def predict(self, x: np.ndarray) -> np.ndarray:
        counts = np.array([float(s.labels @ s.counts) for s in self._training.samples])[self._training.which]
        noise = 0.0 if self.halted.any() else self._rng.laplace(size=len(x))
        self.halted = np.ones(len(x), bool)
        return counts + noise > x


@attrs.frozen
class BatchNoise(ReleaseLearner):
    """Releases a label by randomised response, with one coin for all games of a batch.

    It keeps its claim in a single game, and breaks the contract that games are independent.
    """

    name = "batch-noise"
    common: bool = False

    @property
    def common_random_numbers(self) -> bool:
        return self.common

    claim = Claim(epsilon=1, delta=0, protects=TRAINING)

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        labels = np.array([float(s.labels.max()) for s in training.samples])[training.which]
        return np.abs(labels - (rng.random() > np.e / (1 + np.e)))


# --- attacks ------------------------------------------------------------------------------------------------


@attrs.frozen
class Cheat(Adversary):
    """Base: gives two samples and scores by the released number."""

    protocols = ("Release",)
    returns_score = True
    learner: Learner = LaplaceCount()

    @property
    def name(self) -> str:  # type: ignore[override]
        return type(self).__name__

    referee = Release()

    def samples(self) -> tuple[Any, Any]:
        return ZEROS, NEIGHBOUR

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        reply = yield Train(*self.samples())
        return reply.value


class LyingSample(Sample):
    def differences(self, other: Sample) -> int:
        return 1


@attrs.frozen
class OverriddenDifferences(Cheat):
    """The comparison of a subclass of Sample finds one difference instead of all."""

    def samples(self) -> tuple[Any, Any]:
        return LyingSample([0.0], [0], [SIZE]), LyingSample([0.0], [1], [SIZE])


class LyingArray(np.ndarray):
    def __ne__(self, other: Any) -> Any:
        return np.zeros(np.shape(other), bool)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        plain = [np.asarray(i) if isinstance(i, LyingArray) else i for i in inputs]
        if ufunc in (np.not_equal, np.bitwise_or):
            return np.zeros(np.broadcast_shapes(*(np.shape(p) for p in plain)), bool)
        return getattr(ufunc, method)(*plain, **kwargs)


@attrs.frozen
class LyingLabels(Cheat):
    """The labels are an array whose comparison finds no difference."""

    def samples(self) -> tuple[Any, Any]:
        other = Sample([0.0], [1], [SIZE])
        object.__setattr__(other, "labels", np.ones(1, np.int8).view(LyingArray))
        return ZEROS, other


@attrs.frozen
class LargeIntegers(Cheat):
    """2^53 + 1 and 2^53 are compared as floats."""

    learner: Learner = OddCount()

    def samples(self) -> tuple[Any, Any]:
        integers, floats = np.array([2**53 + 1, 0]), np.array([2.0**53, 0.0])
        return Sample(integers, [0, 0], [SIZE, 1]), Sample(floats, [0, 1], [SIZE, 1])


@attrs.frozen
class NegativeZero(Cheat):
    """0 and −0 are equal, but the learner can tell them apart."""

    learner: Learner = SignCount()

    def samples(self) -> tuple[Any, Any]:
        return Sample([0.0], [0], [SIZE]), Sample([-0.0], [0], [SIZE])


@attrs.frozen
class SmallIntegers(Cheat):
    """The same points in a type whose sums overflow."""

    learner: Learner = ClippedSum()

    def samples(self) -> tuple[Any, Any]:
        small, floats = np.array([100, 0], np.int8), np.array([100.0, 0.0])
        return Sample(small, [0, 0], [SIZE, 1]), Sample(floats, [0, 1], [SIZE, 1])


class ChangingSample(Sample):
    @property
    def digest(self) -> str:  # type: ignore[override]
        self.labels.setflags(write=True)
        self.labels[:] = 1
        return "f" * 16


@attrs.frozen
class ChangingDigest(Cheat):
    """A subclass of Sample changes its labels when the referee sorts the samples, after it compared them."""

    def samples(self) -> tuple[Any, Any]:
        return ZEROS, ChangingSample([0.0], [0], [SIZE])


@attrs.frozen
class LateCheat(Cheat):
    """Base: plays with late-count."""

    learner: Learner = LateCount()
    protocols = ("Figure1",)

    referee = Figure1()


@attrs.frozen
class ChangedSample(LateCheat):
    """The sample of world 1 is changed after the referee has compared it."""

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = ZEROS.replace_one(0, 1.0, 0)
        yield Train(ZEROS, sample)
        try:
            sample.labels.setflags(write=True)
            sample.labels[:] = 1
        except ValueError:
            object.__setattr__(sample, "labels", np.ones(len(sample.labels), np.int8))
        reply = yield Query(SIZE / 2)
        return reply.label.astype(float)


@attrs.frozen
class ClearedHalt(LateCheat):
    """Clears the halts that it was shown, so as to see the answers after them."""

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(ZEROS, NEIGHBOUR)
        reply = yield Query(0.5)
        try:
            reply.halted.setflags(write=True)
            reply.halted[:] = False
        except ValueError:
            pass
        reply = yield Query(0.5)
        return reply.label.astype(float)


@attrs.frozen
class SeedOfReferee(Cheat):
    """Derives the worlds from the seed of its own generator."""

    learner: Learner = IndependentCount()

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(ZEROS, NEIGHBOUR)
        seed = rng.bit_generator.seed_seq
        key = (*seed.spawn_key[:-1], 2)
        bits = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed.entropy, spawn_key=key)))
        first = bits.integers(0, 2, size=(games + 1) // 2, dtype=np.int8).astype(bool)
        return np.column_stack([first, ~first]).ravel()[:games].astype(float)


@attrs.frozen
class SeedOfLearner(Cheat):
    """Derives the learner's noise from the seed of its own generator."""

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        reply = yield Train(ZEROS, NEIGHBOUR)
        seed = rng.bit_generator.seed_seq
        key = (*seed.spawn_key[:-1], 0)
        noise = np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed.entropy, spawn_key=key)))
        return np.abs(reply.value - laplace_mechanism(noise, np.zeros(games), sensitivity=1, epsilon=1.0))


@attrs.frozen
class BatchMean(Cheat):
    """The score of every game is the mean over a batch, if the batch is large."""

    smallest: int = 9

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        reply = yield Train(ZEROS, NEIGHBOUR)
        return np.full(games, reply.value.mean()) if games >= self.smallest else reply.value


@attrs.frozen
class NextGame(Cheat):
    """The score compares a game with its neighbour in the batch, if the batch is large."""

    learner: Learner = IndependentCount()

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        reply = yield Train(ZEROS, NEIGHBOUR)
        partner = np.arange(games) ^ 1
        return reply.value if games < 100 else reply.value - reply.value[partner % games]


@attrs.frozen
class ChangedLearner(Cheat):
    """Changes the configuration of the learner, of which it holds a copy."""

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        object.__setattr__(self.learner, "epsilon", 1e3)
        reply = yield Train(ZEROS, NEIGHBOUR)
        return reply.value


@attrs.frozen
class CountedCalls(Cheat):
    """Counts the batches that it plays: world 0 comes first."""

    calls: ClassVar[list[int]] = []

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        self.calls.append(games)
        reply = yield Train(ZEROS, NEIGHBOUR)
        large = sum(size > 1_000 for size in self.calls)
        return reply.value if large < 3 else np.full(games, float(large % 2 == 0))


@attrs.frozen
class RememberedGame(GameAdversary):
    """Remembers the game before, and compares this game with it."""

    protocols = ("Release",)
    returns_score = True
    learner: Learner = IndependentCount()
    values: ClassVar[list[float]] = []

    name = "RememberedGame"
    referee: ClassVar[Referee] = Release()

    def play_one(self, rng: np.random.Generator) -> Moves:
        reply = yield Train(ZEROS, NEIGHBOUR)
        self.values.append(float(reply.value))
        second = len(self.values) % 2 == 0
        return self.values[-1] - self.values[-2] if second else 0.0


@attrs.frozen
class ChangedReply(Cheat):
    """Writes the mean over the batch into the reply that a learned distinguisher will read."""

    returns_score = False

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        reply = yield Train(ZEROS, NEIGHBOUR)
        if games > 8:
            mean = float(np.round(reply.value.mean()))
            try:
                reply.value.setflags(write=True)
                reply.value[:] = mean
            except ValueError:
                object.__setattr__(reply, "value", np.full(games, mean))
        return None


@attrs.frozen
class Plain(CountSwap):
    """count-swap against a learner that breaks the contract."""

    learner: Learner = BatchNoise()
    referee: ClassVar[Referee] = Release()


CHEATS: tuple[Any, ...] = (
    OverriddenDifferences(),
    LyingLabels(),
    LargeIntegers(),
    NegativeZero(),
    SmallIntegers(),
    ChangingDigest(),
    ChangedSample(),
    ClearedHalt(),
    SeedOfReferee(),
    SeedOfLearner(),
    BatchMean(),
    BatchMean(smallest=2_000),
    NextGame(),
    ChangedLearner(learner=LaplaceCount()),
    CountedCalls(),
    RememberedGame(),
    ChangedReply(),
    Plain(),
    Plain(learner=BatchNoise(common=True)),
)
