"""What answers with Gaussian noise cost where fewer were given than had been paid for.

Let each answer be a count of sensitivity 1 with noise N(0, σ²), or what is made of it. It is ρ-zCDP with
ρ = 1/(2σ²), whatever was answered before and however the question follows from that.
"""

from __future__ import annotations

import math

from arena.errors import InvalidArgument
from learners.mechanisms.accounting.monotone_search import least_sufficient
from learners.mechanisms.noise.gaussian_noise import gaussian_delta
from learners.mechanisms.parameter_checks import check_positive


def gaussian_epsilon(*, answers: int, sigma: float, delta: float) -> float:
    """The least ε at δ of a number of answers that is fixed beforehand (nats), never rounded down.

    By Theorem 8 of Balle and Wang (2018), at the sensitivity √answers. No answers cost nothing. Where the
    number of answers follows from the answers, this is no guarantee: see `odometer`.

    >>> f"{gaussian_epsilon(answers=1, sigma=1.0, delta=1e-5):.4f}"
    '4.3772'

    Raises: InvalidArgument if a parameter is out of range.
    """
    _check(answers, answers, sigma, delta)

    def enough(epsilon: float) -> bool:
        spent = gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=math.sqrt(answers))
        return spent <= delta

    if not answers or enough(0.0):
        return 0.0
    return least_sufficient(enough)


def odometer(answers: int, *, most: int, sigma: float, delta: float) -> float:
    """ε(c) of c `answers`, nats, where c may follow from the answers, ℓ of which (`most`) there may be:

        ε(c) = c/(2σ²) + (1 + c/ℓ)·√(ℓ·ln(1/δ)/2)/σ.

    Let S and S' be neighbours, and L_c the log ratio of the chances, on S and on S', of the first c answers.
    An answer that is ρ-zCDP multiplies exp(λ·L_c − λ(1 + λ)ρc) by a factor of mean 1 at most, given those
    before it, for every λ > 0; so by Ville's inequality the chance on S is at most δ that L_c is ever above
    (1 + λ)ρc + ln(1/δ)/λ. This is ε(c) for λ = √(ln(1/δ)/(ρℓ)), with which ε(ℓ) is least: what zCDP says of
    ℓ answers, as in the `printed` calibration of pate-gaussian. It is an odometer (Rogers, Roth, Ullman,
    Vadhan, 2016); the argument is that of Whitehouse, Ramdas, Rogers, Wu (2023).

    So if c is released with what was learned, v: P_S[(v, c) ∈ E] ≤ Σ_k e^ε(k)·P_S'[(v, c) ∈ E, c = k] + δ for
    every set E. Even no answers have ε(0) = √(ℓ·ln(1/δ)/2)/σ: the price of being free to go on.

    Raises: InvalidArgument if a parameter is out of range.
    """
    _check(answers, most, sigma, delta)
    tail = math.sqrt(most * -math.log(delta) / 2) / sigma
    return answers / (2 * sigma**2) + (1 + answers / most) * tail


def _check(answers: int, most: int, sigma: float, delta: float) -> None:
    check_positive(sigma=sigma)
    if not 0 <= answers <= most:
        raise InvalidArgument("answers are at least 0, and at most those that were paid for", value=answers)
    if not 0 < delta < 1:
        raise InvalidArgument("delta must be between 0 and 1", value=delta)
