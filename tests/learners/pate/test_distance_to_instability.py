"""distance-to-instability: Algorithm 7 and its privacy."""

from __future__ import annotations

from itertools import pairwise
from math import exp, log

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.laws.voting_laws import Views, check_views, delta, law_of_views, one_point, views
from support.statistical import expect_rejection, statistical

from arena import InvalidArgument, Sample, Training
from arena.replies import UNSTABLE
from arena.testing import check_learner
from learners.mechanisms.accounting import optimal_composition
from learners.mechanisms.noise.laplace_noise import laplace
from learners.pate.distance_to_instability import DistanceToInstability

RATE = 1e-8
SMALL = DistanceToInstability(teachers=9, queries=3, epsilon=0.8, threshold=2.0)
EVEN = attrs.evolve(SMALL, teachers=8)
CLEAR_AND_TIED = Sample([0.0, 1.0], [1, 1], [5, 4])


def exact(spec: DistanceToInstability, votes: list[int]) -> Views:
    return law_of_views(spec.law(one_point(spec.teachers, 1)), votes)


def test_the_threshold_is_the_paper_s_and_its_delta_is_halved() -> None:
    spec = DistanceToInstability(epsilon=2.0, delta=1e-3)
    assert spec.effective_threshold == pytest.approx(log(1e3) / 2)
    assert (spec.claim.epsilon, spec.claim.delta) == (2.0, pytest.approx(1e-3 / 2))


@pytest.mark.parametrize("spec", [SMALL, EVEN])
def test_the_claim_of_one_answer_is_exact(spec: DistanceToInstability) -> None:
    """At ε the largest δ over votes that differ by one is the claimed one; below ε it is larger."""
    single = attrs.evolve(spec, queries=1)
    laws = [exact(single, [ones]) for ones in range(spec.teachers + 1)]
    pairs = [*pairwise(laws), *pairwise(laws[::-1])]
    claim = single.claim
    assert claim.epsilon == spec.epsilon
    assert max(delta(*pair, claim.epsilon) for pair in pairs) == pytest.approx(claim.delta, rel=1e-12)
    assert max(delta(*pair, 0.5 * claim.epsilon) for pair in pairs) > claim.delta


VOTES = st.integers(0, 8)


@settings(max_examples=60)
@given(
    asked=st.lists(st.tuples(VOTES, st.integers(0, 1)), min_size=3, max_size=3),
    slack=st.sampled_from([0.0, 1e-6, 0.1]),
)
def test_the_claim_holds_for_the_exact_distribution(asked: list[tuple[int, int]], slack: float) -> None:
    spec = attrs.evolve(SMALL, slack=slack)
    one, other = (exact(spec, [votes + abs(up - world) for votes, up in asked]) for world in (0, 1))
    assert delta(one, other, spec.claim.epsilon) <= spec.claim.delta + 1e-12


def test_answers_compose() -> None:
    told = exp(-2.0 * 0.8) / 2
    assert SMALL.claim.epsilon == pytest.approx(3 * 0.8)
    assert SMALL.claim.delta == pytest.approx(1 - (1 - told) ** 3)
    many = DistanceToInstability(queries=500, epsilon=0.2, delta=1e-4, slack=1e-6, teachers=101)
    expected = optimal_composition(500, 0.2, 1e-4 / 2, slack=1e-6)
    assert (many.claim.epsilon, many.claim.delta) == pytest.approx(expected)
    assert expected.epsilon < 0.4 * 500 * 0.2
    # The labels of three ties, where nothing else differs, cost what is claimed of them.
    assert delta(exact(SMALL, [4] * 3), exact(SMALL, [5] * 3), 2.4) == pytest.approx(SMALL.claim.delta)


@pytest.mark.parametrize("spec", [SMALL, EVEN])
def test_the_distribution_is_that_of_laplace_noise(spec: DistanceToInstability) -> None:
    single = attrs.evolve(spec, queries=1)
    for ones in range(spec.teachers + 1):
        distance = max(0, -(-abs(2 * ones - spec.teachers) // 2) - 1)
        told = stats.laplace.sf(spec.effective_threshold - distance, scale=1 / spec.epsilon)
        label = str(int(ones >= spec.teachers / 2))
        assert exact(single, [ones]) == pytest.approx({label: told, "?": 1 - told})


@statistical(rate=RATE)
def test_answers_follow_the_distribution() -> None:
    seen = views(SMALL, CLEAR_AND_TIED, [1.0, 0.0, 1.0], games=400_000)
    check_views(seen, exact(SMALL, [9, 5, 9]), rate=RATE, effect=0.01)


@statistical(rate=2 * RATE)
def test_noise_of_nine_tenths_the_scale_is_detected() -> None:
    seen = views(attrs.evolve(SMALL, epsilon=0.8 / 0.9), CLEAR_AND_TIED, [1.0, 0.0, 1.0], games=400_000)
    with expect_rejection():
        check_views(seen, exact(SMALL, [9, 5, 9]), rate=RATE, effect=0.01)


def test_a_batch_equals_plain_games_and_halts() -> None:
    state = SMALL.start(2, np.random.default_rng(7))
    state.train(Training.of((one_point(9, 9), one_point(9, 4)), np.array([0, 1])))
    rng = np.random.default_rng(7)
    for _ in range(3):
        assert not state.halted.any()
        noise = laplace(rng, np.empty(2), 1 / 0.8)
        told = [4 + noise[0] > 2.0, 0 + noise[1] > 2.0]
        assert state.predict(np.zeros(2)).tolist() == [1 if told[0] else UNSTABLE, 0 if told[1] else UNSTABLE]
    assert state.halted.all()
    assert not state.predict(np.zeros(2)).any()


@pytest.mark.parametrize("spec", [SMALL, EVEN, DistanceToInstability()], ids=["small", "even", "default"])
def test_it_conforms_and_supports_common_random_numbers(spec: DistanceToInstability) -> None:
    assert spec.common_random_numbers
    check_learner(spec)


def test_too_few_teachers_for_the_threshold_are_refused() -> None:
    with pytest.raises(
        InvalidArgument, match=r"for a threshold of 115\.1: .* got 101\. Set teachers to 233 or"
    ):
        DistanceToInstability(epsilon=0.1)
    DistanceToInstability(epsilon=0.1, teachers=233)
