"""sparse-vector, sparse-vector-printed and distance-to-instability; the play of all aggregators."""

from __future__ import annotations

from itertools import pairwise
from math import exp, log, sqrt

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutants.figure1.aggregators import KeepsThreshold
from mutants.refuting_adversaries import AskTeachers
from mutants.scores import labels_one_less_zero
from scipy import stats
from support.laws.learner_laws import view_delta
from support.simple_players import run_audit
from support.statistical import check_views, expect_rejection, statistical
from support.voting import exact_views, greatest_loss, naive_screening, one_point, views

from arena import Sample, Training, Voting
from arena.messages import UNSTABLE
from arena.testing import check_learner
from audits.exact_loss import exact as exactly
from learners.mechanisms.accounting import best_composition, optimal_composition
from learners.mechanisms.noise import laplace
from learners.pate.independent_answers import DistanceToInstability, PateGaussian
from learners.pate.screening import PateSvt, Screening, SparseVector, SparseVectorPrinted
from learners.pate.voters import Voters

RATE = 1e-8
SMALL = SparseVector(teachers=9, queries=5, unstable=2, scale=1.0, threshold=2.0)
PRINTED = SparseVectorPrinted(teachers=9, queries=5, unstable=2, scale=1.0, threshold=2.0)
CLEAR_AND_TIED = Sample([0.0, 1.0], [1, 1], [5, 4])
ASKS = [1.0, 0.0, 1.0, 0.0]
ITS_VOTES = [9, 5, 9, 5]


# --- formulas and claims ------------------------------------------------------------------------------------


def test_scales_are_those_of_the_listings() -> None:
    spec = SparseVector(epsilon=0.5, delta=1e-4, unstable=4)
    assert spec.effective_scale == pytest.approx(sqrt(32 * 4 * log(1e4)) / 0.5)
    printed = SparseVectorPrinted(epsilon=0.5, delta=1e-4, unstable=4)
    assert printed.effective_scale == pytest.approx(sqrt(32 * 4 * log(1e4) / 0.5))
    assert spec.effective_threshold == 250.0


def test_the_claim_is_the_cost_of_the_noise_in_use() -> None:
    spec = SparseVector(epsilon=1.0, delta=1e-6, unstable=50, queries=1_000)
    run_of_one = 2 / spec.effective_scale
    assert spec.claim.epsilon == optimal_composition(50, run_of_one, slack=1e-6).epsilon
    assert spec.claim.curve.epsilon(1e-6) == pytest.approx(spec.claim.epsilon)
    assert spec.claim.epsilon < best_composition(50, run_of_one, slack=1e-6).epsilon < 1.0
    # No more thresholds are used than answers given.
    assert (
        attrs.evolve(spec, queries=3).claim.epsilon == optimal_composition(3, run_of_one, slack=1e-6).epsilon
    )


def test_the_printed_one_claims_lemma_45() -> None:
    claim = SparseVectorPrinted(epsilon=0.3, delta=1e-4).claim
    assert (claim.epsilon, claim.delta) == (0.3, 1e-4)
    claim = SparseVectorPrinted(scale=10.0, delta=1e-4, unstable=2).claim
    assert claim.epsilon == pytest.approx(64 * log(1e4) / 100)


@pytest.mark.thorough
@settings(max_examples=60)
@given(
    asked=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 1)), min_size=1, max_size=5),
    unstable=st.integers(1, 3),
    at=st.sampled_from([1e-9, 0.05]),
)
def test_the_claim_holds_for_the_exact_distribution(
    asked: list[tuple[int, int]], unstable: int, at: float
) -> None:
    spec = attrs.evolve(SMALL, unstable=unstable, delta=at)
    one, other = ([votes + abs(up - world) for votes, up in asked] for world in (0, 1))
    pair = exact_views(spec, one), exact_views(spec, other)
    assert view_delta(*pair, spec.claim.epsilon) <= at + 1e-12
    if spec.claim.curve is not None:
        assert view_delta(*pair, 1.0) <= spec.claim.curve.deltas(np.array([1.0]))[0] + 1e-12
    assert greatest_loss(*pair) <= 2 * unstable / spec.effective_scale + 1e-9


