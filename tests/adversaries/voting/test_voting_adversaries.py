"""Adversaries under Voting follow the rules, find what they search for, and tell the worlds apart."""

from __future__ import annotations

from itertools import pairwise
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import binom
from support.simple_players import run_audit
from support.statistical import check_counts, expect_rejection, statistical
from support.voting import Screened, Silent

from adversaries.common import answer_likelihood as likelihood
from adversaries.common.answer_likelihood import answer_laws
from adversaries.voting.repeated_queries import (
    Canary,
    RepeatPoint,
    SmallMargin,
    find_best_margin,
    find_canary,
    find_free_points,
)
from adversaries.voting.vote_inference import (
    COPY,
    DisagreementWalk,
    VoteInference,
    find_disputed_region,
    find_inference_case,
)
from adversaries.voting.vote_swaps import (
    build_ladder_sample,
    choose_best_swap,
    find_narrowest_swap,
    plant_example,
    simulate_votes,
)
from arena import Adversary, InvalidArgument, Learner, Sample, Unsupported, Voting, play
from arena.engine import Played
from arena.testing import check_adversary
from audits.exact_loss.exact_audit import exact
from learners.mechanisms.noise import gaussian_delta
from learners.pate.independent_answers import DistanceToInstability, PateGaussian
from learners.pate.screening import PateSvt
from learners.pate.teacher import Teacher
from learners.releases.counts import LaplaceCount


def gaussian(teacher: str = "thresholds", **settings: Any) -> PateGaussian:
    return PateGaussian(teacher=Teacher.from_text(teacher), **{"teachers": 11, "queries": 6} | settings)


SPECS: list[Learner] = [
    gaussian(teachers=101, queries=100),
    gaussian(teachers=10),
    gaussian(teachers=1),
    gaussian("thresholds:1..5"),
    gaussian("points:1..4"),
    gaussian("rectangles:4x4"),
    gaussian("LogisticRegression:3", teachers=5),
    PateSvt(teachers=151, queries=12, epsilon=4.0, calibration="tight"),
    DistanceToInstability(teachers=31),
    Screened(teachers=11, queries=12),
    Silent(teachers=11, queries=6),
]
KINDS: list[type[Adversary]] = [SmallMargin, RepeatPoint, DisagreementWalk, Canary, VoteInference]


def by_world(played: Played) -> tuple[np.ndarray, np.ndarray]:
    return played.score[~played.worlds], played.score[played.worlds]


@pytest.mark.thorough
@pytest.mark.parametrize("learner", SPECS, ids=lambda spec: f"{spec.name} {spec.teacher} {spec.teachers}")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_adversary_conforms_against_every_aggregator(kind: type[Adversary], learner: Learner) -> None:
    check_adversary(kind(learner=learner), learner, Voting())  # type: ignore[call-arg]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("learner", [gaussian(sigma=1.0), Screened(teachers=11), Silent(sigma=1.0)], ids=repr)
def test_scores_are_higher_in_world_1(kind: type[Adversary], learner: Learner) -> None:
    in_0, in_1 = by_world(play(learner, kind(learner=learner), Voting(), games=4_000, seed=1))  # type: ignore[call-arg]
    assert in_1.mean() - in_0.mean() > 5 * (in_0.std() + in_1.std()) / sqrt(2_000)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_number_of_queries_is_the_learners_or_the_setting(kind: type[Adversary]) -> None:
    learner = gaussian(queries=7)
    assert play(learner, kind(learner=learner), Voting(), games=2, seed=1).rounds == 7  # type: ignore[call-arg]
    assert play(learner, kind(learner=learner, queries=3), Voting(), games=2, seed=1).rounds == 3  # type: ignore[call-arg]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("learner", [None, LaplaceCount()], ids=["nobody", "laplace-count"])
def test_learners_without_votes_are_refused(kind: type[Adversary], learner: Learner | None) -> None:
    with pytest.raises(
        Unsupported, match="this adversary needs the votes of the learner's teachers, got 'no"
    ):
        next(kind(learner=learner).play(2, np.random.default_rng(0)))  # type: ignore[call-arg]


# --- what a single bit leaves of the Gaussian's loss ----------------------------------------------


def exact_epsilon(learner: PateGaussian, ones: tuple[int, int], queries: int) -> float:
    """The ε at the δ of the claim when a point with so many votes in the two worlds is asked `queries` times:
    the number of answers 1 is binomial."""
    delta = learner.claim.delta
    chance = [ndtr((one - learner.teachers / 2) / learner.effective_sigma) for one in ones]
    laws = [binom.pmf(np.arange(queries + 1), queries, p) for p in chance]

    def excess(epsilon: float) -> float:
        return max(np.maximum(p - np.exp(epsilon) * q, 0).sum() for p, q in (laws, laws[::-1])) - delta

    return float(brentq(excess, 0.0, 20.0)) if excess(0.0) > 0 else 0.0


