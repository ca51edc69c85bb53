"""Broken players, one for each check of `arena.testing`, which must catch them."""

from __future__ import annotations

import random
import threading
from typing import Any

import attrs
import numpy as np
from support.simple_players import LastLabel, LastLabelState

from arena import Adversary, Claim, Hypothesis, Learner, Moves, PrivacyUnit, Query, Sample, Train, Training
from arena.laws import AnswerLaw, Branches, Density, Finite, Independent, ValueLaw
from learners.mechanisms.noise import laplace_density

SAMPLE = Sample([0.0, 1.0], [0, 1], [2, 2])


class CoinState:
    """Answers 1 with probability 1/4 below 1/2 and 3/4 from there on."""

    def __init__(self, games: int, rng: np.random.Generator) -> None:
        self.games, self.rng = games, rng
        self.halted = np.zeros(games, bool)

    def train(self, training: Training) -> None:
        pass

    def coins(self) -> np.ndarray:
        return self.rng.random(self.games)

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self.coins() < np.where(x >= 0.5, 0.75, 0.25)


@attrs.frozen
class Coin(Learner):
    """A sound learner, and the base of the broken ones."""

    name = "coin"
    protocols = ("Figure1",)
    State = CoinState

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE, PrivacyUnit.QUERY))

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return self.State(games, rng)


@attrs.define(frozen=False, eq=True, unsafe_hash=True)
class Thawed(Coin):
    """Its settings can be changed."""

    level: float = 0.5
    __setattr__ = object.__setattr__


@attrs.frozen
class Nameless(Coin):
    name = ""


@attrs.frozen
class Homeless(Coin):
    protocols = ("Figure2",)


@attrs.frozen
class Unpicklable(Coin):
    lock: Any = attrs.field(factory=threading.Lock, eq=False)


