"""The cost of answers with Gaussian noise if fewer were given than the budget covers.

Each answer is a count of sensitivity 1 with noise N(0, σ²), or a function of it.
"""

from __future__ import annotations

import math

from arena.errors import InvalidArgument
from arena.settings import check_value, less_than, more_than
from learners.mechanisms.accounting.monotone_search import least_sufficient
from learners.mechanisms.noise.gaussian_noise import gaussian_delta
from learners.mechanisms.parameter_checks import check_positive


def gaussian_epsilon(*, answers: int, sigma: float, delta: float) -> float:
    """The least ε at δ of a number of answers that is fixed beforehand, nats, never rounded down.

    By Theorem 8 of Balle and Wang (2018), with sensitivity √answers; 0 for no answers. It is no guarantee if
    the number depends on the answers: see `odometer`.

    >>> f"{gaussian_epsilon(answers=1, sigma=1.0, delta=1e-5):.4f}"
    '4.3772'

    Raises: InvalidArgument if a parameter is out of range.
    """
    _check(answers, answers, sigma, delta)

    def enough(epsilon: float) -> bool:
        return gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=math.sqrt(answers)) <= delta

    if not answers or enough(0.0):
        return 0.0
    return least_sufficient(enough)


def odometer(answers: int, *, most: int, sigma: float, delta: float) -> float:
    """ε(c) for c `answers`, nats, where c may depend on the answers, of which there are at most ℓ (`most`):

        ε(c) = c/(2σ²) + (1 + c/ℓ)·√(ℓ·ln(1/δ)/2)/σ.

    It holds if c is released together with the result, except with probability δ. Proof: docs/proofs/pate.md.

    Raises: InvalidArgument if a parameter is out of range.
    """
    _check(answers, most, sigma, delta)
    tail = math.sqrt(most * -math.log(delta) / 2) / sigma
    return answers / (2 * sigma**2) + (1 + answers / most) * tail


def _check(answers: int, most: int, sigma: float, delta: float) -> None:
    check_positive(sigma=sigma)
    if not 0 <= answers <= most:
        raise InvalidArgument("answers must be at least 0 and at most the budget", value=answers)
    check_value("delta", delta, more_than(0), less_than(1))
