from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from learners.mechanisms.accounting import (
    amplify_by_subsampling,
    basic_composition,
    bbl_subsampling_rate,
    best_composition,
    compose_advanced,
    label_boost_guarantee,
    optimal_composition,
    zcdp_guarantee,
)

EPSILONS = st.floats(0, 3)
DELTAS = st.floats(0, 1)
RATES = st.floats(1e-6, 1)


def test_basic_composition_adds() -> None:
    assert basic_composition(7, 0.5, 1e-6) == pytest.approx((3.5, 7e-6))
    assert basic_composition(1, 0.3) == (0.3, 0)
    assert basic_composition(np.int64(2), 0.25).epsilon == 0.5


def test_advanced_composition_has_both_terms() -> None:
    spread, drift = math.sqrt(200 * math.log(1e6)) * 0.1, 100 * 0.1 * (math.exp(0.1) - 1)
    assert compose_advanced(100, 0.1, 1e-9, slack=1e-6) == pytest.approx((spread + drift, 100e-9 + 1e-6))
    assert compose_advanced(3, 0.1, slack=1.0) == pytest.approx((3 * 0.1 * (math.exp(0.1) - 1), 1.0))


def test_the_second_term_is_needed() -> None:
    # The exact δ of k randomised responses exceeds the slack at the printed ε, and not at the full one.
    k, epsilon, slack = 40, 2.0, 0.2
    full = compose_advanced(k, epsilon, slack=slack).epsilon
    printed = full - k * epsilon * math.expm1(epsilon)
    assert _delta_of_responses(k, epsilon, printed) > slack > _delta_of_responses(k, epsilon, full)


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.5), (10, 0.2), (200, 0.05)])
def test_advanced_composition_holds_for_randomised_responses(k: int, epsilon: float) -> None:
    for slack in (1e-8, 1e-3, 0.3):
        total = compose_advanced(k, epsilon, slack=slack)
        assert _delta_of_responses(k, epsilon, total.epsilon) <= total.delta


@given(k=st.integers(1, 10_000), epsilon=EPSILONS, delta=DELTAS, slack=st.floats(1e-12, 1))
def test_composed_is_the_better_of_both(k: int, epsilon: float, delta: float, slack: float) -> None:
    options = [basic_composition(k, epsilon, delta), compose_advanced(k, epsilon, delta, slack=slack)]
    best = best_composition(k, epsilon, delta, slack=slack)
    assert best in options
    assert best.epsilon == min(option.epsilon for option in options)


@pytest.mark.parametrize(("k", "epsilon"), [(1, 2.0), (2, 0.7), (7, 0.3), (200, 0.05), (600, 0.5)])
@pytest.mark.parametrize("slack", [1e-12, 1e-5, 0.1])
def test_optimal_composition_is_that_of_randomised_responses(k: int, epsilon: float, slack: float) -> None:
    total = optimal_composition(k, epsilon, slack=slack)
    assert total.delta == pytest.approx(slack)
    lies = np.arange((k + 1) // 2)
    chances = stats.binom.pmf(lies, k, 1 / (1 + math.exp(epsilon)))
    # By losses, without the differences that cost digits.
    excess = chances * -np.expm1(np.minimum(total.epsilon - (k - 2 * lies) * epsilon, 0))
    assert excess.sum() == pytest.approx(slack, rel=1e-6)
    if slack == 0.1:
        assert _delta_of_responses(k, epsilon, total.epsilon) == pytest.approx(slack, rel=1e-9)


@given(k=st.integers(1, 2_000), epsilon=st.floats(1e-4, 3), delta=DELTAS, slack=st.floats(1e-12, 0.5))
def test_no_other_composition_is_sharper(k: int, epsilon: float, delta: float, slack: float) -> None:
    best = optimal_composition(k, epsilon, delta, slack=slack)
    assert best.epsilon <= best_composition(k, epsilon, slack=slack).epsilon * (1 + 1e-9)
    assert best.epsilon <= zcdp_guarantee(k * epsilon**2 / 2, slack=slack).epsilon * (1 + 1e-9)
    assert best.delta == pytest.approx(1 - (1 - delta) ** k * (1 - slack))
    assert best.delta <= k * delta + slack + 1e-12


def test_optimal_composition_at_its_ends() -> None:
    assert optimal_composition(5, 0.3, slack=0.0) == (1.5, 0)
    assert optimal_composition(5, 0.3, 1e-20, slack=0.0) == pytest.approx((1.5, 5e-20))
    assert optimal_composition(5, math.inf, slack=0.1).epsilon == math.inf
    assert optimal_composition(5, 0.0, slack=0.1).epsilon == 0
    assert optimal_composition(1, 0.1, slack=0.9).epsilon == 0
    assert optimal_composition(2, 800.0, 1.0, slack=1e-9) == pytest.approx((1600.0, 1.0))


def test_concentrated_privacy_converts_as_printed() -> None:
    rho = 0.02
    assert zcdp_guarantee(rho, slack=1e-6).epsilon == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1e6)))
    assert zcdp_guarantee(rho, slack=1.0) == (rho, 1.0)


