"""Broken versions of `agnostic-experts` and `agnostic-batched`: the shipped learners with one slip each.

With two points, experts start at the threshold between them. A mistake at point 0 moves them to the function
that is 1 at both points, a mistake at point 1 to the function that is 1 at neither."""

from __future__ import annotations

from functools import cached_property

import attrs
import numpy as np
from support.simple_players import BrokenLearner

from arena.concepts import ConceptClass, FiniteClass, Thresholds
from learners.mechanisms import exponential_experts
from learners.online.agnostic_batched import AgnosticBatched, AgnosticBatchedState
from learners.online.agnostic_experts import LAZY, AgnosticExperts, AgnosticExpertsState, Candidates
from learners.online.merged_experts import FreshDraws, LazyDraws
from learners.online.sanitiser import Discriminator, ExponentialLearner, Sanitiser

ALL = FiniteClass([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]])


@attrs.frozen
class HalfMoves(BrokenLearner, AgnosticExperts):
    """Base of the broken learners. Experts may move halfway through the game, and one in two does."""

    State = AgnosticExpertsState

    concepts: ConceptClass = Thresholds(range(2))
    rounds: int = 12
    epsilon: float = 1.0
    delta: float = 0.0
    stretches: int = 2
    share: float = 0.5


# --- candidates ---------------------------------------------------------------------------------------------


class WithCandidatesState(AgnosticExpertsState):
    """A running learner with candidates of another class."""

    candidates_class = Candidates

    def __init__(self, spec: HalfMoves, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec, games, rng)
        ends, length, points = spec.ends, spec.stretch_length, spec.transitions.points
        epsilon, threshold = spec.counters_epsilon, spec.candidate_threshold
        self._candidates = self.candidates_class(
            games, points, rng, ends=ends, length=length, epsilon=epsilon, threshold=threshold
        )


class ExactCandidates(Candidates):
    def end_stretch(self) -> np.ndarray:
        self._end += 1
        self._noisy_counts[:, self._end] = self._noisy_counts[:, self._end - 1] + self._counts
        self._counts[:] = 0
        return self._noisy_counts[:, self._end, None] - self._noisy_counts[:, : self._end] >= self._threshold


@attrs.frozen
class BareCandidates(HalfMoves):
    """The slip: points are counted without noise, as if the draws hid the counts. No ε holds.

    With one example fewer a point is no candidate, and no expert errs there.
    """

    class State(WithCandidatesState):
        candidates_class = ExactCandidates

    threshold: float = 1.375  # in units of a scale of 4: between 5 and 6 occurrences


class StruckOut(Candidates):
    """Candidates without the points that did not occur."""

    def __init__(self, games: int, points: int, rng: np.random.Generator, **settings: float) -> None:
        super().__init__(games, points, rng, **settings)
        self._exact = self._noisy_counts.copy()

    def end_stretch(self) -> np.ndarray:
        exact = self._exact[:, self._end] + self._counts
        candidates = super().end_stretch()
        self._exact[:, self._end] = exact
        return candidates & (exact[:, None] > self._exact[:, : self._end])


@attrs.frozen
class StrikesOut(HalfMoves):
    """The slip: candidates that did not occur, by the exact counts, are removed. No ε holds.

    A point may occur in the special example only.
    """

    class State(WithCandidatesState):
        candidates_class = StruckOut

    threshold: float = -1.0


class OneLevel(Candidates):
    def __init__(self, games: int, points: int, rng: np.random.Generator, **settings: float) -> None:
        super().__init__(games, points, rng, **settings)
        self._counter.scale /= self._counter.levels


@attrs.frozen
class NoiseOfOneLevel(HalfMoves):
    """The slip: each level of the counters' tree has noise as if it were the only level.

    It loses ε_counters for each of three levels, which all count the first stretch. No concept is 1 at the
    third point, so a mistake there is no move. A search has to swap the two other points in the first stretch
    and then avoid both; with 512 pairs of 300 adversaries, two in three searches find it.
    """

    class State(WithCandidatesState):
        candidates_class = OneLevel

    concepts: ConceptClass = ALL
    rounds: int = 60
    stretches: int = 5
    share: float = 0.95
    threshold: float = 0.15