@pytest.mark.parametrize("queries", [1, 5, 9])
def test_an_exact_audit_of_ties_is_that_of_binomial_counts(queries: int) -> None:
    learner = PateGaussian(teachers=11, queries=queries)
    found = exact(learner, SmallMargin(learner=learner), Voting())
    truth = exact_epsilon(learner, (5, 6), queries)
    assert found.epsilon_at.middle == pytest.approx(truth, abs=1e-6)
    assert found.score.middle == pytest.approx(truth, abs=1e-6)


def test_far_below_the_tie_one_answer_loses_all_that_is_claimed() -> None:
    """The event at which a Gaussian mechanism's δ is attained is a threshold: here, an answer 1."""
    learner = PateGaussian(teachers=101, queries=1)
    near = exact(learner, SmallMargin(learner=learner), Voting()).epsilon_at.middle
    far = exact(learner, SmallMargin(learner=learner, below=14.0), Voting()).epsilon_at.middle
    assert near < 0.22
    assert 0.99 < far <= 1.0


def test_many_ties_keep_two_over_pi_of_the_information() -> None:
    learner = PateGaussian(teachers=101, queries=1_000)
    tied = exact_epsilon(learner, (50, 51), 1_000)
    delta = learner.claim.delta

    def excess(epsilon: float) -> float:
        return (
            gaussian_delta(
                epsilon=epsilon, sigma=learner.effective_sigma, sensitivity=sqrt(1_000 * 2 / np.pi)
            )
            - delta
        )

    assert tied == pytest.approx(brentq(excess, 0.01, 2.0), rel=0.01)
    assert tied == pytest.approx(0.78, abs=0.01)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "least"),
    [
        (SmallMargin, 0.35),
        (RepeatPoint, 0.35),
        (Canary, 0.35),
        (VoteInference, 0.35),
        (DisagreementWalk, 0.2),
    ],
)
def test_certified_bounds_are_close_to_the_ceiling_and_not_above_the_loss(
    kind: type[Adversary], least: float
) -> None:
    learner = PateGaussian()
    verdict = run_audit(learner, kind(), Voting(), games=20_000)
    assert least < verdict.epsilon_lower < exact_epsilon(learner, (40, 41), 100)
    assert not verdict.refuted


@statistical(rate=1.2e-6)
def test_answers_at_a_tie_follow_the_law() -> None:
    """Of one small-margin query: answers 1 in world 0 and 1 with the chances Φ(∓1/2σ)."""
    learner = PateGaussian(teachers=11, queries=1)
    played = play(learner, SmallMargin(learner=learner), Voting(), games=600_000, seed=5)
    ones = [int((scores > 0).sum()) for scores in by_world(played)]
    chance = float(ndtr(0.5 / learner.effective_sigma))
    for count, p in zip(ones, (1 - chance, chance), strict=True):
        check_counts([count, 300_000 - count], [p, 1 - p], rate=1e-7, effect=0.01, power=0.999_999)
    lie = float(ndtr(-1.5 / learner.effective_sigma))
    with expect_rejection():
        check_counts([ones[0], 300_000 - ones[0]], [lie, 1 - lie], rate=1e-7, effect=0.01, power=0.999_999)


# --- what each looks for --------------------------------------------------------------------------


@pytest.mark.parametrize("teachers", [1, 2, 10, 11, 100, 101])
def test_the_narrowest_swap_turns_the_majority(teachers: int) -> None:
    learner = gaussian(teachers=teachers)
    swap = find_narrowest_swap(learner, None)
    assert swap.samples[0].differences(swap.samples[1]) == 1
    assert swap.samples[0].size == teachers
    assert swap.votes[0] < 0.5 <= swap.votes[1]
    assert (swap.votes[1] - swap.votes[0]) * teachers == pytest.approx(1)


@pytest.mark.parametrize("below", [-7.0, 3.0, 20.0])
def test_it_may_aim_below_the_tie(below: float) -> None:
    swap = find_narrowest_swap(gaussian(teachers=101), None, below=below)
    assert abs(sum(swap.votes) / 2 * 101 - (50.5 - below)) <= 0.5