@given(epsilon=EPSILONS, delta=DELTAS, rate=RATES)
def test_amplification_by_subsampling(epsilon: float, delta: float, rate: float) -> None:
    sampled = amplify_by_subsampling(epsilon, delta, rate=rate)
    assert math.exp(sampled.epsilon) == pytest.approx(1 + rate * (math.exp(epsilon) - 1))
    assert sampled.epsilon <= epsilon * (1 + 1e-12)
    assert sampled.delta == rate * delta


@pytest.mark.parametrize("sample", [1, 2, 5])
def test_amplification_is_exact_for_a_response_about_one_record(sample: int) -> None:
    # The record that differs is in the sample with probability rate; only then does the law change.
    size, epsilon = 5, 1.3
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    subsets = list(itertools.combinations(range(size), sample))
    laws = []
    for bit in (0, 1):
        yes = [(truth if bit else 1 - truth) if 0 in subset else 1 - truth for subset in subsets]
        laws.append(sum(yes) / len(yes))
    lost = max(math.log(laws[1] / laws[0]), math.log((1 - laws[0]) / (1 - laws[1])))
    assert lost == pytest.approx(amplify_by_subsampling(epsilon, rate=sample / size).epsilon)


def test_amplification_survives_extremes() -> None:
    assert amplify_by_subsampling(1000, rate=0.01).epsilon == pytest.approx(1000 + math.log(0.01))
    assert amplify_by_subsampling(math.inf, rate=0.5).epsilon == math.inf
    assert amplify_by_subsampling(1e-12, rate=1e-6).epsilon == pytest.approx(1e-18)
    assert amplify_by_subsampling(0.7, 0.1, rate=1.0) == pytest.approx((0.7, 0.1))


def amplify_as_printed(epsilon: float, delta: float, *, rate: float) -> tuple[float, float]:
    """Claim 2.9 of Naor, Nissim, Stemmer, Yan (NeurIPS 2023; 2.7 in the first version), for ε* ≤ 1.

    A subset of rate ε*/(3 + e^ε) costs (ε*, 4ε*/(3 + e^ε)·δ).
    """
    target = rate * (3 + math.exp(epsilon))
    assert target <= 1 + 1e-12
    return target, 4 * rate * delta


@given(epsilon=EPSILONS, delta=DELTAS, target=st.floats(1e-6, 1))
def test_the_printed_claim_is_weaker(epsilon: float, delta: float, target: float) -> None:
    rate = target / (3 + math.exp(epsilon))
    printed = amplify_as_printed(epsilon, delta, rate=rate)
    assert printed == pytest.approx((target, 4 * target / (3 + math.exp(epsilon)) * delta))
    exact = amplify_by_subsampling(epsilon, delta, rate=rate)
    assert exact.epsilon <= printed[0]
    assert exact.delta <= printed[1]


def test_label_boost_adds_three() -> None:
    assert label_boost_guarantee(1, 1e-6) == pytest.approx((4, 4 * math.e * 1e-6))
    assert label_boost_guarantee(0.5) == (3.5, 0)


@given(epsilon=st.floats(1e-3, 1))
def test_the_rate_of_generic_bbl_undoes_label_boost(epsilon: float) -> None:
    rate = bbl_subsampling_rate(epsilon)
    assert rate == pytest.approx(epsilon / (3 + math.exp(epsilon + 4)))
    boosted = label_boost_guarantee(epsilon + 1)
    assert amplify_as_printed(*boosted, rate=rate)[0] == pytest.approx(epsilon)
    assert amplify_by_subsampling(*boosted, rate=rate).epsilon <= epsilon


def _delta_of_responses(k: int, epsilon: float, total: float) -> float:
    """The exact δ at `total` of k independent randomised responses, each ε-DP."""
    heads = np.arange(k + 1)
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    one, other = stats.binom.pmf(heads, k, truth), stats.binom.pmf(heads, k, 1 - truth)
    return float(np.maximum(0, one - math.exp(total) * other).sum())
