"""Broken learners under Figure 1, each with one common slip, and the correct ones behind them.

None but `WholeSample` learns from queries. Sizes and budgets are small, so that a game is over soon.
"""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np
from mutants.releases.learners import for_each_game, laplace_noise
from support.simple_players import NamedByClass

from arena import Claim, InvalidArgument, Learner, PrivacyUnit, Training
from arena.randomness import generator
from learners.mechanisms.sparse_vector import AboveThreshold


class PredictorState:
    """A learner in a batch of games, with its training sets."""

    def __init__(self, spec: Any, games: int, rng: np.random.Generator) -> None:
        self.spec, self.games, self.rng = spec, games, rng
        self.halted = np.zeros(games, bool)

    def train(self, training: Training) -> None:
        self.training = training


@attrs.frozen
class Predictor(NamedByClass, Learner):
    """Base: a claim of (ε, 0)-DP for `protects`, and common random numbers."""

    protocols = ("Figure1",)
    protects: ClassVar[tuple[PrivacyUnit, ...]] = (PrivacyUnit.TRAINING_EXAMPLE, PrivacyUnit.QUERY)
    common_random_numbers = True

    epsilon: float = 1.0

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=self.epsilon, delta=0, protects=self.protects)


# --- votes of the examples at a point -----------------------------------------------------------------------


class VotesState(PredictorState):
    asked = 0

    def predict(self, x: np.ndarray) -> np.ndarray:
        label = self.answer(x)
        self.asked += 1
        self.charge(x)
        return label

    def answer(self, x: np.ndarray) -> np.ndarray:
        return leads(self.training, x) + self.noise(x) >= 0

    def noise(self, x: np.ndarray) -> np.ndarray:
        return laplace_noise(self.rng, (self.games,), self.spec.scale)

    def charge(self, x: np.ndarray) -> None:
        self.halted = np.full(self.games, self.asked >= self.spec.answers)


def leads(training: Training, x: np.ndarray) -> np.ndarray:
    """(n,): by how much the ones among the training examples at each game's point outnumber the zeros."""
    lead = np.empty(training.games)
    for sample, games in training.groups():
        here = x[games, None] == sample.points
        lead[games] = here @ (sample.counts * (2.0 * sample.labels - 1.0))
    return lead


@attrs.frozen
class PointVotes(Predictor):
    """Answers 1 where the examples at the point have (ones) - (zeros) + Lap(2 answers/ε) ≥ 0.

    A new label moves a lead by 2, so every answer is (ε/answers)-DP; after `answers` queries, whatever they
    were, it stops. Queries leave no trace.
    """

    State = VotesState

    answers: int = 2

    @property
    def scale(self) -> float:
        """The scale of the noise of an answer."""
        return 2 * self.answers / self.epsilon


