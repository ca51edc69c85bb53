"""Composition of draws of bounded range, such as those of exponential mechanisms.

A draw has *range* `width` if the log ratio of the probabilities of its outcomes in the two worlds always lies
in one interval of that length (nats). Proofs: docs/proofs/bounded_range.md.

Functions raise InvalidArgument if a parameter is out of range.
"""

from __future__ import annotations

import math

import numpy as np

from arena.settings import at_least, check_value, less_than
from learners.mechanisms.accounting.composition import Guarantee, basic_composition
from learners.mechanisms.accounting.monotone_search import largest_affordable

# Every Rényi order α > 1 gives a guarantee; the best of this grid of α - 1 is within 1e-4 of the optimum.
_ORDERS_LESS_ONE = np.geomspace(1e-6, 1e9, 3_000)


def hoeffding_composition(draws: int, width: float, *, slack: float) -> Guarantee:
    """The cost of `draws` adaptive draws of range `width`, by Hoeffding's lemma.

    (draws·width²/8 + width·√(draws·ln(1/slack)/2), slack), or (draws·width, 0) if that is less. With slack 0
    or 1 it is the latter. Source: Dong, Durfee, Rogers (2020).
    """
    pure = _pure_composition(draws, width)
    if not 0 < slack < 1:
        return pure
    spread = width * math.sqrt(draws * -math.log(slack) / 2)
    return min(pure, Guarantee(draws * width**2 / 8 + spread, slack), key=lambda cost: cost.epsilon)


def renyi_composition(draws: int, width: float, *, slack: float) -> Guarantee:
    """The cost of `draws` adaptive draws of range `width`, by way of zero-concentrated DP.

    The draws are ρ-zCDP with ρ = draws·width²/8 (Cesar and Rogers 2021). By Proposition 12 of Canonne,
    Kamath, Steinke (2020), ε = αρ + ln(1 − 1/α) + (ln(1/slack) − ln α)/(α − 1) for every α > 1; the least of
    these, or (draws·width, 0) if that is less. Never above `hoeffding_composition`. With slack 0 it is pure
    DP.
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