@attrs.frozen(eq=False)
class Unequal(Coin):
    """Two configurations with the same settings differ."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__


@attrs.frozen
class Boaster(Coin):
    """Its claim is a number."""

    @property
    def claim(self) -> Any:
        return 1.0


@attrs.frozen
class GlobalNumpy(Coin):
    class State(CoinState):
        def coins(self) -> np.ndarray:
            return np.random.rand(self.games)  # noqa: NPY002 - this is the mutation


@attrs.frozen
class GlobalPython(Coin):
    class State(CoinState):
        def coins(self) -> np.ndarray:
            return np.array([random.random() for _ in range(self.games)])


@attrs.frozen
class Unseeded(Coin):
    class State(CoinState):
        def __init__(self, games: int, rng: np.random.Generator) -> None:
            super().__init__(games, np.random.default_rng())


@attrs.frozen
class SharedCoin(Coin):
    class State(CoinState):
        def coins(self) -> np.ndarray:
            return np.full(self.games, self.rng.random())


@attrs.frozen
class CrossTalk(Coin):
    class State(CoinState):
        def predict(self, x: np.ndarray) -> np.ndarray:
            return super().predict(np.full(self.games, x.mean() if self.games else 0.0))


@attrs.frozen
class Lonely(Coin):
    class State(CoinState):
        def predict(self, x: np.ndarray) -> np.ndarray:
            return super().predict(x if self.games > 1 else 1 - x)


@attrs.frozen
class Scribbler(Coin):
    class State(CoinState):
        def predict(self, x: np.ndarray) -> np.ndarray:
            x[:] = 0.0
            return super().predict(x)


@attrs.frozen
class PairOnly(Coin):
    class State(CoinState):
        def predict(self, x: np.ndarray) -> np.ndarray:
            return super().predict(x) if self.games else np.zeros(1, bool)


class UnseededGuessState(LastLabelState):
    """Its hypotheses are drawn from a generator of its own."""

    def hypothesis(self) -> Hypothesis:
        self.last = np.random.default_rng().random(len(self.last)) < 0.5
        return super().hypothesis()


@attrs.frozen
class UnseededGuess(LastLabel):
    def start(self, games: int, rng: np.random.Generator) -> UnseededGuessState:
        return UnseededGuessState(games)


# --- what a learner declares --------------------------------------------------------------------------------


@attrs.frozen
class CommonRandomNumbers(Coin):
    """It has common random numbers, and declares it."""

    common_random_numbers = True


@attrs.frozen
class Planar(CommonRandomNumbers):
    """It has common random numbers, and points in the plane."""

    point_shape = (2,)

    class State(CoinState):
        def predict(self, x: np.ndarray) -> np.ndarray:
            return super().predict(x[:, 0])


@attrs.frozen
class Sparing(CommonRandomNumbers):
    """Draws random numbers only in the games that need them."""

    class State(CoinState):
        def predict(self, x: np.ndarray) -> np.ndarray:
            label = np.zeros(self.games, bool)
            asked = np.flatnonzero(x >= 0.5)
            label[asked] = self.rng.random(asked.size) < 0.5
            return label


@attrs.frozen
class Wasteful(CommonRandomNumbers):
    """Draws more random numbers for some games after those of all games."""

    protocols = ("Release",)

    class State(CoinState):
        def release(self, training: Training) -> np.ndarray:
            coins = self.coins()
            for sample, games in training.groups():
                self.rng.random(len(games) if sample.labels.all() else 0)
            return coins


@attrs.frozen
class WrongShape(Coin):
    some_points = np.zeros((2, 3))


@attrs.frozen
class Pointless(Coin):
    some_points = np.zeros(0)


@attrs.frozen
class Listed(Coin):
    some_points = (0.0, 1.0)


@attrs.frozen
class Narrow(Coin):
    """Fails at one of its points."""

    class State(CoinState):
        def predict(self, x: np.ndarray) -> np.ndarray:
            if ((x > 0) & (x < 1)).any():
                raise ValueError("between")
            return super().predict(x)


# --- capabilities -------------------------------------------------------------------------------------------


@attrs.frozen
class FarVotes(Coin):
    """Its shares of votes exceed 1."""

    class State(CoinState):
        def votes(self, x: Any) -> np.ndarray:
            return np.full(self.games, 1.5)


@attrs.frozen
class OneVote(Coin):
    """Gives one share of votes for all games."""

    class State(CoinState):
        def votes(self, x: Any) -> float:
            return 0.5


@attrs.frozen
class NoAnswers:
    answers = 0
    examples = 1


@attrs.frozen
class EmptyRounds(Coin):
    """Its rounds answer nothing."""

    rounds = None
    rate_run = 1.0

    def round(self, index: int) -> NoAnswers:
        return NoAnswers()

    def pool_size(self, index: int) -> int:
        return 0


@attrs.frozen
class NegativeCosts(Coin):
    def other_costs(self) -> dict[str, float]:
        return {"other": -1.0}


@attrs.frozen
class Mute(Coin):
    """Explains itself by a number."""

    def explain(self) -> dict[str, Any]:
        return {"rate": 0.5}


@attrs.frozen
class BareBound(LastLabel):
    """Its bound is a number."""

    def bound(self, rounds: int) -> Any:
        return 3


class InstructedState(LastLabelState):
    updates: set[bool]

    def instruct(self, update: np.ndarray) -> None:
        self.updates |= set(update.tolist())


@attrs.frozen
class Instructed(LastLabel):
    """Takes instructions, and collects them in `updates`."""

    updates: set[bool] = attrs.field(factory=set, eq=False)

    def start(self, games: int, rng: np.random.Generator) -> InstructedState:
        state = InstructedState(games)
        state.updates = self.updates
        return state


# --- laws of answers ----------------------------------------------------------------------------------------


@attrs.frozen
class CoinLaw(AnswerLaw):
    """One state; answers 1 with probability `low` below 1/2 and `high` from 1/2 on."""

    low: float = 0.25
    high: float = 0.75
    mass: float = 1.0

    def start(self) -> np.ndarray:
        return np.array([self.mass])

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        ones = np.where(x >= 0.5, self.high, self.low)[:, None]
        return np.stack([(1 - ones) * measure, ones * measure])


class ShortLaw(CoinLaw):
    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        return super().step(measure, x)[1:]


@attrs.frozen
class CoinWithLaw(Coin):
    """A coin that declares its output distribution, by default the true one."""

    answer_law: AnswerLaw = CoinLaw()

    def law(self, sample: Sample) -> AnswerLaw:
        return self.answer_law


class HaltingState(CoinState):
    def predict(self, x: np.ndarray) -> np.ndarray:
        label = super().predict(x)
        self.halted = self.halted | label
        return label


@attrs.frozen
class Halting(CoinWithLaw):
    """Halts after its first 1, which its declared distribution does not contain."""

    State = HaltingState


@attrs.frozen
class Budget(CoinWithLaw):
    """Halts after four answers, which its declared distribution need not contain."""

    class State(CoinState):
        asked = 0

        def predict(self, x: np.ndarray) -> np.ndarray:
            self.asked += 1
            self.halted = np.full(self.games, self.asked >= 4)
            return super().predict(x)


class HaltingLaw(CoinLaw):
    outcomes = ((0, False), (1, True))


@attrs.frozen
class LastLaw(HaltingLaw):
    """Has a last answer, with which every game halts."""

    last: int | None = 4


@attrs.frozen
class HaltingBudget(CoinWithLaw):
    """Halts after its first 1 and after four answers, as its declared distribution says."""

    class State(HaltingState):
        asked = 0

        def predict(self, x: np.ndarray) -> np.ndarray:
            self.asked += 1
            label = super().predict(x)
            self.halted = self.halted | (self.asked >= 4)
            return label

    answer_law: AnswerLaw = LastLaw()


@attrs.frozen
class Stuck(CoinWithLaw):
    """Draws one random number for all answers, each of which has the declared distribution."""

    class State(CoinState):
        def __init__(self, games: int, rng: np.random.Generator) -> None:
            super().__init__(games, rng)
            self.numbers = rng.random(games)

        def coins(self) -> np.ndarray:
            return self.numbers


# --- laws of values -----------------------------------------------------------------------------------------


def exponential(rate: float = 1.0, share: float = 1.0) -> Density:
    """The density of Exp(rate)."""
    return Density(
        log=lambda x: np.where(x >= 0, np.log(share * rate) - rate * np.abs(x), -np.inf),
        kinks=(0.0,),
        low=0.0,
        high=40.0 / rate,
        scale=1.0 / rate,
    )


def branches(*shares: float) -> Branches:
    """-1, or Exp(1)."""
    return Branches(
        parts=(shares[0], exponential(share=shares[1])),
        read=lambda values: ((values >= 0).astype(int), values),
    )


class Impossible(ValueLaw):
    """A kind of distribution that no check knows, by which nothing is possible."""

    def log_density(self, values: np.ndarray) -> np.ndarray:
        return np.full(len(values), -np.inf)


@attrs.frozen(eq=False)
class ValueState:
    """Releases Exp(1), an independent pair of them, the same one twice, a bit that is 1 with probability 1/4,
    or -1 with probability 1/4 and otherwise Exp(1)."""

    kind: str
    games: int
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        drawn, bits = self.rng.standard_exponential((self.games, 2)), self.rng.random(self.games) < 0.25
        kinds = {
            "number": drawn[:, 0],
            "pair": drawn,
            "one for both": drawn[:, [0, 0]],
            "bit": bits.astype(int),
            "branch": np.where(bits, -1.0, drawn[:, 0]),
        }
        return kinds[self.kind]


@attrs.frozen
class Value(Learner):
    """Releases a value of some kind and declares some distribution."""

    name = "value"
    protocols = ("Release",)

    kind: str
    tell: Any = attrs.field(eq=False)

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> ValueState:
        return ValueState(self.kind, games, rng)

    def law(self, sample: Sample) -> ValueLaw:
        return self.tell()


@attrs.frozen
class NoisyShare(Learner):
    """Releases the share of ones with Laplace noise of scale 1/n, and declares that distribution.

    noise: that of how many examples is drawn; None: of as many as there are. one_coin: a batch of fewer ones
        than this draws one random number for all of its games.
    """

    name = "noisy-share"
    protocols = ("Release",)

    noise: int | None = None
    one_coin: int = 0

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> NoisyShareState:
        return NoisyShareState(self, rng)

    def law(self, sample: Sample) -> ValueLaw:
        return laplace_density(float(sample.labels @ sample.counts) / sample.size, 1 / sample.size)


@attrs.frozen(eq=False)
class NoisyShareState:
    learner: NoisyShare
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        ones = np.array([float(s.labels @ s.counts) for s in training.samples])[training.which]
        sizes = np.array([s.size for s in training.samples])[training.which]
        drawn = self.rng.laplace(size=len(ones))
        if ones.size and ones.max() < self.learner.one_coin:
            drawn[:] = drawn[0]
        return ones / sizes + drawn / (self.learner.noise or sizes)


def finite(*probabilities: float) -> Finite:
    """The numbers 0, 1, … with these probabilities."""
    return Finite(np.arange(len(probabilities)), probabilities)


def pair() -> Independent:
    return Independent((exponential(), exponential()))


# --- adversaries --------------------------------------------------------------------------------------------


@attrs.frozen
class Asker(Adversary):
    """A sound adversary, which asks 1, and then 1 again in the games that answered 1, and 0 in the others."""

    name = "asker"
    protocols = ("Figure1",)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(SAMPLE, SAMPLE.replace_one(0, 0.0, 1))
        reply = yield Query(1.0)
        reply = yield Query(self.then(reply.label, rng))
        return self.score(reply.label, rng)

    def then(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return (label == 1).astype(float)

    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return label + 0.1 * rng.random(len(label))


@attrs.frozen
class LooksAside(Asker):
    """Scores a game by comparison with the other games of the batch."""

    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return label - label.mean()


@attrs.frozen
class LooksAtItsNeighbour(Asker):
    """Scores a game by the other game of its pair."""

    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return label - label.reshape(-1, 2)[:, ::-1].ravel()


@attrs.frozen
class MovesAside(Asker):
    """Asks the answer of the majority of the batch."""

    def then(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return float(np.mean(label) > 0.5)


@attrs.frozen
class TouchyAsker(Asker):
    """Raises if any game of the batch has halted."""

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(SAMPLE)
        reply = yield Query(1.0)
        if reply.halted.any():
            raise RuntimeError("not again")
        return reply.label


@attrs.frozen
class GlobalAsker(Asker):
    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return label + np.random.rand(len(label))  # noqa: NPY002 - this is the mutation


@attrs.frozen
class UnseededAsker(Asker):
    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return label + np.random.default_rng().random(len(label))


@attrs.frozen
class ForgetfulAsker(Asker):
    """Returns one score for the whole batch."""

    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return 1.0


@attrs.frozen
class SecretAsker(Asker):
    """Declares that it returns no score, and returns one."""

    returns_score = False


@attrs.frozen
class MuteAsker(Asker):
    """Declares that it returns a score, and returns none."""

    returns_score = True

    def score(self, label: np.ndarray, rng: np.random.Generator) -> Any:
        return None


@attrs.frozen
class CheatingAsker(Asker):
    """Makes a second challenge."""

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        yield Train(SAMPLE, SAMPLE.replace_one(0, 0.0, 1))
        yield Query(0.0, 1.0)
        return None