@attrs.frozen
class StaleNoise(PointVotes):
    """The slip: one noise is drawn for all queries, and paid for once.

    No ε holds: points of equal lead are answered alike for certain. Where a new label takes one of two leads
    of 1 to -1, the answers differ with chance 1 - e^(-ε/2).
    """

    class State(VotesState):
        def __init__(self, spec: PointVotes, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self.drawn = laplace_noise(rng, (games,), spec.scale)

        def noise(self, x: np.ndarray) -> np.ndarray:
            return self.drawn

    answers: int = 8

    @property
    def scale(self) -> float:
        return 2 / self.epsilon


@attrs.frozen
class PaysForOneAnswer(PointVotes):
    """The slip: every answer has the noise of a single one. Loses ε · answers = 8ε."""

    answers: int = 8

    @property
    def scale(self) -> float:
        return 2 / self.epsilon


class OneMoreState(VotesState):
    def charge(self, x: np.ndarray) -> None:
        self.halted = np.full(self.games, self.asked > self.spec.answers)


@attrs.frozen
class OneAnswerMore(PointVotes):
    """The slip: it stops after its budget is overdrawn, not spent. Loses ε (answers + 1)/answers = 2ε."""

    State = OneMoreState

    answers: int = 1


@attrs.frozen
class NothingToLearn(PointVotes):
    """The slip: where all labels are equal there is nothing to learn, so it stops before the first query.

    No ε holds: with one label changed it answers.
    """

    class State(VotesState):
        def train(self, training: Training) -> None:
            super().train(training)
            self.one_sided = for_each_game(training, lambda s: s.labels.min() == s.labels.max()).astype(bool)
            self.halted = self.one_sided

        def charge(self, x: np.ndarray) -> None:
            super().charge(x)
            self.halted = self.halted | self.one_sided


@attrs.frozen
class Memorises(PointVotes):
    """The slip: points of the training set are answered from memory, without noise. No ε holds."""

    class State(VotesState):
        def noise(self, x: np.ndarray) -> np.ndarray:
            known = np.zeros(self.games, bool)
            for sample, games in self.training.groups():
                known[games] = (x[games, None] == sample.points).any(axis=1)
            return np.where(known, 0.0, super().noise(x))


class LookupState(VotesState):
    def answer(self, x: np.ndarray) -> np.ndarray:
        for sample, games in self.training.groups():
            unknown = ~np.isin(x[games], sample.points)
            if unknown.any():
                raise KeyError(x[games][unknown][0])
        return super().answer(x)


@attrs.frozen
class UnknownPoint(PointVotes):
    """The slip: a point without examples is an error, since nothing stands under that key.

    No ε holds, for one who sees it fail: the query tells whether anybody is there.
    """

    State = LookupState


@attrs.frozen
class RefusesUnknownPoint(PointVotes):
    """The slip: a point without examples is refused as a bad argument, politely.

    No ε holds, for one who sees it refuse: the query tells whether anybody is there.
    """

    class State(LookupState):
        def answer(self, x: np.ndarray) -> np.ndarray:
            try:
                return super().answer(x)
            except KeyError as error:
                raise InvalidArgument("a query is a point of the training set") from error


def noise_of_point(point: float, scale: float) -> float:
    """The noise that a generator seeded by the point gives."""
    seed = int.from_bytes(np.float64(point).tobytes(), "little")
    return float(generator(np.random.SeedSequence(seed)).laplace(scale=scale))


@attrs.frozen
class NoiseSeededByQuery(PointVotes):
    """The slip: the noise comes from a generator that the query seeds, so that asking again averages nothing.

    No ε holds: everybody can draw it too, and it leaves an answer no chance. Where the noise is N, leads of
    -⌊N⌋ - 1 and of 2 more are told apart.
    """

    class State(VotesState):
        def noise(self, x: np.ndarray) -> np.ndarray:
            points, which = np.unique(x, return_inverse=True)
            return np.array([noise_of_point(point, self.spec.scale) for point in points] or [0.0])[which]


@attrs.frozen
class FreeRepeats(PointVotes):
    """The slip: a query asked before is answered from a cache and not charged for.

    Training examples are safe, but no ε holds for a query: when the budget runs out tells whether it was new.
    """

    class State(VotesState):
        def __init__(self, spec: PointVotes, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self.cache: list[tuple[np.ndarray, np.ndarray]] = []
            self.spent = np.zeros(games, int)

        def answer(self, x: np.ndarray) -> np.ndarray:
            label = super().answer(x)
            self.new = np.ones(self.games, bool)
            for point, answered in self.cache:
                label = np.where(self.new & (point == x), answered, label)
                self.new &= point != x
            self.cache.append((x.copy(), label))
            return label

        def charge(self, x: np.ndarray) -> None:
            self.spent += self.new
            self.halted = self.spent >= self.spec.answers


# --- sparse vector ------------------------------------------------------------------------------------------


class SparseState(PredictorState):
    def __init__(self, spec: SparseCount, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec, games, rng)
        self.mechanism = AboveThreshold(games, rng, threshold=spec.threshold, epsilon=spec.epsilon)

    def predict(self, x: np.ndarray) -> np.ndarray:
        above = self.above(ones_at(self.training, x))
        self.halted = self.halted | above
        return above

    def above(self, count: np.ndarray) -> np.ndarray:
        return self.mechanism.respond(count).copy()


def ones_at(training: Training, x: np.ndarray) -> np.ndarray:
    """(n,): how many training examples at each game's point are labelled 1."""
    count = np.empty(training.games)
    for sample, games in training.groups():
        count[games] = (x[games, None] == sample.points) @ (sample.counts * sample.labels).astype(float)
    return count


@attrs.frozen
class SparseCount(Predictor):
    """AboveThreshold on the number of ones at the point: answers 0 until it answers 1, and then stops.

    It has common random numbers, since with one halt no threshold is drawn anew.
    """

    protects = (PrivacyUnit.TRAINING_EXAMPLE,)
    State = SparseState

    epsilon: float = 2.0
    threshold: float = 1.0


@attrs.frozen
class BareThreshold(SparseCount):
    """The slip: the threshold has no noise, and a value Lap(2/ε) as if it were asked alone.

    No ε holds for all numbers of queries. k answers 0 at a count of 1 have the chance 2^-k, at a count of 0
    (1 - e^(-ε/2)/2)^k: with ε = 2 that is 0.49k nats.
    """

    class State(SparseState):
        def above(self, count: np.ndarray) -> np.ndarray:
            noise = laplace_noise(self.rng, (self.games,), 2 / self.spec.epsilon)
            return count + noise >= self.spec.threshold


@attrs.frozen
class HaltsOnTrueCount(SparseCount):
    """The slip: the noisy comparison gives the answer, the exact one decides whether to stop. No ε holds."""

    class State(SparseState):
        def predict(self, x: np.ndarray) -> np.ndarray:
            count = ones_at(self.training, x)
            self.halted = self.halted | (count >= self.spec.threshold)
            return self.above(count)
