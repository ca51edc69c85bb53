"""pate-gaussian: both calibrations, output distribution, and claim against the exact loss."""

from __future__ import annotations

from math import log, sqrt

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutants.refuting_adversaries import AskTeachers
from mutants.scores import total
from scipy import stats
from support.laws.learner_laws import view_delta
from support.voting import exact_views, one_point

from arena import Training, Voting
from arena.testing import check_learner
from audits.exact_loss import exact as exactly
from learners.mechanisms.accounting import zcdp_guarantee
from learners.mechanisms.noise import gaussian_delta
from learners.pate.independent_answers import PateGaussian, sigma_of_step_1

SMALL = PateGaussian(teachers=9, queries=3, sigma=1.5)
EVEN = attrs.evolve(SMALL, teachers=8)


@given(epsilon=st.floats(1e-4, 50), delta=st.floats(1e-15, 0.9), answers=st.integers(1, 10**6))
def test_printed_sigma_solves_step_1(epsilon: float, delta: float, answers: int) -> None:
    sigma = sigma_of_step_1(epsilon=epsilon, delta=delta, answers=answers)
    spent = sqrt(2 * answers * log(1 / delta)) / sigma + answers / (2 * sigma**2)
    assert spent == pytest.approx(epsilon, rel=1e-9)


@settings(max_examples=40)
@given(epsilon=st.floats(0.01, 10), at=st.floats(1e-12, 0.1), queries=st.integers(1, 5_000))
def test_analytic_sigma_is_the_least(epsilon: float, at: float, queries: int) -> None:
    spec = PateGaussian(epsilon=epsilon, delta=at, queries=queries)
    assert spec.claim.epsilon == epsilon
    assert spec.claim.delta <= at
    assert attrs.evolve(spec, sigma=spec.effective_sigma * (1 - 1e-6)).claim.delta > at
    printed = attrs.evolve(spec, calibration="printed")
    assert printed.effective_sigma > spec.effective_sigma
    assert printed.claim.delta < at


def test_by_zcdp_the_printed_sigma_costs_epsilon_and_the_analytic_one_more() -> None:
    printed, analytic = (PateGaussian(epsilon=0.7, calibration=name) for name in ("printed", "analytic"))
    by_step_1, by_analysis = (
        zcdp_guarantee(learner.queries / (2 * learner.effective_sigma**2), slack=learner.delta).epsilon
        for learner in (printed, analytic)
    )
    assert by_step_1 == pytest.approx(0.7, rel=1e-12)
    assert printed.claim.delta < 0.1 * printed.delta
    assert by_analysis > 0.7 * 1.1


def test_the_claim_follows_sigma() -> None:
    claim = PateGaussian(sigma=20.0, queries=30, epsilon=0.7).claim
    assert claim.delta == gaussian_delta(epsilon=0.7, sigma=20.0, sensitivity=sqrt(30))


@pytest.mark.parametrize("spec", [SMALL, EVEN])
def test_the_distribution_is_that_of_normal_noise_and_a_tie_is_a_fair_coin(spec: PateGaussian) -> None:
    single = attrs.evolve(spec, queries=1)
    for ones in range(spec.teachers + 1):
        one = stats.norm.sf(spec.teachers / 2, loc=ones, scale=1.5)
        assert exact_views(single, [ones]) == pytest.approx({"0": 1 - one, "1": one})
    assert exact_views(attrs.evolve(EVEN, queries=1), [4])["1"] == 0.5


@pytest.mark.thorough
@pytest.mark.parametrize(("queries", "share"), [(1, 0.71), (3, 0.46), (6, 0.36)])
def test_an_exact_audit_attains_a_share_of_the_claim(queries: int, share: float) -> None:
    """Only a share of the claimed δ is attained, since answers are bits and the claim is for numbers."""
    spec = PateGaussian(teachers=9, queries=queries, epsilon=0.5, delta=1e-2)
    lost = []
    for ones in range(9):
        asks = AskTeachers(one_point(9, ones), one_point(9, ones + 1), total, queries=(0.0,) * queries)
        found = exactly(spec, asks, Voting())
        assert not found.refuted
        lost.append(found.delta.middle)
        votes = [ones] * queries, [ones + 1] * queries
        by_law = [
            view_delta(exact_views(spec, p), exact_views(spec, q), 0.5) for p, q in (votes, votes[::-1])
        ]
        assert lost[-1] == pytest.approx(max(by_law), abs=1e-12)
    assert share <= max(lost) / spec.claim.delta <= share + 0.01


def test_a_plain_game_equals_a_batch() -> None:
    state = SMALL.start(4, np.random.default_rng(7))
    state.train(Training.of((one_point(9, 4), one_point(9, 5)), np.array([0, 1, 1, 0])))
    rng = np.random.default_rng(7)
    for _ in range(3):
        told = state.predict(np.zeros(4)).tolist()
        assert told == [ones + 1.5 * rng.standard_normal() >= 9 / 2 for ones in (4, 5, 5, 4)]
    assert state.halted.all()


@pytest.mark.thorough
@pytest.mark.parametrize("spec", [SMALL, EVEN, PateGaussian()], ids=["small", "even", "default"])
def test_it_conforms_and_supports_common_random_numbers(spec: PateGaussian) -> None:
    assert spec.common_random_numbers
    check_learner(spec)
