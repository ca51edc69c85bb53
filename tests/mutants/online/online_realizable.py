"""Broken versions of `realizable`: the shipped learner with one slip each, and an update after about 17
mistakes.

Placing the merged pairs in order instead of at random is no slip and so no mutant. The proof fixes the draws
of pairs and places, and then a replaced example changes one sequence of each layer for all fixed places,
including the identity. Only utility needs a random permutation.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from support.simple_players import BrokenLearner

from arena.concepts import ConceptClass, Points, Thresholds
from learners.mechanisms.counters import HistogramNoise
from learners.mechanisms.sparse_vector import RunningSum
from learners.online.realizable import RealizableLearner, RealizableState


@attrs.frozen
class Shorter(BrokenLearner, RealizableLearner):
    """Base of the broken learners: their settings."""

    State = RealizableState

    concepts: ConceptClass = Thresholds(range(2))
    rounds: int = 40
    epsilon: float = 2.0
    delta: float = 0.1
    beta: float = 0.99
    nodes: int | None = 32
    watching: float = 0.8
    patience: float = 0.25


@attrs.frozen
class BareCounts(Shorter):
    """The slip: the histogram has no noise and lists every function that occurs. No ε holds.

    One of two pairs received the special example, the other later ones: one function is listed, or two.
    """

    class State(RealizableState):
        def _find_frequent(self, game: int) -> list[int]:
            tables, sequences = self._tables, 2 * self._pairs[game]
            counts = np.bincount(
                tables.function[self._states[game, :sequences]], minlength=tables.no_function + 1
            )
            order = np.argsort(-counts[: tables.no_function], kind="stable")
            return [int(f) for f in order if counts[f] > 0]

    nodes: int | None = 4


class BareSum(RunningSum):
    def observe(self, values: Any) -> np.ndarray:
        self._sums += values
        np.greater_equal(self._sums * self._epsilon, self._thresholds, out=self._fired)
        np.putmask(self._thresholds, self._fired, np.inf)
        return self._answers


class SumAtMistakes(RunningSum):
    def observe(self, values: Any) -> np.ndarray:
        self._sums += values
        np.greater_equal(self._noisy.draw(self._sums), self._thresholds, out=self._fired)
        self._fired &= values
        np.putmask(self._thresholds, self._fired, np.inf)
        return self._answers


class BareSumState(RealizableState):
    watch_class: type[RunningSum] = BareSum

    def __init__(self, spec: Shorter, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec, games, rng)
        self._watch = self.watch_class(games, rng, thresholds=self._thresholds[0], epsilon=spec.watch_epsilon)


@attrs.frozen
class NoiseOfThresholdAlone(Shorter):
    """The slip: AboveThreshold compares its noisy threshold with the exact sum. No ε holds.

    An example without a mistake cannot be the one at which the sum passes the threshold.
    """

    State = BareSumState


@attrs.frozen
class ComparesAtMistakes(Shorter):
    """The slip: the sum is compared with the threshold only in rounds with a mistake. No ε holds."""

    class State(BareSumState):
        watch_class = SumAtMistakes

    rounds: int = 35
    delta: float = 0.05
    watching: float = 0.7
    patience: float = 0.26


class GoingOn(RunningSum):
    def restart(self, rows: np.ndarray, thresholds: Any) -> None:
        sums = self._sums[rows]
        super().restart(rows, thresholds)
        self._sums[rows] = sums


@attrs.frozen
class SumGoesOn(Shorter):
    """The slip: a new function starts with the mistakes of those before it, not with 0.

    It loses the ε of AboveThreshold for each function that is shown, at most eight here, and that of the
    histogram. One example then enters all later instances, so that parallel composition does not apply. The
    loss is visible for a long list without a threshold far below the one before: `beta` makes AboveThreshold
    wait for 68 mistakes.
    """

    class State(BareSumState):
        watch_class = GoingOn

    concepts: ConceptClass = Points(range(6))
    rounds: int = 300
    epsilon: float = 2.7
    delta: float = 0.05
    beta: float = 3e-32
    nodes: int | None = 256
    watching: float = 0.9
    patience: float = 0.001
    frequent: float | None = 0.001


@attrs.frozen
class WholeEpsilonEach(Shorter):
    """The slip: AboveThreshold and the histogram of each layer use the whole ε. It loses ε for each: here 2ε.

    A mistake brings AboveThreshold closer to firing, and its function onto the next list.
    """

    concepts: ConceptClass = Points(range(3))
    rounds: int = 1_000
    epsilon: float = 2.5
    delta: float = 0.005
    nodes: int | None = 256
    patience: float = 0.7151
    frequent: float | None = 0.001

    @property
    def watch_epsilon(self) -> float:
        return self.epsilon

    @property
    def noises(self) -> tuple[HistogramNoise, ...]:
        depth = self.tables.depth
        return (HistogramNoise.calibrate(epsilon=self.epsilon, delta=self.delta / depth),) * depth


class InTurn:
    """A generator with identity permutations whose integers, except for bits, come in turn."""

    def __init__(self, rng: np.random.Generator, turn: np.ndarray) -> None:
        self._rng, self._turn = rng, turn

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rng, name)

    def integers(self, low: int, high: int, size: int, dtype: type = int) -> np.ndarray:
        return self._rng.integers(low, high, size, dtype) if dtype is bool else self._turn % high

    def permutation(self, size: int) -> np.ndarray:
        return np.arange(size)


@attrs.frozen
class PairsInTurn(Shorter):
    """The slip: mistakes go to pairs in turn, and pairs keep their order, as if neither needed randomness. No
    ε holds.

    One more mistake moves all later ones on by one pair.
    """

    class State(RealizableState):
        def __init__(self, spec: Shorter, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self._turn = np.zeros(games, np.intp)
            self._rng: Any = InTurn(rng, self._turn)

        def observe(self, x: np.ndarray, y: np.ndarray) -> None:
            mistakes = self._tables.labels[self._function, self._tables.domain_indices(x)] != y
            super().observe(x, y)
            self._turn += mistakes

    concepts: ConceptClass = Thresholds(range(3))
    rounds: int = 64
    nodes: int | None = 64
    watching: float = 0.25
    growth: float = 0.25
    patience: float = 0.02
