"""Many draws whose log ratios lie in a short interval: what they cost, and how long the interval may be."""

from __future__ import annotations

import math

import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.accounting.bisection import largest
from learners.mechanisms.accounting.composition import Guarantee, basic

# Any order α > 1 gives a guarantee; of so many the best is within a ten-thousandth of the best of all.
_ORDERS_LESS_ONE = np.geomspace(1e-6, 1e9, 3_000)


def composed_draws(draws: int, width: float, *, slack: float) -> Guarantee:
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
    plain = basic(max(draws, 1), width if draws else 0.0)
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
    return largest(lambda width: composed_draws(draws, width, slack=slack).epsilon, epsilon)
