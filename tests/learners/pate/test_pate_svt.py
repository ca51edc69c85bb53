"""pate-svt: formulas of Algorithm 2, output distribution, and claim against the printed one and the exact
loss."""

from __future__ import annotations

from math import exp, expm1, log, log1p, sqrt

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutants.figure1.aggregators import KeepsThreshold
from scipy import integrate, stats
from support.laws.learner_laws import view_delta
from support.laws.mechanism_laws import sparse_vector_law
from support.voting import Views, exact_views, greatest_loss, one_point

from arena import InvalidArgument, PrivacyUnit, Training
from arena.messages import UNSTABLE
from arena.testing import check_learner
from learners.mechanisms.accounting import basic_composition, compose_advanced, zcdp_guarantee
from learners.pate.screening import PateSvt, distances, probability_above, threshold_for, tight_scale

SMALL = PateSvt(teachers=9, queries=5, unstable=2, scale=1.0, threshold=2.0)
EVEN = attrs.evolve(SMALL, teachers=8)
ONCE = attrs.evolve(SMALL, unstable=1)

# --- the formulas -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("teachers", range(1, 12))
def test_a_distance_is_how_many_votes_may_change(teachers: int) -> None:
    found = distances(teachers)
    label = [2 * ones >= teachers for ones in range(teachers + 1)]
    for ones in range(teachers + 1):
        reach = range(max(0, ones - found[ones]), min(teachers, ones + found[ones]) + 1)
        assert all(label[near] == label[ones] for near in reach)
        assert found[ones] == max(0, np.ceil(abs(2 * ones - teachers) / 2) - 1)
    assert (np.abs(np.diff(found)) <= 1).all()
    flips = [ones for ones in range(teachers) if label[ones] != label[ones + 1]]
    assert [(found[ones], found[ones + 1]) for ones in flips] == [(0, 0)]


def test_scale_and_threshold_are_those_of_steps_2_and_3() -> None:
    spec = PateSvt(epsilon=0.5, delta=1e-4, unstable=4, queries=50, teachers=10**6)
    surprise = log(2 / 1e-4)
    assert spec.effective_scale == pytest.approx((sqrt(8 * (0.5 + surprise)) + sqrt(8 * surprise)) / 0.5)
    assert spec.effective_threshold == pytest.approx(3 * spec.effective_scale * log(2 * 54 / 1e-4))
    # λ makes T runs (ε, δ/2)-DP by 2T/λ²-zCDP.
    assert zcdp_guarantee(8 / spec.effective_scale**2, slack=1e-4 / 2).epsilon == pytest.approx(0.5)


@pytest.mark.parametrize("threshold", [0.0, 0.7, 3.0, 40.0])
def test_the_probability_of_a_label_at_a_tie(threshold: float) -> None:
    scale = 1.7
    below, above = (
        integrate.quad(
            lambda t: stats.laplace.sf(threshold + t, scale=2 * scale) * stats.laplace.pdf(t, scale=scale),
            *ends,
            points=[-threshold] if ends[0] < -threshold < ends[1] else None,
            epsabs=0,
            epsrel=1e-10,
        )[0]
        for ends in ((-150.0, 0.0), (0.0, 150.0))
    )
    chance = probability_above(threshold, scale)
    assert chance == pytest.approx(below + above, rel=1e-8)
    assert threshold_for(chance, scale) == pytest.approx(threshold, abs=1e-12)


@pytest.mark.parametrize(("unstable", "queries"), [(1, 1), (3, 100), (30, 1_000), (40, 20)])
def test_tight_noise_is_the_least(unstable: int, queries: int) -> None:
    spec = PateSvt(calibration="tight", unstable=unstable, queries=queries, teachers=10**6, epsilon=0.7)
    printed = attrs.evolve(spec, calibration="printed")
    assert spec.claim.epsilon == pytest.approx(0.7, rel=1e-9)
    assert spec.claim.delta == pytest.approx(1e-5, rel=1e-9)
    assert spec.effective_scale < printed.effective_scale
    assert spec.effective_threshold < 0.5 * printed.effective_threshold
    less = attrs.evolve(spec, scale=spec.effective_scale * (1 - 1e-6), threshold=spec.effective_threshold)
    assert less.claim.epsilon > 0.7
    assert tight_scale(spec.runs, 0.7, 0.0) == pytest.approx(2 * spec.runs / 0.7)


