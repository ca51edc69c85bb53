"""Bounded range, which is never below what draws can lose, and searches to the last bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from learners.mechanisms.accounting import (
    hoeffding_composition,
    largest_affordable,
    largest_width,
    least_sufficient,
    renyi_composition,
)


def independent_loss(draws: int, width: float, chance: float, epsilon: float) -> float:
    """The exact δ of draws with two outcomes whose log ratios are `width` apart.

    chance: of the outcome with the larger ratio, in the other world.
    """
    low = -math.log(1 + chance * math.expm1(width))
    count = np.arange(draws + 1)
    ratios = draws * low + count * width
    other = stats.binom.logpmf(count, draws, chance)
    other, ratios = other[ratios > epsilon], ratios[ratios > epsilon]
    return float((np.exp(other + ratios) * -np.expm1(epsilon - ratios)).sum())


def adaptive_loss(draws: int, width: float, epsilon: np.ndarray) -> np.ndarray:
    """The exact δ where each draw's two outcomes may have other chances, the worst after those before."""
    if draws == 0:
        return np.maximum(0, 1 - np.exp(epsilon))
    best = np.zeros_like(epsilon)
    for chance in np.linspace(0.02, 0.98, 17):
        low = -math.log(1 + chance * math.expm1(width))
        one = chance * math.exp(low + width)
        after = [adaptive_loss(draws - 1, width, epsilon - ratio) for ratio in (low, low + width)]
        best = np.maximum(best, (1 - one) * after[0] + one * after[1])
    return best


@pytest.mark.thorough
@pytest.mark.parametrize("draws", [1, 5, 100, 3_000])
@pytest.mark.parametrize("slack", [1e-9, 1e-6, 1e-2, 0.3])
def test_draws_lose_no_more_than_is_told(draws: int, slack: float) -> None:
    for width in (0.001, 0.02, 0.3, 2.0):
        told = renyi_composition(draws, width, slack=slack)
        assert told.delta in (0, slack)
        for chance in np.linspace(0.01, 0.99, 33):
            assert independent_loss(draws, width, chance, told.epsilon) <= told.delta * (1 + 1e-9) + 1e-14


@pytest.mark.thorough
@pytest.mark.parametrize("draws", [1, 2, 3])
def test_nor_do_draws_that_are_chosen_by_those_before(draws: int) -> None:
    for width in (0.1, 1.0, 3.0):
        told = [renyi_composition(draws, width, slack=slack) for slack in (1e-6, 1e-3, 0.05, 0.3)]
        reached = adaptive_loss(draws, width, np.array([one.epsilon for one in told]))
        assert (reached <= np.array([one.delta for one in told]) + 1e-12).all()


def test_a_sixth_less_would_be_too_little() -> None:
    told = renyi_composition(2_000, 0.01, slack=1e-6)
    assert max(independent_loss(2_000, 0.01, p, told.epsilon * 5 / 6) for p in (0.4, 0.5, 0.6)) > 1e-6


@settings(max_examples=200, derandomize=True)
@given(
    draws=st.integers(0, 10**9),
    width=st.floats(1e-9, 5),
    slack=st.sampled_from([0.0, 1e-12, 1e-6, 0.01, 0.5]),
)
def test_it_is_never_above_the_simpler_bound(draws: int, width: float, slack: float) -> None:
    assert renyi_composition(draws, width, slack=slack).epsilon <= hoeffding_composition(
        draws, width, slack=slack
    ).epsilon * (1 + 1e-4)


def test_what_it_gains() -> None:
    one, other = (how(512, 0.0149, slack=1e-6).epsilon for how in (renyi_composition, hoeffding_composition))
    assert one == pytest.approx(0.7499, abs=1e-3)
    assert other == pytest.approx(0.900, abs=2e-3)


@pytest.mark.thorough
@settings(max_examples=100, derandomize=True)
@given(
    draws=st.integers(1, 10**7), epsilon=st.floats(0.01, 20), slack=st.sampled_from([0.0, 1e-9, 1e-6, 0.1])
)
def test_the_longest_interval_costs_what_is_there(draws: int, epsilon: float, slack: float) -> None:
    width = largest_width(draws, epsilon=epsilon, slack=slack)
    assert renyi_composition(draws, width, slack=slack).epsilon <= epsilon
    assert renyi_composition(draws, width * 1.0001, slack=slack).epsilon > epsilon


def test_nothing_costs_nothing() -> None:
    assert renyi_composition(0, 1.0, slack=0).epsilon == 0
    assert renyi_composition(3, 1.0, slack=0) == (3.0, 0.0)


@given(at_most=st.floats(1e-12, 1e12))
def test_the_next_number_would_cost_more(at_most: float) -> None:
    def cost(x: float) -> float:  # to the last bit, as a power is not
        return x * x

    found = largest_affordable(cost, at_most)
    assert cost(found) <= at_most < cost(math.nextafter(found, math.inf))


@given(edge=st.floats(1e-200, 1e200))
def test_the_least_is_enough_and_the_number_before_is_not(edge: float) -> None:
    found = least_sufficient(lambda value: value >= edge)
    assert found == edge
    assert not math.nextafter(found, 0.0) >= edge