SCREENED = {
    "unstable": st.integers(1, 3),
    "scale": st.sampled_from([0.4, 1.0, 3.0]),
    "delta": st.sampled_from([1e-9, 0.3]),
    "threshold": st.just(2.0),
}
OTHERS = {
    PateGaussian: {"sigma": st.floats(0.5, 8), "epsilon": st.floats(1e-3, 3)},
    DistanceToInstability: {"slack": st.sampled_from([0.0, 1e-6, 0.1]), "threshold": st.just(2.0)},
    PateSvt: SCREENED,
    KeepsThreshold: SCREENED,
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", OTHERS)
@settings(max_examples=60)
@given(data=st.data())
def test_the_claims_of_the_others_hold_for_the_exact_distribution(
    kind: type[Voters], data: st.DataObject
) -> None:
    """For all votes that differ by one, up or down."""
    asked = data.draw(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 1)), min_size=1, max_size=5))
    spec = kind(teachers=9, queries=len(asked), **data.draw(st.fixed_dictionaries(OTHERS[kind])))
    pair = [exact_views(spec, [votes + abs(up - world) for votes, up in asked]) for world in (0, 1)]
    for p, q in (pair, pair[::-1]):
        assert view_delta(p, q, spec.claim.epsilon) <= spec.claim.delta + 1e-12


# --- play of all aggregators --------------------------------------------------------------------------------