def test_the_users_data_are_searched_for_a_close_vote() -> None:
    rng = np.random.default_rng(2)
    points = rng.random(600)
    data = Sample(points, points + 0.3 * rng.standard_normal(600) > 0.5)
    learner = gaussian(teachers=51)
    swap = find_narrowest_swap(learner, data)
    assert abs(sum(swap.votes) / 2 - 0.5) <= 1 / 51
    assert swap.samples[0].differences(swap.samples[1]) == 1
    in_0, in_1 = simulate_votes(learner, swap.samples, swap.point[None])[:, 0]
    assert (in_0, in_1) == swap.votes


def test_samples_in_which_no_vote_can_change_are_refused() -> None:
    sure = Sample([0.0, 1.0], [0, 1], [500, 500])
    with pytest.raises(InvalidArgument, match="none of the examples that were tried changes a vote"):
        find_narrowest_swap(gaussian("thresholds:0..1"), sure)


def test_candidates_that_the_learner_refuses_are_skipped() -> None:
    learner = gaussian("thresholds:1..5", teachers=2)
    sample = Sample([1.0, 5.0], [1, 0])
    outside, inside = np.array(9.0), np.array(3.0)
    tries = [(plant_example(sample, 1, point), point) for point in (outside, inside)]
    assert choose_best_swap(learner, tries).point == inside
    with pytest.raises(InvalidArgument, match="9"):
        choose_best_swap(learner, tries[:1])


def test_a_canary_is_alone_at_its_point_and_decides() -> None:
    for learner in (gaussian(), gaussian("points:1..4"), gaussian("GaussianNB:3", teachers=7)):
        swap = find_canary(learner, None)
        for world, sample in enumerate(swap.samples):
            here = (sample.points == swap.point).reshape(len(sample.points), -1).all(axis=1)
            assert sample.counts[here].tolist() == [1]
            assert sample.labels[here].tolist() == [world]
        assert swap.votes[0] < 0.5 <= swap.votes[1]


def test_a_canary_in_data_lies_beyond_them() -> None:
    data = Sample([(0.0, 1.0), (1.0, 0.0), (0.2, 0.9), (0.8, 0.3)], [0, 1, 0, 1], [5] * 4)
    learner = gaussian("DecisionTreeClassifier:2", teachers=5)
    points = find_free_points(learner, data)
    assert points.tolist() == [[-0.5, -0.5], [1.5, 1.5]]
    swap = find_canary(learner, data)
    assert swap.point.tolist() in points.tolist()
    assert swap.samples[0].differences(swap.samples[1]) == 1


def test_a_canary_needs_a_free_point() -> None:
    full = Sample([1.0, 2.0], [0, 1], [3, 3])
    with pytest.raises(InvalidArgument, match="a canary needs a point without examples"):
        find_free_points(gaussian("thresholds:1..2"), full)
    assert find_free_points(gaussian("thresholds:1..3"), full).tolist() == [3.0]


def test_the_disputed_region_rises_and_is_nowhere_unanimous() -> None:
    region = find_disputed_region(gaussian(teachers=101), None)
    votes = simulate_votes(gaussian(teachers=101), region.samples, region.points).mean(axis=0)
    assert (np.diff(votes) > 0).all()
    assert 0 < votes[0] < 0.2
    assert 0.8 < votes[-1] < 1


def test_the_ladder_has_a_tie_that_the_swaps_turn() -> None:
    learner = gaussian(teachers=101)
    region = find_disputed_region(learner, None)
    walk = simulate_votes(learner, region.samples, region.points)[:, region.start]
    case = find_inference_case(learner, None, None, "flipped")
    inference = simulate_votes(learner, case.samples, case.points[:1])[:, 0]
    for votes in (walk, inference):
        assert 101 * votes == pytest.approx([50, 51])


def test_games_walk_down_after_1_up_after_0_and_stay_after_unstable() -> None:
    learner = Screened(teachers=101, queries=30)
    played = play(learner, DisagreementWalk(learner=learner), Voting(), games=40, seed=1, record=True)
    region = find_disputed_region(learner, None).points.tolist()
    entries = played.transcript.entries[1:]
    steps = {0: 0, 1: 0, 2: 0}
    for entry, after in pairwise(entries):
        for game in range(40):
            label = int(entry.label[game])  # type: ignore[attr-defined]
            if label < 0:
                continue
            place = region.index(entry.x[game])  # type: ignore[attr-defined]
            moved = {0: 1, 1: -1, 2: 0}[label]
            expected = min(max(place + moved, 0), len(region) - 1)
            assert region.index(after.x[game]) == expected  # type: ignore[attr-defined]
            steps[label] += 1
    assert min(steps.values()) > 10


