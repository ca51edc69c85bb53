"""The cost of answers with Gaussian noise if fewer were given than the budget covers.

Each answer is a count of sensitivity 1 with noise N(0, σ²), or a function of it.
"""

from __future__ import annotations

import math

from arena.errors import InvalidArgument
from arena.settings import check_value, less_than, more_than
from learners.mechanisms.parameter_checks import check_positive


def odometer(answers: int, *, most: int, sigma: float, delta: float) -> float:
    """ε(c) for c `answers`, nats, where c may depend on the answers, of which there are at most ℓ (`most`):

        ε(c) = c/(2σ²) + (1 + c/ℓ)·√(ℓ·ln(1/δ)/2)/σ.

    It holds if c is released together with the result, except with probability δ. Proof: docs/proofs/pate.md.

    Raises: InvalidArgument if a parameter is out of range.
    """
    check_positive(sigma=sigma)
    check_value("delta", delta, more_than(0), less_than(1))
    if not 0 <= answers <= most:
        raise InvalidArgument("answers must be at least 0 and at most the budget", value=answers)
    tail = math.sqrt(most * -math.log(delta) / 2) / sigma
    return answers / (2 * sigma**2) + (1 + answers / most) * tail