SVT = PateSvt(teachers=9, queries=5, unstable=2, scale=1.0, threshold=2.0)
GAUSSIAN = PateGaussian(teachers=9, queries=3, sigma=1.5)
NEAR = DistanceToInstability(teachers=9, queries=3, epsilon=0.8, threshold=2.0)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("spec", "other", "asked", "votes"),
    [
        (SVT, attrs.evolve(SVT, unstable=3), ASKS, ITS_VOTES),
        (PRINTED, SMALL, ASKS, ITS_VOTES),
        (GAUSSIAN, attrs.evolve(GAUSSIAN, sigma=1.35), [1.0, 0.0, 0.0], [9, 5, 5]),
        (NEAR, attrs.evolve(NEAR, epsilon=0.8 / 0.9), [1.0, 0.0, 1.0], [9, 5, 9]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
@statistical(rate=3 * RATE)
def test_answers_follow_the_distribution_and_not_another(
    spec: Voters, other: Voters, asked: list[float], votes: list[int]
) -> None:
    seen = views(spec, CLEAR_AND_TIED, asked, games=400_000)
    check_views(seen, exact_views(spec, votes), rate=RATE, effect=0.01)
    with expect_rejection():
        check_views(seen, exact_views(other, votes), rate=RATE, effect=0.01)


@pytest.mark.thorough
@pytest.mark.parametrize("spec", [SVT, SMALL, PRINTED], ids=lambda spec: spec.name)
@statistical(rate=2 * RATE)
def test_batches_and_plain_games_follow_the_distribution(spec: Screening, rng: np.random.Generator) -> None:
    law = exact_views(spec, ITS_VOTES)
    check_views(views(spec, CLEAR_AND_TIED, ASKS, games=400_000), law, rate=RATE, effect=0.01)
    options = {"refreshed": spec is not PRINTED, "tells": spec is SVT}
    settings = {"teachers": 9, "scale": 1.0, "threshold": 2.0, "unstable": 2, **options}
    plain = [
        naive_screening(ITS_VOTES, lambda scale: float(rng.laplace(scale=scale)), **settings)
        for _ in range(70_000)
    ]
    check_views(plain, law, rate=RATE, effect=0.022)


# --- distributions ------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize(
    "spec", [SMALL, PRINTED, SparseVector(teachers=101)], ids=["small", "printed", "default"]
)
def test_they_conform(spec: Screening) -> None:
    check_learner(spec)


def test_the_printed_one_supports_common_random_numbers() -> None:
    assert SparseVectorPrinted(unstable=9).common_random_numbers
    assert not SparseVector(unstable=2).common_random_numbers
    assert SparseVector(unstable=1).common_random_numbers


# --- the printed one is refuted -----------------------------------------------------------------------------

# Three teachers, of one mind or one against two: 1 or 0 votes from a tie, asked whether it is more than 0.
AGREE, ONE_AGAINST = Sample([0.0], [1], [3]), Sample([0.0, 0.0], [1, 0], [2, 1])


def asks(queries: int) -> AskTeachers:
    return AskTeachers(ONE_AGAINST, AGREE, labels_one_less_zero, queries=(0.0,) * queries)


def law_of_printed(epsilon: float, at: float, queries: int) -> SparseVectorPrinted:
    return SparseVectorPrinted(
        epsilon=epsilon, delta=at, unstable=1, teachers=3, threshold=0.0, queries=queries
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("epsilon", "at", "times"), [(1e-3, 1e-6, 180), (0.01, 1e-6, 77), (0.02, 1e-9, 1e4), (0.1, 1e-9, 45)]
)
def test_lemma_45_is_false_for_small_epsilon(epsilon: float, at: float, times: float) -> None:
    """The exact δ is `times` times the claimed one; the corrected algorithm keeps its claim."""
    found = exactly(law_of_printed(epsilon, at, 30), asks(30), Voting())
    assert found.refuted
    assert found.delta.lower > times * at
    correct = SparseVector(epsilon=epsilon, delta=at, unstable=1, teachers=3, threshold=0.0, queries=30)
    assert not exactly(correct, asks(30), Voting()).refuted


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_for_large_epsilon_its_claim_holds(epsilon: float) -> None:
    assert not exactly(law_of_printed(epsilon, 1e-9, 40), asks(40), Voting()).refuted


@pytest.mark.thorough
def test_games_refute_it() -> None:
    learner = law_of_printed(1e-3, 1e-6, 10)
    assert run_audit(learner, asks(10), Voting(), games=4_000_000, confidence=1 - 1e-6).refuted


EVEN = attrs.evolve(NEAR, teachers=8)


def test_the_threshold_is_the_paper_s_and_its_delta_is_halved() -> None:
    spec = DistanceToInstability(epsilon=2.0, delta=1e-3)
    assert spec.effective_threshold == pytest.approx(log(1e3) / 2)
    assert (spec.claim.epsilon, spec.claim.delta) == (2.0, pytest.approx(1e-3 / 2))


@pytest.mark.parametrize("spec", [NEAR, EVEN])
def test_the_claim_of_one_answer_is_exact(spec: DistanceToInstability) -> None:
    """At ε the largest δ over votes that differ by one is the claimed one; below ε it is larger."""
    single = attrs.evolve(spec, queries=1)
    laws = [exact_views(single, [ones]) for ones in range(spec.teachers + 1)]
    pairs = [*pairwise(laws), *pairwise(laws[::-1])]
    claim = single.claim
    assert claim.epsilon == spec.epsilon
    assert max(view_delta(*pair, claim.epsilon) for pair in pairs) == pytest.approx(claim.delta, rel=1e-12)
    assert max(view_delta(*pair, 0.5 * claim.epsilon) for pair in pairs) > claim.delta


def test_answers_compose() -> None:
    told = exp(-2.0 * 0.8) / 2
    assert NEAR.claim.epsilon == pytest.approx(3 * 0.8)
    assert NEAR.claim.delta == pytest.approx(1 - (1 - told) ** 3)
    many = DistanceToInstability(queries=500, epsilon=0.2, delta=1e-4, slack=1e-6, teachers=101)
    expected = optimal_composition(500, 0.2, 1e-4 / 2, slack=1e-6)
    assert (many.claim.epsilon, many.claim.delta) == pytest.approx(expected)
    assert expected.epsilon < 0.4 * 500 * 0.2
    # The labels of three ties, where nothing else differs, cost what is claimed of them.
    assert view_delta(
        exact_views(NEAR, [4] * 3),
        exact_views(NEAR, [5] * 3),
        2.4,
    ) == pytest.approx(NEAR.claim.delta)


@pytest.mark.parametrize("spec", [NEAR, EVEN])
def test_the_distribution_is_that_of_laplace_noise(spec: DistanceToInstability) -> None:
    single = attrs.evolve(spec, queries=1)
    for ones in range(spec.teachers + 1):
        distance = max(0, -(-abs(2 * ones - spec.teachers) // 2) - 1)
        told = stats.laplace.sf(spec.effective_threshold - distance, scale=1 / spec.epsilon)
        label = str(int(ones >= spec.teachers / 2))
        assert exact_views(single, [ones]) == pytest.approx({label: told, "?": 1 - told})


def test_a_batch_equals_plain_games_and_halts() -> None:
    state = NEAR.start(2, np.random.default_rng(7))
    state.train(Training.of((one_point(9, 9), one_point(9, 4)), np.array([0, 1])))
    rng = np.random.default_rng(7)
    for _ in range(3):
        assert not state.halted.any()
        noise = laplace(rng, np.empty(2), 1 / 0.8)
        told = [4 + noise[0] > 2.0, 0 + noise[1] > 2.0]
        assert state.predict(np.zeros(2)).tolist() == [1 if told[0] else UNSTABLE, 0 if told[1] else UNSTABLE]
    assert state.halted.all()
    assert not state.predict(np.zeros(2)).any()


@pytest.mark.thorough
@pytest.mark.parametrize("spec", [NEAR, EVEN, DistanceToInstability()], ids=["small", "even", "default"])
def test_it_conforms_and_supports_common_random_numbers(spec: DistanceToInstability) -> None:
    assert spec.common_random_numbers
    check_learner(spec)
