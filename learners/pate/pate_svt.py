"""pate-svt: answers with the majority if a sparse vector finds it far from a tie."""

from __future__ import annotations

from functools import lru_cache
from math import exp, expm1, log, log1p, sqrt, ulp

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.settings import count_setting, one_of, setting
from learners.mechanisms.accounting import least_sufficient, optimal_composition
from learners.pate.ensemble.screening import Screening, check_reach, majorities

PRINTED, TIGHT = "printed", "tight"


@attrs.frozen
class PateSvt(Screening):
    """Answers 1[Σ_k h_k(x) ≥ K/2] if dist + Lap(2λ) > w + Lap(λ), else ⊥; halts after T answers ⊥, or ℓ
    answers.

    Algorithm 2 (SVT-based PATE) of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning;
    dist is how many votes may change without changing the label (`distances`). Two calibrations of λ and w:

    printed: λ = (√(2T(ε + ln(2/δ))) + √(2T ln(2/δ)))/ε and w = 3λ ln(2(ℓ + T)/δ), steps 2 and 3.
    tight: the least λ and w at which the claim is ε at δ, with half of δ for the labels.

    Privacy: the claim follows from λ, w, T and ℓ in use, by a sharper proof than the paper's:
    docs/proofs/pate.md. It is the least ε at the δ asked for, or at the δ that the labels alone need if that
    is larger.

    Raises: InvalidArgument if w is so high that the answer is ⊥ more often than not even if all teachers
    agree.
    """

    name = "pate-svt"
    theorem = "Theorem 2 (Algorithm 2) of Liu et al., by Theorem 3.3 of Kairouz, Oh, Viswanath (2015)"

    # The printed threshold needs at least 1,767.
    teachers: int = count_setting(2_001, help="K, the number of teachers")
    calibration: str = setting(
        PRINTED,
        help="choice of λ and w: printed (steps 2 and 3), or tight, which needs far fewer teachers",
        check=one_of(PRINTED, TIGHT),
    )

    def __attrs_post_init__(self) -> None:
        check_reach(self.effective_threshold, self.teachers)

    @property
    def claim(self) -> Claim:
        leak = probability_above(self.effective_threshold, self.effective_scale)
        # The δ for the patterns: (1 − leak)^runs · (1 − slack) = 1 − δ.
        slack = max(0.0, -expm1(log1p(-self.delta) - self.runs * log1p(-leak)))
        epsilon, delta = optimal_composition(self.runs, 2 / self.effective_scale, leak, slack=slack)
        return Claim(epsilon=epsilon, delta=delta, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

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
    """P[Lap(2·scale) > threshold + Lap(scale)] = (4e^(−w/2λ) − e^(−w/λ))/6, never rounded down to 0.

    Units: threshold (at least 0) and scale in votes.
    """
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