def test_too_few_teachers_for_the_threshold_are_refused() -> None:
    with pytest.raises(
        InvalidArgument,
        match=r"more teachers are needed for a threshold of 882\.1: if all of them agree, they are 50 votes "
        r"from a tie, got 101\. Set teachers to 1,767 or more, or raise epsilon or delta\.",
    ):
        PateSvt(teachers=101)
    assert PateSvt(teachers=1_767).effective_threshold <= distances(1_767)[-1]
    with pytest.raises(InvalidArgument, match="Set teachers to 1,767 or more"):
        PateSvt(teachers=1_766)


# --- the claim ----------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    unstable=st.integers(1, 200),
    queries=st.integers(1, 2_000),
    epsilon=st.floats(0.01, 8),
    delta=st.floats(1e-12, 0.1),
)
def test_the_claim_is_at_most_that_of_other_compositions(
    unstable: int, queries: int, epsilon: float, delta: float
) -> None:
    spec = PateSvt(unstable=unstable, queries=queries, epsilon=epsilon, delta=delta, teachers=10**9)
    run, leak = 2 / spec.effective_scale, probability_above(spec.effective_threshold, spec.effective_scale)
    slack = delta - spec.runs * leak
    assert slack > delta / 2
    ways = (
        basic_composition(spec.runs, run),
        compose_advanced(spec.runs, run, slack=slack),
        zcdp_guarantee(spec.runs * run**2 / 2, slack=slack),
    )
    assert spec.claim.epsilon <= min(way.epsilon for way in ways) * (1 + 1e-9)
    assert spec.claim.epsilon < epsilon
    assert spec.claim.delta == pytest.approx(delta, rel=1e-9)
    assert spec.claim.protects == (PrivacyUnit.TRAINING_EXAMPLE,)


def test_the_claim_has_a_larger_delta_if_labels_need_it() -> None:
    claim = PateSvt(teachers=9, scale=1.0, threshold=4.0, unstable=2, delta=1e-3).claim
    leak = (4 * exp(-2) - exp(-4)) / 6
    assert claim.epsilon == 2 * 2.0
    assert claim.delta == pytest.approx(1 - (1 - leak) ** 2)


@pytest.mark.parametrize("spec", [SMALL, EVEN, attrs.evolve(SMALL, unstable=3, scale=0.6)])
@pytest.mark.parametrize("epsilon", [0.0, 1.0, 3.0])
def test_delta_of_the_labels_is_attained(spec: PateSvt, epsilon: float) -> None:
    """For queries where one vote changes the label, only a label distinguishes the worlds."""
    short = (spec.teachers + 1) // 2 - 1
    one, other = (exact_views(spec, [ones] * spec.queries) for ones in (short, short + 1))
    leak = probability_above(spec.effective_threshold, spec.effective_scale)
    assert view_delta(one, other, epsilon) == pytest.approx(-expm1(spec.unstable * log1p(-leak)), rel=1e-12)


@pytest.mark.parametrize(("free", "share"), [(0, 0.21), (1, 0.48), (5, 0.993)])
def test_a_run_attains_its_claim(free: int, share: float) -> None:
    """Nearly 2/λ after five free answers: votes that fall, then one that rises. No label differs."""
    spec = PateSvt(teachers=19, queries=free + 1, unstable=1, scale=2.0, threshold=6.0)
    worlds = [exact_views(spec, [11 - world] * free + [18 + world]) for world in (0, 1)]
    found = greatest_loss(*worlds) * spec.effective_scale / 2
    assert share <= found <= share + 0.01
    assert found <= 1


# --- the distribution ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spec", [SMALL, EVEN, attrs.evolve(SMALL, unstable=1), attrs.evolve(SMALL, unstable=9)]
)
def test_the_distribution_is_that_of_the_mechanism(spec: PateSvt) -> None:
    votes = [8, 5, 4, 0, 6]
    expected = mechanism(spec, votes)
    found = exact_views(spec, votes)
    assert found.keys() == {view for view, p in expected.items() if p}
    for view, chance in found.items():
        assert chance == pytest.approx(expected[view], rel=1e-9, abs=1e-13), view


