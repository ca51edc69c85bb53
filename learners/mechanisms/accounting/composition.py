"""The arithmetic of privacy: what several mechanisms, a subsample, or LabelBoost cost together.

Pure functions of numbers. Epsilon is in nats and may be infinite. Delta is a probability, but a sum of them
may exceed 1: nothing is clipped, and from delta = 1 on nothing is promised. Neighbours replace one record.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.parameter_checks import check_positive


class Guarantee(NamedTuple):
    """(epsilon, delta)-differential privacy."""

    epsilon: float
    delta: float


def basic_composition(k: int, epsilon: float, delta: float = 0.0) -> Guarantee:
    """k adaptive (epsilon, delta)-DP mechanisms on the same data: (k·ε, k·δ).

    Proposition 2.5 of Naor, Nissim, Stemmer, Yan (NeurIPS 2023), k − 1 times.
    Raises: InvalidArgument if a parameter is out of range.
    """
    _check(k=k, epsilon=epsilon, delta=delta)
    return Guarantee(k * epsilon, k * delta)


def advanced_composition(k: int, epsilon: float, delta: float = 0.0, *, slack: float) -> Guarantee:
    """k adaptive (epsilon, delta)-DP mechanisms: (√(2k·ln(1/slack))·ε + k·ε·(e^ε − 1), k·δ + slack).

    Theorem III.3 of Dwork, Rothblum, Vadhan (2010); slack is its δ'. Theorem 2.6 of Naor, Nissim, Stemmer,
    Yan (NeurIPS 2023) prints it without the second term of ε, which the proof of their Claim D.1 uses and
    which is kept here. Observation 2 of the first version is slack = k·δ.
    Raises: InvalidArgument if a parameter is out of range.
    """
    _check(k=k, epsilon=epsilon, delta=delta)
    if not 0 < slack <= 1:
        raise InvalidArgument("slack must be a positive probability", value=slack)
    spread = math.sqrt(2 * k * -math.log(slack)) * epsilon if slack < 1 else 0.0
    return Guarantee(spread + k * epsilon * _expm1(epsilon), k * delta + slack)


def best_composition(k: int, epsilon: float, delta: float = 0.0, *, slack: float) -> Guarantee:
    """The better of both: `advanced_composition` where its epsilon is smaller, otherwise `basic_composition`, which needs no slack.

    Raises: InvalidArgument if a parameter is out of range.
    """
    plain = basic_composition(k, epsilon, delta)
    return min(plain, advanced_composition(k, epsilon, delta, slack=slack), key=lambda cost: cost.epsilon)


def optimal_composition(k: int, epsilon: float, delta: float = 0.0, *, slack: float) -> Guarantee:
    """k adaptive (epsilon, delta)-DP mechanisms: (ε, 1 − (1 − δ)^k·(1 − slack)), with the least such ε.

    Theorem 3.3 of Kairouz, Oh, Viswanath, The Composition Theorem for Differential Privacy (2015): no bound
    that knows of the mechanisms only that they are (epsilon, delta)-DP is smaller, so neither `basic_composition`,
    `advanced_composition` nor `zcdp_guarantee` is. Each is dominated by a response that lies with probability
    1/(1 + e^epsilon); with k of them the privacy losses are (k − 2i)·epsilon, and ε is the least that leaves
    no set of losses from some i up an excess above slack.

    With slack = 0 it is `basic_composition`, but for δ.
    Raises: InvalidArgument if a parameter is out of range.
    """
    _check(k=k, epsilon=epsilon, delta=delta)
    if not 0 <= slack < 1:
        raise InvalidArgument("slack must be at least 0 and less than 1", value=slack)
    total = -math.expm1(k * math.log1p(-delta) + math.log1p(-slack)) if delta < 1 else 1.0
    if slack == 0 or math.isinf(epsilon):
        return Guarantee(k * epsilon, total)
    first, second = _responses(k, epsilon)
    telling = first > math.log(slack)
    least = first[telling] + np.log1p(-np.exp(math.log(slack) - first[telling])) - second[telling]
    return Guarantee(min(float(least.max(initial=0.0)), k * epsilon), total)


def _responses(k: int, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """The log chances, in both worlds, that of k responses at most i = 0 ... (k − 1)/2 lie in the first."""
    from scipy.special import gammaln  # slow to import

    lies = np.arange((k + 1) // 2)
    ways = gammaln(k + 1) - gammaln(lies + 1) - gammaln(k - lies + 1)
    lie, truth = -np.logaddexp(0, epsilon), -np.logaddexp(0, -epsilon)
    first = ways + lies * lie + (k - lies) * truth
    return np.logaddexp.accumulate(first), np.logaddexp.accumulate(first - (k - 2 * lies) * epsilon)


def zcdp_guarantee(rho: float, *, slack: float) -> Guarantee:
    """rho-zCDP: (ρ + 2√(ρ·ln(1/slack)), slack).

    Proposition 1.3 of Bun and Steinke, Concentrated Differential Privacy (2016). What is (ε, 0)-DP is
    ε²/2-zCDP by their Proposition 1.4, and k of these kε²/2.
    Raises: InvalidArgument if a parameter is out of range.
    """
    check_positive(rho=rho)
    if not 0 < slack <= 1:
        raise InvalidArgument("slack must be a positive probability", value=slack)
    return Guarantee(rho + 2 * math.sqrt(rho * -math.log(slack)), slack)


def amplify_by_subsampling(epsilon: float, delta: float = 0.0, *, rate: float) -> Guarantee:
    """An (epsilon, delta)-DP mechanism run on a random part of the data: (ln(1 + rate·(e^ε − 1)), rate·δ).

    Balle, Barthe, Gaboardi (2018): the part is drawn without replacement and has the fixed size rate·n.
    Raises: InvalidArgument if a parameter is out of range.
    """
    _check(epsilon=epsilon, delta=delta, rate=rate)
    growth = rate * _expm1(epsilon)
    if math.isinf(growth):
        return Guarantee(epsilon + math.log(rate), rate * delta)
    return Guarantee(math.log1p(growth), rate * delta)


def amplify_as_printed(epsilon: float, delta: float = 0.0, *, rate: float) -> Guarantee:
    """The same by Claim 2.9 of Naor, Nissim, Stemmer, Yan (NeurIPS 2023; 2.7 in the first version).

    A part of rate = ε*/(3 + e^ε) of the data costs (ε*, 4ε*/(3 + e^ε)·δ), if ε* ≤ 1. Read from right to left:
    ε* = rate·(3 + e^ε) and 4·rate·δ, which `amplify_by_subsampling` never exceeds.
    Raises: InvalidArgument if a parameter is out of range or ε* exceeds 1.
    """
    _check(epsilon=epsilon, delta=delta, rate=rate)
    target = rate * (4 + _expm1(epsilon))
    if target > 1 + 1e-12:
        raise InvalidArgument(
            "Claim 2.9 speaks of rate·(3 + exp(epsilon)) of at most 1", value=target, remedy="Use amplified"
        )
    return Guarantee(target, 4 * rate * delta)


def label_boost_guarantee(epsilon: float, delta: float = 0.0) -> Guarantee:
    """An (epsilon, delta)-DP mechanism run on what LabelBoost relabelled: (ε + 3, 4e·δ).

    Lemma 5.1 of Naor, Nissim, Stemmer, Yan (NeurIPS 2023), after Beimel, Nissim, Stemmer (2021).
    Raises: InvalidArgument if a parameter is out of range.
    """
    _check(epsilon=epsilon, delta=delta)
    return Guarantee(epsilon + 3, 4 * math.e * delta)


def bbl_subsampling_rate(epsilon: float) -> float:
    """The part of the data that GenericBBL keeps in steps 2 and 3f: ε/(3 + exp(ε + 4)).

    By Claim 2.9 it brings what is (ε + 4)-DP, such as an (ε + 1)-DP mechanism after LabelBoost, back to ε-DP.
    Raises: InvalidArgument if epsilon is not positive and finite.
    """
    check_positive(epsilon=epsilon)
    small = math.exp(-epsilon - 4)
    return epsilon * small / (3 * small + 1)


def _check(*, epsilon: float, delta: float, k: int = 1, rate: float = 1.0) -> None:
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InvalidArgument("k is a whole number of at least 1", value=k)
    if not epsilon >= 0:
        raise InvalidArgument("epsilon must be at least 0 nats", value=epsilon)
    if not 0 <= delta < math.inf:
        raise InvalidArgument("delta must be at least 0 and finite", value=delta)
    if not 0 < rate <= 1:
        raise InvalidArgument(
            "rate is the part of the data that is used, more than 0 and at most 1", value=rate
        )


def _expm1(epsilon: float) -> float:
    try:
        return math.expm1(epsilon)
    except OverflowError:
        return math.inf
