"""Lazy draws of experts: their law, their privacy by enumeration, how often they draw, their regret."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.laws.expert_laws import Law, Losses, adaptive, hedge, lazy_law, oblivious, worst_delta
from support.laws.learner_laws import view_delta

from learners.mechanisms import exponential_experts, lazy_experts
from learners.mechanisms.lazy_experts import LazyParameters, cost, largest_rate, regret


@pytest.mark.parametrize("redraw", [0.0, 0.3])
@given(seed=st.integers(0, 10**6), rate=st.floats(0.01, 3))
def test_the_law_of_each_round_is_that_of_hedge(seed: int, rate: float, redraw: float) -> None:
    coins = np.random.default_rng(seed)
    rows, prior = coins.random((4, 3)).tolist(), coins.normal(size=3).tolist()
    law = lazy_law(oblivious(rows), 4, prior, rate, redraw, most=9)
    for t in range(4):
        marginal = np.zeros(3)
        for view, mass in law.items():
            marginal[view[t]] += mass
        assert marginal == pytest.approx(hedge(rows[:t], prior, rate))


SPECS = [
    (2, LazyParameters(rate=1.0, redraw=0.05, max_draws=1)),
    (3, LazyParameters(rate=0.5, redraw=0.2, max_draws=2)),
    (4, LazyParameters(rate=0.3, redraw=0.1, max_draws=1)),
    (4, LazyParameters(rate=0.6, redraw=0.2, max_draws=2)),
]


@pytest.mark.parametrize("prior", [(0.0, 0.0), (0.0, -4.0), (0.0, 1.0, -3.0)], ids=str)
@pytest.mark.parametrize(("rounds", "spec"), SPECS)
def test_neighbours_are_as_close_as_is_claimed(
    rounds: int, spec: LazyParameters, prior: tuple[float, ...]
) -> None:
    def law_of(losses: Losses) -> Law:
        return lazy_law(losses, rounds, prior, spec.rate, spec.redraw, spec.max_draws)

    for slack in (0.0, 1e-3, 0.05):
        claim = cost(rounds, spec, slack=slack)
        assert worst_delta(law_of, len(prior), rounds, claim.epsilon) <= claim.delta + 1e-12
    assert worst_delta(law_of, len(prior), rounds, cost(rounds, spec, slack=0).epsilon / 2) > 0


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), replaced=st.integers(0, 2), spec=st.sampled_from([s for _, s in SPECS]))
def test_adaptive_losses_cost_no_more(seed: int, replaced: int, spec: LazyParameters) -> None:
    laws = [
        lazy_law(adaptive(seed, replaced, by), 4, (0.0, 0.0), spec.rate, spec.redraw, spec.max_draws)
        for by in range(4)
    ]
    for slack in (0.0, 0.01):
        claim = cost(4, spec, slack=slack)
        for law, other in itertools.permutations(laws, 2):
            assert view_delta(law, other, claim.epsilon) <= claim.delta + 1e-12


def test_a_draw_that_nothing_hides_gives_losses_away() -> None:
    assert cost(3, LazyParameters(rate=0.1, redraw=0.0, max_draws=2), slack=1e-6).epsilon == math.inf
    laws = [
        lazy_law(oblivious([row, (0, 0)]), 2, (0, 0), 0.1, 0.0, most=2) for row in ((0.0, 0.0), (1.0, 0.0))
    ]
    assert view_delta(laws[1], laws[0], 100.0) > 0


def test_without_draws_nothing_is_paid() -> None:
    assert cost(1, LazyParameters(rate=1.0, redraw=0.0, max_draws=5), slack=1e-6) == (0, 0)
    assert cost(9, LazyParameters(rate=1.0, redraw=0.0, max_draws=0), slack=1e-6) == (0, 0)


@pytest.mark.thorough
@pytest.mark.parametrize("rounds", [2, 30, 1_000, 50_000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_the_largest_rate_is_paid_for_and_games_rarely_run_out(rounds: int, epsilon: float) -> None:
    spec = largest_rate(rounds, epsilon=epsilon, delta=1e-6)
    assert cost(rounds, spec, slack=1e-6).epsilon <= epsilon
    share = 1 - (1 - spec.redraw) * math.exp(-spec.rate)
    assert stats.binom.sf(spec.max_draws, rounds - 1, share) <= rounds**-2
    if rounds >= 1_000:  # where few draws are needed, lazy ones afford a larger rate
        assert spec.rate > exponential_experts.largest_rate(rounds, epsilon=epsilon, delta=1e-6)


@given(share=st.floats(0.01, 0.9), rounds=st.integers(2, 500), part=st.floats(0, 1))
def test_the_chance_of_exhaustion_bound_draws_is_bounded(share: float, rounds: int, part: float) -> None:
    most = int(part * rounds)
    exact = stats.binom.sf(most, rounds - 1, share)
    assert exact <= lazy_experts._exhaustion_bound(rounds, share, most) * (1 + 1e-9)


@given(seed=st.integers(0, 10**6), rate=st.floats(0.1, 3), redraw=st.floats(0, 0.5), most=st.integers(0, 4))
def test_the_expected_regret_is_within_the_bound(seed: int, rate: float, redraw: float, most: int) -> None:
    rows = np.random.default_rng(seed).integers(0, 2, size=(4, 2)).astype(float)
    law = lazy_law(oblivious(rows.tolist()), 4, (0, 0), rate, redraw, most)
    lost = sum(mass * rows[np.arange(4), view].sum() for view, mass in law.items())
    assert lost - rows.sum(axis=0).min() <= regret(4, 2, LazyParameters(rate, redraw, most)) + 1e-9