def test_many_distances_have_a_small_error() -> None:
    spec = PateSvt(teachers=601, queries=4, unstable=2, scale=9.0, threshold=120.0)
    votes = [171, 190, 180, 420]
    for view, chance in exact_views(spec, votes).items():
        assert chance == pytest.approx(mechanism(spec, votes)[view], abs=2e-7)


def mechanism(spec: PateSvt, votes: list[int]) -> Views:
    """The law of the view by the quadrature of `mechanism_laws`, where T is what it pays for."""
    gaps = {
        ones: max(0, -(-abs(2 * ones - spec.teachers) // 2) - 1) - spec.effective_threshold for ones in votes
    }

    def answers(ones: float, hidden: np.ndarray) -> dict[str, np.ndarray]:
        below = stats.laplace.cdf(hidden - gaps[int(ones)], scale=2 * spec.effective_scale)
        return {"T": below, str(int(2 * ones >= spec.teachers)): 1 - below}

    law = sparse_vector_law(
        votes, answers, scale=spec.effective_scale, kinks=list(gaps.values()), halts=spec.unstable
    )
    return {view.replace("T", "?"): p for view, p in law.items()}


# --- play ---------------------------------------------------------------------------------------------------


def test_after_the_last_unstable_answer_nothing_is_released() -> None:
    state = attrs.evolve(SMALL, threshold=4.0, unstable=1, queries=40, scale=0.01).start(
        3, np.random.default_rng(1)
    )
    samples = one_point(9, 9), one_point(9, 5)
    state.train(Training.of(samples, np.array([0, 1, 0])))
    first = state.predict(np.zeros(3))
    assert first[1] == UNSTABLE
    assert state.halted[1]
    for _ in range(38):
        assert state.predict(np.zeros(3))[1] == UNSTABLE
    state.predict(np.zeros(3))
    assert state.halted.all()
    assert not state.predict(np.zeros(3)).any()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "spec",
    [
        SMALL,
        EVEN,
        ONCE,
        PateSvt(calibration="tight", teachers=333),
        KeepsThreshold(),
    ],
    ids=["small", "even", "one", "tight", "keeps"],
)
def test_it_conforms(spec: PateSvt) -> None:
    check_learner(spec)


def test_it_supports_common_random_numbers_with_one_unstable_answer_only() -> None:
    assert PateSvt(unstable=1).common_random_numbers
    assert not PateSvt(unstable=2).common_random_numbers


# --- is fresh noise needed? ---------------------------------------------------------------------------------


ASKED_ABOVE = st.lists(st.tuples(st.integers(5, 8), st.integers(0, 1)), min_size=1, max_size=5)


@pytest.mark.thorough
@settings(max_examples=40)
@given(asked=ASKED_ABOVE, unstable=st.integers(1, 4))
def test_a_kept_threshold_costs_less_than_fresh_ones(asked: list[tuple[int, int]], unstable: int) -> None:
    """(T + 1)/λ instead of 2T/λ, where labels do not differ."""
    spec = KeepsThreshold(queries=5, unstable=unstable, threshold=2.0)
    worlds = [exact_views(spec, [votes + abs(world - up) for votes, up in asked]) for world in (0, 1)]
    assert greatest_loss(*worlds) <= (unstable + 1) / spec.effective_scale + 1e-9


def test_a_kept_threshold_leaks_less() -> None:
    kept = KeepsThreshold(queries=3, unstable=3)
    fresh = PateSvt(teachers=9, queries=3, unstable=3, scale=1.0, threshold=4.0)
    leaks = [
        view_delta(exact_views(spec, [4] * 3), exact_views(spec, [5] * 3), 3.0) for spec in (kept, fresh)
    ]
    assert 0.5 * leaks[1] < leaks[0] < leaks[1]
    assert fresh.claim.delta == pytest.approx(leaks[1])
