"""pate-svt: the votes of teachers, told where a sparse vector finds them far from a tie."""

from __future__ import annotations

from functools import lru_cache
from math import exp, expm1, log, log1p, sqrt, ulp

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.settings import at_least, one_of, setting, whole
from learners.mechanisms.accounting.composition import optimal_composition
from learners.mechanisms.accounting.monotone_search import least_sufficient
from learners.pate.ensemble.screening import Screening, check_reach, majorities

PRINTED, TIGHT = "printed", "tight"


@attrs.frozen
class PateSvt(Screening):
    """Answers 1[Σ_k h_k(x) ≥ K/2] where dist + Lap(2λ) > w + Lap(λ), else ⊥; halts after T of these, or ℓ
    answers.

    Algorithm 2 (SVT-based PATE) of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning;
    dist is how many votes may change before the label does (`distances`). The claim follows from λ, w, T and
    ℓ as they are run, by another proof than the paper's:

    - A label differs between neighbours only where dist = 0 in both. So let a run go wrong where a label is
      told at such a point. It does with chance p = P[Lap(2λ) > w + Lap(λ)] at most, however many answers it
      gives: if the label is not told there, ⊥ ends the run. (The paper bounds ℓ + T noises one by one.)

    - Where it does not, what is told is the pattern of ⊥, which is (2/λ, 0)-DP. So a run is (2/λ, p)-DP.

    - min(T, ℓ) runs compose by Theorem 3.3 of Kairouz, Oh, Viswanath (2015), which is sharper than basic and
      advanced composition and than the paper's way by 2T/λ²-zCDP. The claim is the least ε at the δ asked
      for, or at what the labels alone take if that is more.

    calibration: what λ and w are chosen by, where they are not set.

    printed: λ = (√(2T(ε + ln(2/δ))) + √(2T ln(2/δ)))/ε and w = 3λ ln(2(ℓ + T)/δ), steps 2 and 3.

    tight: the least λ and w with which the claim is ε at δ, half of δ for the labels.

    Raises: InvalidArgument where w is so high that even teachers of one mind would be answered ⊥ more often
    than not.
    """

    name = "pate-svt"
    theorem = "Theorem 2 (Algorithm 2) of Liu et al., by Theorem 3.3 of Kairouz, Oh, Viswanath (2015)"

    # The printed threshold takes this many: 1,767 at the least.
    teachers: int = setting(2_001, help="K, the teachers", check=[whole, at_least(1)])
    calibration: str = setting(
        PRINTED,
        help="of λ and w: printed (steps 2 and 3), or tight, which takes far fewer teachers",
        check=one_of(PRINTED, TIGHT),
    )

    def __attrs_post_init__(self) -> None:
        check_reach(self.threshold_run, self.teachers)

    @property
    def claim(self) -> Claim:
        leak = chance_above(self.threshold_run, self.scale_run)
        # What is left of δ for the patterns when (1 − leak)^runs · (1 − slack) = 1 − δ.
        slack = max(0.0, -expm1(log1p(-self.delta) - self.runs * log1p(-leak)))
        epsilon, delta = optimal_composition(self.runs, 2 / self.scale_run, leak, slack=slack)
        return Claim(epsilon=epsilon, delta=delta, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    @property
    def told(self) -> np.ndarray:
        return majorities(self.teachers)

    @property
    def _default_scale(self) -> float:
        if self.calibration == TIGHT:
            return tight_scale(self.runs, self.epsilon, _half(self.delta))
        surprise = log(2 / self.delta)
        both = sqrt(2 * self.unstable * (self.epsilon + surprise)) + sqrt(2 * self.unstable * surprise)
        return both / self.epsilon

    @property
    def _default_threshold(self) -> float:
        if self.calibration == TIGHT:
            leak = -expm1(log1p(-_half(self.delta)) / self.runs)
            return threshold_above(leak, self.scale_run)
        return 3 * self.scale_run * log(2 * (self.queries + self.unstable) / self.delta)


def chance_above(threshold: float, scale: float) -> float:
    """P[Lap(2·scale) > threshold + Lap(scale)] = (4e^(−w/2λ) − e^(−w/λ))/6, never rounded down to 0.

    Units: threshold (at least 0) and scale in votes.
    """
    tail = exp(-threshold / (2 * scale))
    return max((4 * tail - tail**2) / 6, ulp(0.0))


def threshold_above(chance: float, scale: float) -> float:
    """The threshold with that `chance_above`, at most 1/2."""
    return -2 * scale * log(6 * chance / (2 + sqrt(4 - 6 * chance)))


@lru_cache
def tight_scale(runs: int, epsilon: float, slack: float) -> float:
    """The least λ with which `runs` runs, (2/λ, 0)-DP each, are (epsilon, slack)-DP."""

    def enough(scale: float) -> bool:
        return optimal_composition(runs, 2 / scale, slack=slack).epsilon <= epsilon

    return least_sufficient(enough)


def _half(delta: float) -> float:
    """One of two equal δ's that together are `delta`: 1 − (1 − half)² = delta."""
    return -expm1(log1p(-delta) / 2)
