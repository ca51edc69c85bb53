"""Gaussian noise: its exact δ, and the least standard deviation for a given (ε, δ)."""

from __future__ import annotations

import math
from functools import lru_cache

from arena.privacy_curves import gaussian_curve
from arena.settings import at_least, check_value, less_than
from learners.mechanisms.accounting import least_sufficient
from learners.mechanisms.parameter_checks import check_positive, check_probability


def gaussian_delta(*, epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """The least delta for which adding N(0, sigma²) to a number is (epsilon, delta)-DP.

    It is exact for neighbours whose numbers differ by `sensitivity`, and never rounded down to 0.

    Units: epsilon in nats; sigma and sensitivity in units of the number.
    """
    check_positive(sigma=sigma, sensitivity=sensitivity)
    check_value("epsilon", epsilon, at_least(0), less_than(math.inf))
    return gaussian_curve.gaussian_delta(epsilon, sensitivity / sigma)


@lru_cache(maxsize=1_024)
def gaussian_sigma(*, epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The least standard deviation with which a noisy number is (epsilon, delta)-DP.

    The analytic Gaussian calibration (Algorithm 1) of Balle and Wang (2018), by bisection: `gaussian_delta`
    decreases in sigma, and at the result it is at most delta. Units: as `gaussian_delta`.
    """
    check_probability(delta=delta)
    return least_sufficient(
        lambda sigma: gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=sensitivity) <= delta
    )


@lru_cache(maxsize=1_024)
def gaussian_epsilon(*, delta: float, sigma: float, sensitivity: float = 1.0) -> float:
    """The least ε for which adding N(0, sigma²) is (ε, delta)-DP; 0 if δ(0) is at most delta.

    By bisection on `gaussian_delta`, rounded up. Units: as `gaussian_delta`.
    """
    check_probability(delta=delta)
    if gaussian_delta(epsilon=0.0, sigma=sigma, sensitivity=sensitivity) <= delta:
        return 0.0
    return least_sufficient(
        lambda epsilon: gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=sensitivity) <= delta
    )