@attrs.frozen
class WholeForCounters(HalfMoves):
    """The slip: the counters use the whole ε, of which the claim assigns them a fifth. It loses ε.

    Draws are few here, and cost almost nothing.
    """

    epsilon: float = 4.0
    share: float = 0.2
    rate: float | None = 0.01

    @property
    def counters_epsilon(self) -> float:
        return self.epsilon


# --- draws --------------------------------------------------------------------------------------------------


class BestState(FreshDraws):
    def draw(self) -> np.ndarray:
        return self._experts.scores().argmax(axis=1)


@attrs.frozen
class ShowsTheBest(HalfMoves):
    """The slip: the best expert is shown, as if noisy candidates made that private. No ε holds."""

    class State(AgnosticExpertsState):
        def __init__(self, spec: HalfMoves, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self._draws = BestState(self._experts, games, rng)

    concepts: ConceptClass = Thresholds(range(1))
    threshold: float = 0.0


@attrs.frozen
class PaysForOneDraw(HalfMoves):
    """The slip: Hedge's rate is the one that ε allows for one draw. It loses ε for each of 11 draws."""

    concepts: ConceptClass = Thresholds(range(1))
    rounds: int = 24
    share: float = 0.0

    @property
    def hedge_rate(self) -> float:  # type: ignore[override]
        return exponential_experts.largest_rate(2, epsilon=self.epsilon, delta=self.delta)


@attrs.frozen
class AtMistakes(HalfMoves):
    """Base of the broken lazy learners: an expert is kept with probability exp(−leaving·loss)."""

    class State(AgnosticExpertsState):
        def __init__(self, spec: AtMistakes, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            lazy = attrs.evolve(spec.lazy, rate=spec.leaving, redraw=0.0)
            self._draws = LazyDraws(self._experts, games, rng, lazy=lazy)

    concepts: ConceptClass = Thresholds(range(1))
    share: float = 0.0
    draws: str = LAZY

    @property
    def leaving(self) -> float:
        return self.hedge_rate


@attrs.frozen
class SkipsTheBit(AtMistakes):
    """The slip: lazy draws without the random redraws, which hide the others. No ε holds.

    An expert that is replaced has erred. This is visible in one game of forty.
    """


@attrs.frozen
class RedrawsAtMistakes(AtMistakes):
    """The slip: an expert is redrawn exactly when it errs, as if only the result of a draw mattered. No ε
    holds."""

    @property
    def leaving(self) -> float:
        return 1_000.0


@attrs.frozen
class SmallBatches(BrokenLearner, AgnosticBatched):
    """Base of the broken learners: their settings."""

    State = AgnosticBatchedState

    concepts: ConceptClass = Thresholds(range(1))
    rounds: int = 30
    batch: int = 1
    epsilon: float = 1.0
    delta: float = 0.0
    alpha: float = 0.5
    calls: int | None = 1
    rate: float | None = 20.0


@attrs.frozen
class KeepsBatches(SmallBatches):
    """The slip: a batch is sanitised together with all earlier ones. It loses ε for each batch."""

    class State(AgnosticBatchedState):
        def _sanitise(self, out: np.ndarray) -> None:
            before = self._counts.copy()
            super()._sanitise(out)
            self._counts += before

    rounds: int = 60
    alpha: float = 0.7  # distinguishes the worlds best


class NoiseOfMeansSanitiser(Sanitiser):
    @cached_property
    def _discriminator(self) -> Discriminator:
        both = np.concatenate([self.functions, ~self.functions])
        epsilon = self.step * NoiseOfMeans().batch
        return Discriminator(both, self.alpha, epsilon, ExponentialLearner(self.step))


@attrs.frozen
class NoiseOfMeans(SmallBatches):
    """The slip: the discriminator uses counts with the noise for means, which is 1/B of it. It loses ε for
    each example of a batch."""

    rounds: int = 64
    batch: int = 20
    alpha: float = 0.76  # tells a batch of ones from the uniform proposal, one with a single zero rarely

    @property
    def sanitiser(self) -> Sanitiser:
        own = super().sanitiser
        return NoiseOfMeansSanitiser(
            own.functions, epsilon=own.epsilon, delta=own.delta, alpha=own.alpha, calls=own.calls
        )
