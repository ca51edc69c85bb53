"""Gaussian noise: what it costs exactly, and how much of it a promise needs."""

from __future__ import annotations

import math
from functools import lru_cache

from arena.errors import InvalidArgument
from learners.mechanisms.accounting.monotone_search import least_sufficient
from learners.mechanisms.parameter_checks import check_positive


def gaussian_delta(*, epsilon: float, sigma: float, sensitivity: float = 1.0) -> float:
    """The smallest delta with which a number plus N(0, sigma²) is (epsilon, delta)-DP.

    Theorem 8 of Balle and Wang (2018): Φ(Δ/2σ − εσ/Δ) − e^ε·Φ(−Δ/2σ − εσ/Δ), never rounded down to 0, since
    Gaussian noise is (epsilon, 0)-DP for no epsilon. It is attained where the numbers of the neighbours are
    `sensitivity` apart.

    Units: epsilon in nats; sigma and sensitivity in those of the number.
    Raises: InvalidArgument if sigma or sensitivity is not positive and finite, or epsilon negative or not
    finite.
    """
    from scipy.special import erfcx, log_ndtr, ndtr  # slow to import

    check_positive(sigma=sigma, sensitivity=sensitivity)
    if not 0 <= epsilon < math.inf:
        raise InvalidArgument("epsilon must be at least 0 and finite", value=epsilon)
    ratio = sensitivity / sigma
    first, second = ratio / 2 - epsilon / ratio, -ratio / 2 - epsilon / ratio
    if first > 0:
        delta = ndtr(first) - math.exp(epsilon + log_ndtr(second))
    else:
        # Both terms are tails and share the factor exp(-first²/2), without which their difference is benign.
        tails = erfcx(-first / math.sqrt(2)) - erfcx(-second / math.sqrt(2))
        delta = math.exp(-(first**2) / 2) * tails / 2
    return max(float(delta), math.ulp(0.0))


@lru_cache(maxsize=1_024)
def gaussian_sigma(*, epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The least standard deviation that makes a number (epsilon, delta)-DP, to the last digits.

    The analytic Gaussian calibration (Algorithm 1) of Balle and Wang (2018), by bisection: `gaussian_delta`
    falls as sigma grows, and at the result it is at most delta.

    Units: as `gaussian_delta`.
    Raises: InvalidArgument as there, or if delta is not between 0 and 1.
    """
    if not 0 < delta < 1:
        raise InvalidArgument("delta must be between 0 and 1", value=delta)

    def enough(sigma: float) -> bool:
        return gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=sensitivity) <= delta

    return least_sufficient(enough)
