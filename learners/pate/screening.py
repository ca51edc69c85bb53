"""pate-svt and sparse-vector: aggregators that answer only if a sparse vector finds votes far from a tie."""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from math import exp, expm1, log, log1p, sqrt, ulp
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.claims import Claim
from arena.errors import InvalidArgument
from arena.messages import UNSTABLE
from arena.sample import Sample
from arena.settings import at_least, count_setting, more_than, one_of, setting
from learners.common.learner_bases import claim_for_example
from learners.mechanisms.accounting import least_sufficient, optimal_composition, pure_curve
from learners.mechanisms.noise import NoisyValues, laplace, laplace_cdf, laplace_nodes
from learners.mechanisms.sparse_vector import AboveThreshold, RestartBudget
from learners.pate.voters import Voters, VotersState, VotingLaw

_MOST_KINKS = 64  # distances at which the quadrature of the threshold is cut

Nodes = tuple[np.ndarray, np.ndarray]


def distances(teachers: int) -> np.ndarray:
    """(K + 1,) int64: dist = max(0, ⌈|2·ones − K|/2⌉ − 1) for each number of votes for label 1 among K: how
    many votes may change without changing the majority's label.

    >>> distances(5).tolist(), distances(4).tolist()
    ([2, 1, 0, 0, 1, 2], [1, 0, 0, 0, 1])
    """
    margins = np.abs(2 * np.arange(teachers + 1) - teachers)
    return np.maximum(0, (margins + 1) // 2 - 1)


def majorities(teachers: int) -> np.ndarray:
    """(K + 1,) int8: the majority's label 1[ones ≥ K/2] for each number of votes for 1."""
    return (2 * np.arange(teachers + 1) >= teachers).astype(np.int8)


def largest_distance(teachers: int) -> int:
    return (teachers + 1) // 2 - 1


def check_reach(threshold: float, teachers: int) -> None:
    """Raises: InvalidArgument if the answer is more often ⊥ than not even if all teachers agree."""
    largest = largest_distance(teachers)
    if threshold > largest:
        raise InvalidArgument(
            f"more teachers are needed for a threshold of {threshold:,.1f}: if all of them agree, they are "
            f"{largest:,} votes from a tie",
            value=teachers,
            remedy=f"Set teachers to {2 * int(np.ceil(threshold)) + 1:,} or more, or raise epsilon or delta.",
        )


@attrs.frozen
class Screening(Voters):
    """Base of the aggregators that screen their answers with the sparse vector technique.

    A query is answered if its noisy distance from a tie is above a noisy threshold, and ⊥ otherwise; after
    the T-th ⊥ the game halts. The noise is Lap(λ) on the threshold, fresh after each ⊥, and Lap(2λ) on
    distances, so a run up to its ⊥ is (2/λ, 0)-DP (Dwork and Roth, Theorem 3.23).
    """

    epsilon: float = setting(1.0, unit="nats", help="ε of all answers together, for which λ is chosen")
    delta: float = setting(1e-5, unit="probability", help="δ of all answers together")
    unstable: int = count_setting(3, help="T, the number of answers ⊥ before a game halts")
    scale: float | None = setting(
        None, unit="votes", help="λ; default: the algorithm's, for ε and δ", check=more_than(0)
    )
    threshold: float | None = setting(
        None, unit="votes", help="w, in votes; default: the algorithm's", check=at_least(0)
    )

    @property
    def runs(self) -> int:
        """The largest number of thresholds that are drawn and used."""
        return min(self.unstable, self.queries)

    @property
    def effective_scale(self) -> float:
        """λ, votes."""
        return self._default_scale if self.scale is None else self.scale

    @property
    def effective_threshold(self) -> float:
        """w, votes."""
        return self._default_threshold if self.threshold is None else self.threshold

    @property
    def critical_margin(self) -> float:
        """Where the distance equals the threshold; at a tie the answer is ⊥ almost surely."""
        return self.effective_threshold + 1

    @property
    def labels_above(self) -> np.ndarray:
        """(K + 1,) int8: the answer above the threshold, for each number of votes for label 1."""
        return np.ones(self.teachers + 1, np.int8)

    @property
    @abstractmethod
    def _default_scale(self) -> float: ...

    @property
    @abstractmethod
    def _default_threshold(self) -> float: ...

    @property
    def common_random_numbers(self) -> bool:
        """If T = 1, every game draws one threshold, and one random number for each answer."""
        return self.unstable == 1

    def law(self, sample: Sample) -> ScreeningLaw:
        nodes = threshold_nodes(self)
        return ScreeningLaw(self, sample, first=nodes, later=nodes, halts=self.runs)

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return ScreeningState(self, games, rng)


class ScreeningState(VotersState):
    screen: ClassVar[type[AboveThreshold]] = AboveThreshold

    def __init__(self, spec: Screening, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec, games)
        self._labels_above = spec.labels_above
        # A distance is below w if minus the distance is above −w.
        self._nearness = -distances(spec.teachers).astype(np.float64)
        self._screen = self.screen(
            games,
            rng,
            threshold=-spec.effective_threshold,
            epsilon=2 / spec.effective_scale,
            halts=spec.unstable,
        )
        self.halted = self._screen.halted

    def _answer(self, ones: np.ndarray) -> np.ndarray:
        below = self._screen.respond(self._nearness[ones])
        return np.where(below | self._screen.halted, np.int8(UNSTABLE), self._labels_above[ones])


def threshold_nodes(spec: Screening) -> Nodes:
    """Nodes and weights of the threshold's noise, with cuts where it equals one of at most 64 distances (an
    error of at most 2e-7)."""
    largest = largest_distance(spec.teachers)
    cuts = np.round(np.linspace(0, largest, min(largest + 1, _MOST_KINKS)))
    return laplace_nodes(spec.effective_scale, cuts - spec.effective_threshold)


class ScreeningLaw(VotingLaw):
    """The distribution of screened answers, given the hidden noise of the threshold.

    States: the q nodes of the noise before the first ⊥, then those of the next noise for each ⊥ after which
    the game continues. first, later: nodes and weights of these.
    """

    outcomes = ((0, False), (1, False), (UNSTABLE, False), (UNSTABLE, True))

    def __init__(self, spec: Screening, sample: Sample, *, first: Nodes, later: Nodes, halts: int) -> None:
        super().__init__(spec, sample)
        self._weights, self._fresh_weights = first[1], later[1]
        self._thresholds = spec.effective_threshold + np.concatenate([first[0], np.tile(later[0], halts - 1)])
        self._starts = np.r_[0, len(first[0]) + len(later[0]) * np.arange(halts - 1)]
        self._distances, self._labels_above = distances(spec.teachers), spec.labels_above

    def start(self) -> np.ndarray:
        measure = np.zeros(len(self._thresholds))
        measure[: len(self._weights)] = self._weights
        return measure

    def _step_by_votes(self, measure: np.ndarray, ones: np.ndarray) -> np.ndarray:
        counts, which = np.unique(ones, return_inverse=True)
        ahead = (self._distances[counts, None] - self._thresholds) / (2 * self._spec.effective_scale)
        above, below = laplace_cdf(ahead)[which.ravel()], laplace_cdf(-ahead)[which.ravel()]
        after = np.zeros((4, *measure.shape))
        after[self._labels_above[ones], np.arange(len(ones))] = measure * above
        fired = measure * below
        mass = np.add.reduceat(fired, self._starts, axis=1)[:, :-1]
        renewed = mass[:, :, None] * self._fresh_weights
        after[2, :, len(self._weights) :] = renewed.reshape(len(ones), -1)
        after[3, :, self._starts[-1] :] = fired[:, self._starts[-1] :]
        return after


PRINTED, TIGHT = "printed", "tight"


@attrs.frozen
class PateSvt(Screening):
    """Answers 1[Σ_k h_k(x) ≥ K/2] if dist + Lap(2λ) > w + Lap(λ), else ⊥; halts after T answers ⊥, or ℓ
    answers.

    Algorithm 2 (SVT-based PATE) of Liu, Zhu, Chaudhuri, Wang; for dist see `distances`. λ and w are printed:
    λ = (√(2T(ε + ln(2/δ))) + √(2T ln(2/δ)))/ε, w = 3λ ln(2(ℓ + T)/δ) (steps 2 and 3); or tight: the least at
    which the claim is ε at δ. The claim follows from λ, w, T and ℓ in use, by a sharper proof than the
    paper's: docs/proofs/pate.md.
    """

    name = "pate-svt"
    theorem = "Theorem 2 (Algorithm 2) of Liu et al., by Theorem 3.3 of Kairouz, Oh, Viswanath (2015)"

    # The printed threshold needs at least 1,767.
    teachers: int = count_setting(2_001, help="K, the number of teachers")
    calibration: str = setting(
        PRINTED, help="λ and w: printed, or tight, for far fewer teachers", check=one_of(PRINTED, TIGHT)
    )

    def __attrs_post_init__(self) -> None:
        check_reach(self.effective_threshold, self.teachers)

    @property
    def claim(self) -> Claim:
        leak = probability_above(self.effective_threshold, self.effective_scale)
        # The δ for the patterns: (1 − leak)^runs · (1 − slack) = 1 − δ.
        slack = max(0.0, -expm1(log1p(-self.delta) - self.runs * log1p(-leak)))
        return claim_for_example(*optimal_composition(self.runs, 2 / self.effective_scale, leak, slack=slack))

    @property
    def labels_above(self) -> np.ndarray:
        return majorities(self.teachers)

    @property
    def _default_scale(self) -> float:
        if self.calibration == TIGHT:
            return tight_scale(self.runs, self.epsilon, _half(self.delta))
        log_delta = log(2 / self.delta)
        roots = sqrt(2 * self.unstable * (self.epsilon + log_delta)) + sqrt(2 * self.unstable * log_delta)
        return roots / self.epsilon

    @property
    def _default_threshold(self) -> float:
        if self.calibration == TIGHT:
            leak = -expm1(log1p(-_half(self.delta)) / self.runs)
            return threshold_for(leak, self.effective_scale)
        return 3 * self.effective_scale * log(2 * (self.queries + self.unstable) / self.delta)


def probability_above(threshold: float, scale: float) -> float:
    """P[Lap(2·scale) > threshold + Lap(scale)] = (4e^(−w/2λ) − e^(−w/λ))/6, never rounded down to 0."""
    tail = exp(-threshold / (2 * scale))
    return max((4 * tail - tail**2) / 6, ulp(0.0))


def threshold_for(probability: float, scale: float) -> float:
    """The threshold with this `probability_above`, which is at most 1/2."""
    return -2 * scale * log(6 * probability / (2 + sqrt(4 - 6 * probability)))


@lru_cache
def tight_scale(runs: int, epsilon: float, slack: float) -> float:
    """The least λ at which `runs` runs that are (2/λ, 0)-DP each are (epsilon, slack)-DP together."""

    def enough(scale: float) -> bool:
        return optimal_composition(runs, 2 / scale, slack=slack).epsilon <= epsilon

    return least_sufficient(enough)


def _half(delta: float) -> float:
    """The value with 1 − (1 − half)² = delta."""
    return -expm1(log1p(-delta) / 2)


@attrs.frozen
class SparseVector(Screening):
    """Answers 1 if dist + Lap(2λ) > w + Lap(λ), else ⊥; halts after T answers ⊥, or ℓ answers.

    Algorithm 6 (the sparse vector technique) of Liu, Zhu, Chaudhuri, Wang, in the form of Dwork and Roth
    (2014, Algorithm 2), with λ = √(32T ln(1/δ))/ε and the `distances` as queries. Privacy: min(T, ℓ) runs
    that are (2/λ, 0)-DP compose by Theorem 3.3 of Kairouz, Oh, Viswanath (2015), to about half of the ε for
    which λ is chosen.
    """

    name = "sparse-vector"
    theorem = "Dwork and Roth (2014), Theorem 3.23, and Theorem 3.3 of Kairouz, Oh, Viswanath (2015)"

    teachers: int = count_setting(1_001, help="K, the number of teachers")

    @property
    def claim(self) -> Claim:
        run = 2 / self.effective_scale
        cost = optimal_composition(self.runs, run, slack=self.delta)
        return claim_for_example(*cost, curve=pure_curve(self.runs, run))

    @property
    def _default_scale(self) -> float:
        return sqrt(32 * self.unstable * log(1 / self.delta)) / self.epsilon

    @property
    def _default_threshold(self) -> float:
        """Half way between a tie and agreement of all teachers; the algorithm leaves it open."""
        return largest_distance(self.teachers) / 2


@attrs.frozen
class SparseVectorPrinted(SparseVector):
    """Algorithm 6 of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning, as printed.

    The errors, compared with `sparse-vector`: λ = √(32T ln(1/δ)/ε), with ε under the root; after the first ⊥
    the threshold is w + 1 without noise for the rest of the game; it continues while c ≤ T, so up to T + 1
    answers ⊥. The claim is that of Lemma 45, ε = 32T ln(1/δ)/λ², which is false only for small ε.
    """

    name = "sparse-vector-printed"
    theorem = "Lemma 45 of Liu et al., of the listing as printed: false for small ε"
    common_random_numbers = True  # every game draws one threshold, and one random number for each answer

    @property
    def claim(self) -> Claim:
        variance = 32 * self.unstable * log(1 / self.delta)
        epsilon = self.epsilon if self.scale is None else variance / self.scale**2
        return claim_for_example(epsilon, self.delta)

    @property
    def _default_scale(self) -> float:
        return sqrt(32 * self.unstable * log(1 / self.delta) / self.epsilon)

    def law(self, sample: Sample) -> ScreeningLaw:
        noiseless = np.ones(1), np.ones(1)
        return ScreeningLaw(
            self, sample, first=threshold_nodes(self), later=noiseless, halts=self.unstable + 1
        )

    def start(self, games: int, rng: np.random.Generator) -> SparseVectorPrintedState:
        return SparseVectorPrintedState(self, games, rng)


class SparseVectorPrintedState(VotersState):
    def __init__(self, spec: SparseVectorPrinted, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec, games)
        unit = 2 * spec.effective_scale  # of noisy values
        self._distances = distances(spec.teachers)
        self._noisy = NoisyValues(games, rng, scale=unit)
        self._budget = RestartBudget(games, spec.unstable + 1)
        self.halted = self._budget.halted
        self._thresholds = spec.effective_threshold / unit + laplace(rng, np.empty(games), 1 / 2)
        self._later_threshold = (spec.effective_threshold + 1) / unit

    def _answer(self, ones: np.ndarray) -> np.ndarray:
        below = self._noisy.draw(self._distances[ones]) <= self._thresholds
        if below.any():
            self._thresholds[self._budget.spend(below)] = self._later_threshold
            np.putmask(self._thresholds, self._budget.halted, -np.inf)
        return np.where(below | self._budget.halted, np.int8(UNSTABLE), np.int8(1))
