"""What several mechanisms, a random subsample, or LabelBoost cost together, and what a budget affords.

ε is in nats and may be infinite. δ is not clipped: from 1 on nothing is promised. Neighbours replace one
record. A draw has *range* `width` if the log ratio of the probabilities of its outcomes in the two worlds
always lies in one interval of that length (nats), as for exponential mechanisms:
docs/proofs/bounded_range.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from arena.errors import InvalidArgument
from arena.privacy_curves import PureCurve
from arena.settings import at_least, at_most, check_value, less_than, more_than, whole
from learners.mechanisms.parameter_checks import check_positive


def largest_affordable(cost: Callable[[float], float], budget: float) -> float:
    """The largest double x > 0 with cost(x) ≤ budget, for a non-decreasing cost.

    Raises: InvalidArgument if the cost of every positive number exceeds the budget, or that of none does.

    >>> largest_affordable(lambda x: x * x, 2.0) ** 2 <= 2.0
    True
    """
    low, high = 0.0, 1.0
    while cost(high) <= budget:
        low, high = high, 2 * high
        if math.isinf(high):
            raise InvalidArgument("no positive number exceeds the budget", value=budget)
    while math.nextafter(low, high) < high:
        middle = low + (high - low) / 2 if low else high / 2
        low, high = (middle, high) if cost(middle) <= budget else (low, middle)
    if not low:
        raise InvalidArgument("every positive number exceeds the budget", value=budget)
    return low


def least_sufficient(suffices: Callable[[float], bool]) -> float:
    """The least double x > 0 that suffices, if every number above one that suffices does.

    Raises: InvalidArgument if it holds for every positive number, or for none.

    >>> least_sufficient(lambda x: x * x >= 2.0) ** 2 >= 2.0
    True
    """
    return math.nextafter(largest_affordable(lambda x: float(suffices(x)), 0.5), math.inf)


class Guarantee(NamedTuple):
    """(epsilon, delta)-differential privacy."""

    epsilon: float
    delta: float


def basic_composition(k: int, epsilon: float, delta: float = 0.0) -> Guarantee:
    """k adaptive (ε, δ)-DP mechanisms: (k·ε, k·δ), Proposition 2.5 of Naor, Nissim, Stemmer, Yan (2023)."""
    _check(k=k, epsilon=epsilon, delta=delta)
    return Guarantee(k * epsilon, k * delta)


def compose_advanced(k: int, epsilon: float, delta: float = 0.0, *, slack: float) -> Guarantee:
    """k adaptive (ε, δ)-DP mechanisms: (√(2k·ln(1/slack))·ε + k·ε·(e^ε − 1), k·δ + slack).

    Theorem III.3 of Dwork, Rothblum, Vadhan (2010); Theorem 2.6 of Naor, Nissim, Stemmer, Yan (2023) omits
    the second term of ε.
    """
    _check(k=k, epsilon=epsilon, delta=delta)
    _check_slack(slack)
    spread = math.sqrt(2 * k * -math.log(slack)) * epsilon if slack < 1 else 0.0
    return Guarantee(spread + k * epsilon * _expm1(epsilon), k * delta + slack)


def best_composition(k: int, epsilon: float, delta: float = 0.0, *, slack: float) -> Guarantee:
    """`compose_advanced` if its ε is smaller, otherwise `basic_composition`, which needs no slack."""
    basic = basic_composition(k, epsilon, delta)
    advanced = compose_advanced(k, epsilon, delta, slack=slack)
    return min(basic, advanced, key=lambda cost: cost.epsilon)


def optimal_composition(k: int, epsilon: float, delta: float = 0.0, *, slack: float) -> Guarantee:
    """k adaptive (ε, δ)-DP mechanisms: the least ε′ with which they are (ε′, 1 − (1 − δ)^k·(1 − slack))-DP.

    Theorem 3.3 of Kairouz, Oh, Viswanath (2015): no bound from (ε, δ) alone is smaller.
    docs/proofs/composition.md.
    """
    _check(k=k, epsilon=epsilon, delta=delta)
    check_value("slack", slack, at_least(0), less_than(1))
    total = -math.expm1(k * math.log1p(-delta) + math.log1p(-slack)) if delta < 1 else 1.0
    if slack == 0 or math.isinf(epsilon):
        return Guarantee(k * epsilon, total)
    first, second = _log_tails_of_responses(k, epsilon)
    above = first > math.log(slack)
    needed = first[above] + np.log1p(-np.exp(math.log(slack) - first[above])) - second[above]
    return Guarantee(min(float(needed.max(initial=0.0)), k * epsilon), total)


def pure_curve(k: int, epsilon: float) -> PureCurve | None:
    """The curve of k adaptive (ε, 0)-DP mechanisms; None for one, and if ε is 0 or infinite."""
    return PureCurve(epsilon, k) if k > 1 and 0 < epsilon < math.inf else None


def _log_tails_of_responses(k: int, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """The log probabilities, in either world, that at most i of k responses, each the truth with probability
    e^ε/(1 + e^ε), lie, for i = 0 … (k − 1)/2."""
    from scipy.special import gammaln  # slow to import

    lies = np.arange((k + 1) // 2)
    ways = gammaln(k + 1) - gammaln(lies + 1) - gammaln(k - lies + 1)
    lie, truth = -np.logaddexp(0, epsilon), -np.logaddexp(0, -epsilon)
    first = ways + lies * lie + (k - lies) * truth
    return np.logaddexp.accumulate(first), np.logaddexp.accumulate(first - (k - 2 * lies) * epsilon)


def zcdp_guarantee(rho: float, *, slack: float) -> Guarantee:
    """ρ-zCDP as (ρ + 2√(ρ·ln(1/slack)), slack)-DP: Proposition 1.3 of Bun and Steinke (2016)."""
    check_positive(rho=rho)
    _check_slack(slack)
    return Guarantee(rho + 2 * math.sqrt(rho * -math.log(slack)), slack)


def amplify_by_subsampling(epsilon: float, delta: float = 0.0, *, rate: float) -> Guarantee:
    """An (ε, δ)-DP mechanism run on a random subset of the fixed size rate·n: (ln(1 + rate·(e^ε − 1)),
    rate·δ), by Balle, Barthe, Gaboardi (2018)."""
    _check(epsilon=epsilon, delta=delta, rate=rate)
    growth = rate * _expm1(epsilon)
    if math.isinf(growth):
        return Guarantee(epsilon + math.log(rate), rate * delta)
    return Guarantee(math.log1p(growth), rate * delta)


def label_boost_guarantee(epsilon: float, delta: float = 0.0) -> Guarantee:
    """An (ε, δ)-DP mechanism run on examples that LabelBoost has relabelled: (ε + 3, 4e·δ), Lemma 5.1 of
    Naor, Nissim, Stemmer, Yan (2023)."""
    _check(epsilon=epsilon, delta=delta)
    return Guarantee(epsilon + 3, 4 * math.e * delta)


def label_boost_exact_guarantee(epsilon: float, delta: float = 0.0, *, labelled: bool) -> Guarantee:
    """The same, sharper: (ε + 2 ln(1 + √e), δ) for a point of S (labelled), (ε + 2 ln 2, δ) for one of T:
    docs/proofs/label_boost.md."""
    _check(epsilon=epsilon, delta=delta)
    return Guarantee(epsilon + 2 * math.log(1 + math.sqrt(math.e) if labelled else 2), delta)


def bbl_subsampling_rate(epsilon: float) -> float:
    """The fraction that GenericBBL keeps in steps 2 and 3(f): ε/(3 + exp(ε + 4)) (Claim 2.9)."""
    check_positive(epsilon=epsilon)
    small = math.exp(-epsilon - 4)
    return epsilon * small / (3 * small + 1)


def _check(*, epsilon: float, delta: float, k: int = 1, rate: float = 1.0) -> None:
    check_value("k", k, whole, at_least(1))
    check_value("epsilon", epsilon, at_least(0))
    check_value("delta", delta, at_least(0), less_than(math.inf))
    check_value("rate", rate, more_than(0), at_most(1))


def _check_slack(slack: float) -> None:
    check_value("slack", slack, more_than(0), at_most(1))


def _expm1(epsilon: float) -> float:
    try:
        return math.expm1(epsilon)
    except OverflowError:
        return math.inf


# Every Rényi order α > 1 gives a guarantee; the best of this grid of α - 1 is within 1e-4 of the optimum.
_ORDERS_LESS_ONE = np.geomspace(1e-6, 1e9, 3_000)


def hoeffding_composition(draws: int, width: float, *, slack: float) -> Guarantee:
    """The cost of `draws` adaptive draws of range `width`, by Hoeffding's lemma.

    (draws·width²/8 + width·√(draws·ln(1/slack)/2), slack), or (draws·width, 0) if that is less, or slack is 0
    or 1: Dong, Durfee, Rogers (2020).
    """
    pure = _pure_composition(draws, width)
    if not 0 < slack < 1:
        return pure
    spread = width * math.sqrt(draws * -math.log(slack) / 2)
    return min(pure, Guarantee(draws * width**2 / 8 + spread, slack), key=lambda cost: cost.epsilon)


def renyi_composition(draws: int, width: float, *, slack: float) -> Guarantee:
    """The cost of `draws` adaptive draws of range `width`, by way of zero-concentrated DP.

    ρ = draws·width²/8 (Cesar and Rogers 2021), hence ε = αρ + ln(1 − 1/α) + (ln(1/slack) − ln α)/(α − 1) for
    every α > 1 (Proposition 12 of Canonne, Kamath, Steinke 2020); the least of these and (draws·width, 0).
    """
    check_value("draws", draws, at_least(0))
    check_value("slack", slack, at_least(0), less_than(1))
    pure = _pure_composition(draws, width)
    if not slack:
        return pure
    order = 1 + _ORDERS_LESS_ONE
    rho = float(draws) * width**2 / 8
    epsilons = (
        order * rho + np.log(_ORDERS_LESS_ONE / order) - (math.log(slack) + np.log(order)) / _ORDERS_LESS_ONE
    )
    epsilon = max(float(epsilons.min()), 0.0)
    return pure if pure.epsilon <= epsilon else Guarantee(epsilon, slack)


def largest_width(draws: int, *, epsilon: float, slack: float) -> float:
    """The largest range, in nats, at which `draws` draws cost at most (epsilon, slack)."""
    return largest_affordable(lambda width: renyi_composition(draws, width, slack=slack).epsilon, epsilon)


def _pure_composition(draws: int, width: float) -> Guarantee:
    return basic_composition(max(draws, 1), width if draws else 0.0)
