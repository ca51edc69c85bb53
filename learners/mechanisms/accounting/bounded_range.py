"""Many draws whose log ratios lie in a short interval: what they cost, and how long the interval may be."""

from __future__ import annotations

import math

import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.accounting.composition import Guarantee, basic_composition
from learners.mechanisms.accounting.monotone_search import largest_affordable

# Any order α > 1 gives a guarantee; of so many the best is within a ten-thousandth of the best of all.
_ORDERS_LESS_ONE = np.geomspace(1e-6, 1e9, 3_000)


def hoeffding_composition(draws: int, width: float, *, slack: float) -> Guarantee:
    """`draws` adaptive draws, each with log ratios of probabilities in an interval of length `width` (nats).

    Dong, Durfee, Rogers (2020). Let X be the log ratio of what is drawn. Its exponential moment in the other
    world is 1, so Hoeffding's lemma bounds its mean by width²/8; and sums deviate from their means as those
    of numbers in intervals of that length do. So (draws·width²/8 + width·√(draws·ln(1/slack)/2), slack); or
    (draws·width, 0) where that is less, since an interval that holds 0 bounds |X| by its length.

    Raises: InvalidArgument if a parameter is out of range.
    """
    plain = basic_composition(max(draws, 1), width if draws else 0.0)
    if not 0 < slack < 1:
        return plain
    spread = width * math.sqrt(draws * -math.log(slack) / 2)
    return min(plain, Guarantee(draws * width**2 / 8 + spread, slack), key=lambda cost: cost.epsilon)


def renyi_composition(draws: int, width: float, *, slack: float) -> Guarantee:
    """`draws` adaptive draws, each with log ratios of probabilities in an interval of length `width` (nats).

    As `exponential_experts.range_composed`, but with a better way back from Rényi divergences. Let L be the
    log ratio of a draw, P its law, Q that of the other world. ψ(α) = ln E_Q[exp(αL)] is 0 at α = 0 and at
    α = 1, and ψ″ is a variance of numbers in an interval of that length, so width²/4 at most; hence
    ψ(α) ≤ α(α − 1)·width²/8 for α > 1. So `draws` draws, each chosen by those before, are ρ-zero-concentrated
    with ρ = draws·width²/8 (Cesar, Rogers 2021), and by Proposition 12 of Canonne, Kamath, Steinke (2020)
    ε = αρ + ln(1 − 1/α) + (ln(1/δ) − ln α)/(α − 1) for every α > 1. The least of those, of draws·width, and
    of nothing less than 0. slack = 0 asks for pure privacy.

    Raises: InvalidArgument if a parameter is out of range.
    """
    if draws < 0:
        raise InvalidArgument("draws are a whole number of at least 0", value=draws)
    if not 0 <= slack < 1:
        raise InvalidArgument("slack must be a probability below 1", value=slack)
    plain = basic_composition(max(draws, 1), width if draws else 0.0)
    if not slack:
        return plain
    order = 1 + _ORDERS_LESS_ONE
    concentrated = float(draws) * width**2 / 8
    epsilons = (
        order * concentrated
        + np.log(_ORDERS_LESS_ONE / order)
        - (math.log(slack) + np.log(order)) / _ORDERS_LESS_ONE
    )
    best = max(float(epsilons.min()), 0.0)
    return plain if plain.epsilon <= best else Guarantee(best, slack)


def largest_width(draws: int, *, epsilon: float, slack: float) -> float:
    """The longest interval at which `draws` draws cost (epsilon, slack) at most, in nats.

    Raises: InvalidArgument if a parameter is out of range.
    """
    return largest_affordable(lambda width: renyi_composition(draws, width, slack=slack).epsilon, epsilon)
