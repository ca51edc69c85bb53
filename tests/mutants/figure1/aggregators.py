"""Broken aggregators of votes: the shipped ones with one slip each, and one that only looks broken.

With these settings a label or a ⊥ that should not be released is released often, and nine teachers suffice.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any

import attrs
import numpy as np
from support.simple_players import NamedByClass, copy_settings

from arena import UNSTABLE, AnswerLaw, Sample, Unsupported
from learners.mechanisms.noise import gaussian_sigma, laplace_cdf
from learners.mechanisms.sparse_vector import AboveThreshold
from learners.pate.independent_answers import (
    DistanceToInstability,
    DistanceToInstabilityState,
    PateGaussian,
    PateGaussianState,
)
from learners.pate.screening import PateSvt, ScreeningState, distances, threshold_nodes
from learners.pate.voters import Ensemble, Voters, VotingLaw, divide_sample


@attrs.frozen
class Broken(NamedByClass, Voters):
    """Base of the broken aggregators. None has an output distribution."""

    common_random_numbers = False

    def law(self, sample: Sample) -> AnswerLaw:
        raise Unsupported(f"{self.name} has no exact output distribution")


# --- pate-svt -----------------------------------------------------------------------------------------------


@attrs.frozen
class BrokenSvt(Broken, PateSvt):
    """One ⊥ and six answers; a run is (2, 0.0872)-DP."""

    State = ScreeningState

    teachers: int = 9
    queries: int = 6
    unstable: int = 1
    scale: float | None = 1.0
    threshold: float | None = 4.0


@attrs.frozen
class NeverStops(BrokenSvt):
    """The slip: T is not enforced. No ε holds at δ: after each ⊥ there is another chance of a label."""

    def start(self, games: int, rng: np.random.Generator) -> ScreeningState:
        return ScreeningState(attrs.evolve(self, unstable=self.queries + 1), games, rng)


@attrs.frozen
class OneUnstableMore(BrokenSvt):
    """The slip: it halts when c > T, after one ⊥ too many. No ε holds at δ."""

    def start(self, games: int, rng: np.random.Generator) -> ScreeningState:
        return ScreeningState(attrs.evolve(self, unstable=self.unstable + 1), games, rng)


@attrs.frozen
class TellsTheVote(BrokenSvt):
    """The slip: ⊥ is counted, but the answer is the vote. No ε holds."""

    class State(ScreeningState):
        def _answer(self, ones: np.ndarray) -> np.ndarray:
            super()._answer(ones)
            return self._labels_above[ones]


@attrs.frozen
class CountsTheStable(BrokenSvt):
    """The slip: above and below are exchanged, as in the paper's proof: labels are counted, and ⊥ is free.

    No ε holds at δ: there are unlimited chances of a label.
    """

    class State(ScreeningState):
        def __init__(self, spec: PateSvt, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self._screen = AboveThreshold(
                games,
                rng,
                threshold=spec.effective_threshold,
                epsilon=2 / spec.effective_scale,
                halts=spec.unstable,
            )
            self.halted = self._screen.halted

        def _answer(self, ones: np.ndarray) -> np.ndarray:
            above = self._screen.respond(-self._nearness[ones])
            return np.where(above, self._labels_above[ones], np.int8(UNSTABLE))


@attrs.frozen
class TooFarByOne(BrokenSvt):
    """The slip: ⌈Δ/2⌉ for dist, so that it is 1 where one vote may change the label. No ε holds at δ."""

    class State(ScreeningState):
        def __init__(self, spec: PateSvt, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self._nearness -= 1


@attrs.frozen
class TellsTheTie(BrokenSvt):
    """The slip: where one vote decides, the label is shown, as if any label would do there. No ε holds.

    Of 101 numbers of votes, two tie.
    """

    class State(ScreeningState):
        def _answer(self, ones: np.ndarray) -> np.ndarray:
            tie = self._nearness[ones] == 0
            return np.where(tie, self._labels_above[ones], super()._answer(ones))

    teachers: int = 101


# --- distance-to-instability --------------------------------------------------------------------------------


@attrs.frozen
class BareDistance(Broken, DistanceToInstability):
    """The slip: the distance is compared with Γ without noise. No ε holds."""

    class State(DistanceToInstabilityState):
        def _answer(self, ones: np.ndarray) -> np.ndarray:
            return np.where(self._limits[ones] < 0, self._majority[ones], np.int8(UNSTABLE))

    teachers: int = 9
    threshold: float | None = 3.5


# --- pate-gaussian ------------------------------------------------------------------------------------------


@attrs.frozen
class BrokenGaussian(Broken, PateGaussian):
    """Sixteen answers of nine teachers."""

    teachers: int = 9
    queries: int = 16
    delta: float = 1e-3


@attrs.frozen
class PaysForOneVote(BrokenGaussian):
    """The slip: σ is for one answer, and it gives sixteen."""

    def start(self, games: int, rng: np.random.Generator) -> PateGaussianState:
        return PateGaussianState(attrs.evolve(self, sigma=self.effective_sigma / 4), games, rng)


@attrs.frozen
class TwoTeachersEach(BrokenGaussian):
    """The slip: the sample is divided into half as many parts, and two teachers are trained on each, so that
    an example changes a count by 2.
    """

    teachers: int = 10

    def ensemble(self, sample: Sample) -> Ensemble:
        teachers = [
            self.teacher.train(part) for part in divide_sample(sample, self.teachers // 2, self.split)
        ]
        return Ensemble((*teachers, *teachers))


@attrs.frozen
class OneNumber(BrokenGaussian):
    """The slip: all answers of a game share one noise. No ε holds: two points with the same votes can have
    the answers 0 and 1 in one world only.
    """

    class State(PateGaussianState):
        def __init__(self, spec: PateGaussian, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self._shared_noise = self._sigma * rng.standard_normal(games)

        def _answer(self, ones: np.ndarray) -> np.ndarray:
            return ones + self._shared_noise >= self._spec.teachers / 2

    queries: int = 2


# --- one that keeps its claim -------------------------------------------------------------------------------


class OneThreshold(AboveThreshold):
    """AboveThreshold that draws the noise of its threshold once."""

    def _start(self, rows: np.ndarray) -> None:
        if not hasattr(self, "_drawn"):
            super()._start(rows)
        self._drawn = True


@attrs.frozen
class KeepsThreshold(NamedByClass, PateSvt):
    """No slip, though it looks like one: the threshold's noise is not drawn afresh after a ⊥.

    The threshold costs 1/λ once, and each ⊥ another 1/λ: (T + 1)/λ, where T fresh thresholds cost 2T/λ. It
    leaks a label no more often: with a common threshold, the probability that none of T noises exceeds it is
    the mean of a power, which is at least the power of the mean.
    """

    class State(ScreeningState):
        screen = OneThreshold

    teachers: int = 9
    queries: int = 6
    unstable: int = 2
    scale: float | None = 1.0
    threshold: float | None = 4.0

    common_random_numbers = True

    def law(self, sample: Sample) -> KeptThreshold:
        return KeptThreshold(self, sample)


class KeptThreshold(VotingLaw):
    """States: the number of answers ⊥ x the nodes of the threshold."""

    outcomes = ((0, False), (1, False), (UNSTABLE, False), (UNSTABLE, True))

    def start(self) -> np.ndarray:
        measure = np.zeros((self._spec.unstable, len(self._nodes[0])))
        measure[0] = self._nodes[1]
        return measure.ravel()

    @property
    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        return threshold_nodes(self._spec)

    def _step_by_votes(self, measure: np.ndarray, ones: np.ndarray) -> np.ndarray:
        spec, hidden = self._spec, self._nodes[0]
        ahead = (distances(spec.teachers)[ones, None] - spec.effective_threshold - hidden) / (
            2 * spec.effective_scale
        )
        states = measure.reshape(len(ones), spec.unstable, len(hidden))
        after = np.zeros((4, *states.shape))
        after[spec.labels_above[ones], np.arange(len(ones))] = states * laplace_cdf(ahead)[:, None]
        fired = states * laplace_cdf(-ahead)[:, None]
        after[2, :, 1:], after[3, :, -1] = fired[:, :-1], fired[:, -1]
        return after.reshape(4, *measure.shape)


# The broken learners, the least ε that holds at δ, and settings of their audits and searches.
AGGREGATORS: tuple[tuple[Any, float, dict[str, Any]], ...] = (
    (NeverStops(), inf, {}),
    (OneUnstableMore(), inf, {"pairs": 256}),
    (TellsTheVote(), inf, {}),
    (CountsTheStable(), inf, {}),
    (TooFarByOne(), inf, {"pairs": 512}),
    (TellsTheTie(), inf, {"searched": False}),
    (BareDistance(), inf, {}),
    (PaysForOneVote(), 5.47, {}),
    (TwoTeachersEach(), 2.31, {"searched": False}),
    (OneNumber(), inf, {"pairs": 512}),
)


VOTES = PateGaussian(teachers=3, queries=8, epsilon=1.0, delta=0.05)


@attrs.frozen
class HalfOfAVote(NamedByClass, PateGaussian):
    """The slip: the noise is for votes that change by 1/2, as margins do when votes change by 1.

    The loss is twice the claimed one in μ of Gaussian privacy: no ε below 2.93 holds at the δ of the claim,
    except for what the majority hides.
    """

    @property
    def effective_sigma(self) -> float:
        return gaussian_sigma(epsilon=self.epsilon, delta=self.delta, sensitivity=sqrt(self.queries) / 2)

    claim = VOTES.claim


@attrs.frozen
class BareScreen(NamedByClass, PateGaussian):
    """The slip: it answers ⊥ if the majority depends on one vote, without noise.

    One vote decides whether the answer is ⊥: nothing is private.
    """

    class State(PateGaussianState):
        def _answer(self, ones: np.ndarray) -> np.ndarray:
            noisy = super()._answer(ones)
            return np.where(2 * ones - self._spec.teachers == 1, UNSTABLE, noisy)

    def law(self, sample):  # type: ignore[no-untyped-def]  # it has none
        return super(PateGaussian, self).law(sample)


HALF, BARE = copy_settings(HalfOfAVote, VOTES), copy_settings(BareScreen, VOTES)