def test_repeat_point_chooses_the_most_informative_margin() -> None:
    """Within the screen games halt soon, far from it never; between, one vote shifts the halt."""
    learner = Screened(teachers=101, queries=40, width=20.0)
    margin = sum(find_best_margin(learner, None, 40).votes) / 2 * 101 - 50.5
    assert 13 <= margin <= 27
    in_0, in_1 = by_world(play(learner, RepeatPoint(learner=learner), Voting(), games=4_000, seed=1))
    assert in_1.mean() - in_0.mean() > 0.15 * in_0.std()
    tie = by_world(
        play(learner, SmallMargin(learner=Silent(teachers=101, queries=40)), Voting(), games=4_000, seed=1)
    )
    assert abs(tie[1].mean() - tie[0].mean()) < 0.1


# --- vote-inference -------------------------------------------------------------------------------


def test_the_target_is_replaced_by_its_flip_or_by_the_next_row() -> None:
    data = Sample([0.0, 0.3, 0.6, 0.9], [0, 1, 0, 1], [1, 2, 1, 1])
    learner = gaussian(teachers=5)
    flipped = find_inference_case(learner, data, 2, "flipped")
    assert flipped.samples[1] == data
    assert flipped.samples[0].rows()[1].tolist() == [0, 1, 0, 0, 1]
    copied = find_inference_case(learner, data, 3, COPY)
    assert copied.samples[0].rows()[0].tolist() == [0.0, 0.3, 0.3, 0.9, 0.9]
    assert copied.samples[0].rows()[1].tolist() == [0, 1, 1, 1, 1]


def test_points_are_those_at_which_votes_differ_most_informative_first() -> None:
    learner = PateGaussian(teachers=101)
    case = find_inference_case(learner, None, 0, "flipped")
    votes = simulate_votes(learner, case.samples, case.points)
    assert (votes[0] != votes[1]).all()
    away = np.abs(votes.mean(axis=0) - 0.5)
    assert away[0] == away.min()
    assert case.sign == 1


def test_the_best_of_a_few_targets_is_taken() -> None:
    learner = gaussian(teachers=101)
    sample = build_ladder_sample(learner)
    best = find_inference_case(learner, sample, None, "flipped").information
    for row in (0, 50, 100):
        assert best >= find_inference_case(learner, sample, row, "flipped").information


def test_without_a_law_a_target_labelled_0_is_scored_by_zeros() -> None:
    learner = Silent(teachers=5, queries=8, sigma=0.3)
    data = Sample([0.5, 0.5], [0, 1], [3, 2])
    in_0, in_1 = by_world(
        play(learner, VoteInference(learner=learner, sample=data, target=0), Voting(), games=400, seed=1)
    )
    assert in_1.mean() > in_0.mean() + 1


def test_no_adversary_claims_more_than_the_law_allows() -> None:
    """Ratios of games in world 0 average 1, so e^score is a fair bet against it."""
    learner = Screened(teachers=11, queries=10)
    for kind in (SmallMargin, Canary, VoteInference, DisagreementWalk):
        in_0, _ = by_world(play(learner, kind(learner=learner), Voting(), games=20_000, seed=2))
        ratio = np.exp(in_0)
        assert log(ratio.mean()) == pytest.approx(0, abs=6 * ratio.std() / 100)


def test_small_margin_seeks_the_threshold_where_votes_are_screened() -> None:
    """At a tie the answer is ⊥ almost surely: the exact loss there is next to nothing."""
    spec = PateSvt(teachers=101, queries=4, unstable=1, calibration="tight")
    at_threshold, at_tie = (
        exact(spec, SmallMargin(below=below, learner=spec), Voting()) for below in (None, 0.0)
    )
    half = spec.claim.delta / 2
    assert at_tie.law.loss.epsilon_at(spec.claim.delta).upper < 0.01
    assert 0.3 < at_threshold.law.loss.epsilon_at(half).lower <= spec.claim.epsilon


def test_minds_are_shared_by_all_tables_of_an_audit() -> None:
    spec = PateSvt(teachers=151, queries=6, calibration="tight", epsilon=3.0)
    adversary = SmallMargin(learner=spec)
    swap = find_narrowest_swap(spec, None, below=spec.critical_margin)
    laws = answer_laws(spec, swap.samples)
    assert laws is answer_laws(spec, swap.samples)
    for seed in (1, 2):
        play(spec, adversary, Voting(), games=500, seed=seed)
        known = len(likelihood._build_posteriors(laws, swap.point[None].tobytes(), "<f8", (1,))._steps)
        assert 10 < known < 200  # where answers alone would make hundreds of histories
