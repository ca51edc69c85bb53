"""Fresh draws of experts: their law, their privacy by enumeration, their composition and regret."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.laws.expert_laws import Law, Losses, adaptive, fresh_law, hedge, worst_delta
from support.laws.learner_laws import view_delta

from learners.mechanisms.accounting import best_composition
from learners.mechanisms.exponential_experts import cost, hoeffding_composition, largest_rate, regret


@pytest.mark.parametrize(("rounds", "rate"), [(2, 0.5), (3, 0.3), (4, 0.8)])
@pytest.mark.parametrize("slack", [0.0, 1e-3, 0.05])
def test_neighbours_are_as_close_as_is_claimed(rounds: int, rate: float, slack: float) -> None:
    # Of an expert that is unlikely a priori, a loss moves the probability most.
    def law_of(losses: Losses) -> Law:
        return fresh_law(losses, rounds, (0.0, -6.0), rate)

    claim = cost(rounds, rate, slack=slack)
    assert worst_delta(law_of, 2, rounds, claim.epsilon) <= claim.delta + 1e-12
    if not slack:
        assert worst_delta(law_of, 2, rounds, claim.epsilon / 2) > 0


@pytest.mark.thorough
@given(seed=st.integers(0, 10**6), replaced=st.integers(0, 1))
def test_adaptive_losses_cost_no_more(seed: int, replaced: int) -> None:
    rate = 0.7
    laws = [fresh_law(adaptive(seed, replaced, by), 3, (0.0, 0.0), rate) for by in range(4)]
    for slack in (0.0, 0.01):
        claim = cost(3, rate, slack=slack)
        for law, other in itertools.permutations(laws, 2):
            assert view_delta(law, other, claim.epsilon) <= claim.delta + 1e-12


@pytest.mark.parametrize("draws", [1, 10, 300])
@pytest.mark.parametrize("width", [0.05, 0.4, 2.0])
@pytest.mark.parametrize("slack", [0.1, 1e-3, 1e-6])
def test_draws_of_the_worst_laws_keep_within_their_composition(
    draws: int, width: float, slack: float
) -> None:
    """Two outcomes with log ratios at the ends of an interval are the worst (Dong, Durfee, Rogers)."""
    claim = hoeffding_composition(draws, width, slack=slack)
    for top in width * np.array([0.1, 0.3, 0.5, 0.7, 0.9]):
        bottom = top - width
        # q·e^top + (1 − q)·e^bottom = 1 makes a law of world 1 one of world 0.
        q = -math.expm1(bottom) / (math.exp(top) - math.exp(bottom))
        highs = np.arange(draws + 1)
        loss = highs * top + (draws - highs) * bottom
        mass = stats.binom.pmf(highs, draws, q * math.exp(top))
        exact = mass @ -np.expm1(np.minimum(claim.epsilon - loss, 0))
        assert exact <= claim.delta + 1e-9


def test_the_composition_of_ranges_never_costs_more_than_the_general_one() -> None:
    for draws, width, slack in itertools.product([1, 5, 100, 10_000], [0.001, 0.1, 1.0], [1e-9, 0.1]):
        assert (
            hoeffding_composition(draws, width, slack=slack).epsilon
            <= best_composition(draws, width, slack=slack).epsilon
        )


def test_one_round_is_free_and_pure_privacy_is_basic_composition() -> None:
    assert cost(1, 2.0, slack=1e-6) == (0, 0)
    assert cost(4, 0.25, slack=0) == (1.5, 0)


@given(rounds=st.integers(2, 10**6), epsilon=st.floats(1e-3, 20), delta=st.sampled_from([0.0, 1e-9, 0.01]))
def test_the_largest_rate_spends_what_there_is(rounds: int, epsilon: float, delta: float) -> None:
    rate = largest_rate(rounds, epsilon=epsilon, delta=delta)
    spent = cost(rounds, rate, slack=delta)
    assert spent.epsilon <= epsilon
    assert spent.delta <= delta
    assert cost(rounds, rate * (1 + 1e-9), slack=delta).epsilon > epsilon * (1 - 1e-6)


@given(seed=st.integers(0, 10**6), rate=st.floats(0.01, 5))
def test_the_expected_regret_is_within_the_bound(seed: int, rate: float) -> None:
    rows = np.random.default_rng(seed).integers(0, 2, size=(12, 3)).tolist()
    lost = sum(np.dot(hedge(rows[:t], (0, 0, 0), rate), row) for t, row in enumerate(rows))
    assert lost - np.sum(rows, axis=0).min() <= regret(12, 3, rate) + 1e-9
