"""Predictors from votes: their answers have the distributions that they declare, also of vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from support.laws.learner_laws import Views, view_delta, view_law, views, views_of
from support.laws.mechanism_laws import above_law, between_law
from support.simple_players import script
from support.statistical import check_views, expect_rejection, statistical

from arena import AnswerLaw, Figure1, Learner, Query, Sample, Train, Training, Unsupported, play
from arena.concepts import Boxes, ConceptClass, DecisionLists, FiniteClass, Thresholds, Variables
from arena.privacy_curves import PureCurve
from learners.common.teacher_votes import Electorate
from learners.mechanisms.accounting import best_composition
from learners.mechanisms.steady_thresholds import steady_thresholds_cost
from learners.predictors.vote_predictors import (
    AboveThresholdPredictor,
    BetweenThresholdsPredictor,
    NoisyVotes,
    StaticErm,
    SteadyThresholdsPredictor,
)

RATE = 1e-8

SAMPLE = Sample([0.0, 1.0, 1.0, 2.0], [1, 1, 0, 1], [12, 8, 10, 10])  # votes 0, 0.3, 0.5, 0.75
POINTS = [1.5, -1.0, 0.0, 7.0, 1.0]
VOTES = [0.5, 0.0, 0.3, 0.75, 0.5]

BETWEEN = BetweenThresholdsPredictor(size=40, epsilon=0.5, alpha=0.1)
ABOVE = AboveThresholdPredictor(size=40, epsilon=0.8, threshold=0.6)
NOISY = NoisyVotes(size=40, epsilon=0.1, answers=20)


def between(halts: int) -> BetweenThresholdsPredictor:
    return BetweenThresholdsPredictor(size=40, epsilon=0.5, alpha=0.1, halts=halts)


def above(halts: int) -> AboveThresholdPredictor:
    return AboveThresholdPredictor(size=40, epsilon=0.8, threshold=0.6, halts=halts)


def steady(halts: int) -> SteadyThresholdsPredictor:
    return SteadyThresholdsPredictor(size=40, epsilon=0.2, alpha=0.2, halts=halts)


EVERY: list[Learner] = [StaticErm(), NOISY, BETWEEN, between(3), ABOVE, above(3), steady(2)]


def label_of(learner: Learner) -> str:
    return f"{learner.name}-{getattr(learner, 'halts', 0)}"


def same(one: Views, other: Views) -> None:
    for view in {*one, *other}:
        assert one.get(view, 0.0) == pytest.approx(other.get(view, 0.0), rel=1e-9, abs=1e-12), view


# --- the mechanisms' own laws ---------------------------------------------------------------------------


@pytest.mark.parametrize("halts", [1, 2, 3])
def test_between_thresholds_tells_the_law_of_its_mechanism(halts: int) -> None:
    expected = between_law(VOTES, lower=0.4, upper=0.6, epsilon=0.5, size=40, halts=halts)
    same(view_law(between(halts).law(SAMPLE), POINTS), views_of(expected, halts))


@pytest.mark.parametrize("halts", [1, 2, 3])
def test_above_threshold_tells_the_law_of_its_mechanism(halts: int) -> None:
    expected = above_law(VOTES, threshold=0.6, epsilon=0.8, sensitivity=1 / 40, halts=halts)
    same(view_law(above(halts).law(SAMPLE), POINTS), views_of(expected, halts))


def test_a_wide_gap_is_told_as_precisely_as_a_narrow_one() -> None:
    """⊤ at a clear vote is so rare that a difference of two distribution functions would lose its digits."""
    learner = BetweenThresholdsPredictor(size=1_000, epsilon=1.0, alpha=0.2)
    law = learner.law(Sample([0.0], [0], [1_000]))
    once = view_law(law, [0.0])
    unit = 6 / 1_000  # P[Lap(unit) + Lap(unit/3) > 0.3], up to what lies beyond the upper threshold
    beyond = 0.3 / unit
    rare = (np.exp(-beyond) - np.exp(-3 * beyond) / 9) / (2 * (1 - 1 / 9))
    assert once["H"] + once["1"] == pytest.approx(rare, rel=1e-12)
    assert once["1"] == pytest.approx(0.0, abs=1e-40)


def test_noisy_votes_tells_the_law_of_laplace_noise() -> None:
    ones = stats.laplace.sf(0.5 - np.array(VOTES), scale=1 / 4)
    expected = {"": 1.0}
    for one in ones:
        expected = {view + s: p * q for view, p in expected.items() for s, q in (("1", one), ("0", 1 - one))}
    same(view_law(NOISY.law(SAMPLE), POINTS), expected)


def test_static_erm_is_certain() -> None:
    sample = Sample([0.0, 1.0, 2.0], [0, 1, 1])
    assert view_law(StaticErm().law(sample), [0.5, 1.0, 3.0])["011"] == 1.0
    assert set(views(StaticErm(), sample, [0.5, 1.0, 3.0], games=4)) == {"011"}


# --- what every law keeps to ----------------------------------------------------------------------------


@pytest.mark.parametrize("learner", EVERY, ids=label_of)
def test_a_step_keeps_the_mass_and_is_never_negative(learner: Learner, rng: np.random.Generator) -> None:
    law = law_of(learner)
    start = law.start()
    assert start.sum() == pytest.approx(1.0, abs=1e-12)
    measures = rng.random((6, len(start))) * start
    x = np.array([-3.0, 0.0, 0.0, 1.0, 1.5, 9.0])
    after = law.step(measures, x)
    assert after.shape == (len(law.outcomes), 6, len(start))
    assert (after >= 0).all()
    assert after.sum(axis=(0, 2)) == pytest.approx(measures.sum(axis=1), rel=0, abs=1e-12)


@pytest.mark.parametrize("learner", EVERY, ids=label_of)
def test_games_that_share_a_point_fare_as_games_that_do_not(
    learner: Learner, rng: np.random.Generator
) -> None:
    law = law_of(learner)
    measures = rng.random((5, len(law.start())))
    for x in (0.0, 1.0, 1.5):
        together = law.step(measures, np.broadcast_to(x, (5,)))
        assert (together == law.step(measures, np.full(5, x))).all()
        for game in range(5):
            alone = law.step(measures[game : game + 1], np.array([x]))
            np.testing.assert_allclose(alone[:, 0], together[:, game], rtol=1e-14)


def law_of(learner: Learner) -> AnswerLaw:
    law = learner.law(SAMPLE)
    assert isinstance(law, AnswerLaw)
    return law


# --- play -----------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("learner", [NOISY, BETWEEN, between(2), above(2), steady(2)], ids=label_of)
@statistical(rate=RATE)
def test_what_is_answered_follows_the_law(learner: Learner) -> None:
    points = POINTS[:4]
    seen = views(learner, SAMPLE, points, games=400_000)
    check_views(seen, view_law(law_of(learner), points), rate=RATE, effect=0.01)


@pytest.mark.parametrize("build", [between, steady])
@statistical(rate=2 * RATE)
def test_the_law_of_one_halt_less_would_be_noticed(build: Callable[[int], Learner]) -> None:
    seen = views(build(2), SAMPLE, POINTS[:4], games=400_000)
    with expect_rejection():
        check_views(seen, view_law(build(3).law(SAMPLE), POINTS[:4]), rate=RATE, effect=0.01)


# --- claims ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "points"),
    [
        (BetweenThresholdsPredictor(size=100, epsilon=1.0, alpha=0.45), [0.0] * 4),
        (BetweenThresholdsPredictor(size=100, epsilon=1.0, alpha=0.45, halts=2), [0.0, 1.0, 0.0, 1.0]),
        (AboveThresholdPredictor(size=10, epsilon=0.7), [0.0] * 5),
        (AboveThresholdPredictor(size=10, epsilon=0.7, halts=2), [0.0, 1.0, 0.0, 1.0, 0.0]),
        (NoisyVotes(size=10, epsilon=0.3, answers=4), [0.0] * 4),
        (NoisyVotes(size=10, epsilon=0.3, answers=4, slack=0.3), [0.0] * 4),
    ],
    ids=lambda value: label_of(value) if isinstance(value, Learner) else "",
)
def test_the_claim_holds_of_the_law(learner: Learner, points: list[float]) -> None:
    half = learner.sample_size // 2
    tied = Sample([0.0, 0.0], [0, 1], [half, half])
    pair = [view_law(learner.law(sample), points) for sample in (tied, tied.replace_one(0, 0.0, 1))]
    claim = learner.claim
    assert not claim.empty
    for one, other in (pair, pair[::-1]):
        assert view_delta(one, other, claim.epsilon) <= claim.delta + 1e-12
        assert view_delta(one, other, 0.0) > 1e-6
        if claim.curve is not None:
            for epsilon in (0.0, 0.5, 1.0):
                assert view_delta(one, other, epsilon) <= claim.curve.deltas(np.array([epsilon]))[0]


def test_noisy_votes_claims_what_composition_says() -> None:
    claim = NoisyVotes(epsilon=0.01, answers=500, slack=1e-7).claim
    assert (claim.epsilon, claim.delta) == best_composition(500, 0.01, slack=1e-7)
    assert NoisyVotes(epsilon=0.5, answers=2).claim.delta == 0
    assert AboveThresholdPredictor(epsilon=0.25, halts=3).claim.epsilon == 0.75


def test_several_pure_steps_have_a_privacy_curve() -> None:
    claim = NoisyVotes(epsilon=0.01, answers=500, slack=1e-7).claim
    assert claim.curve == PureCurve(0.01, 500)
    assert claim.curve.epsilon(claim.delta) < 0.9 * claim.epsilon
    assert AboveThresholdPredictor(epsilon=0.25, halts=3).claim.curve == PureCurve(0.25, 3)
    assert AboveThresholdPredictor().claim.curve is None  # (ε, 0) says as much


# --- noisy-votes, its budget ----------------------------------------------------------------------------


def test_noisy_votes_halts_with_its_last_answer_in_all_games() -> None:
    learner = NoisyVotes(size=40, epsilon=1.0, answers=3)
    asked = script(Train(SAMPLE), *[Query(x) for x in (0.0, 1.0, 2.0, 2.0, 2.0)])
    played = play(learner, asked, Figure1(), games=4, seed=1, record=True)
    replies = played.replies[1:]
    assert [reply.halted.all() for reply in replies] == [False, False, True, True, True]
    assert not replies[1].halted.any()
    assert [(reply.label >= 0).all() for reply in replies] == [True, True, True, False, False]


# --- which votes can occur ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "concepts",
    [Thresholds(), Thresholds([0.0, 1.0, 2.0, 3.0, 4.0]), Thresholds(range(5_000))],
    ids=["line", "domain", "large domain"],
)
def test_the_votes_of_thresholds_are_found_at_the_sample_and_beside_it(concepts: Thresholds) -> None:
    sample = Sample([1.0, 2.0, 3.0], [1, 0, 1], [1, 1, 2])
    found = Electorate.train(sample, concepts).possible_votes()
    assert found.tolist() == [0.0, 0.25, 0.75]


def test_the_votes_of_a_matrix_are_found_at_its_columns() -> None:
    concepts = FiniteClass([[1, 0, 1], [0, 1, 1]])
    found = Electorate.train(Sample([0.0, 1.0], [1, 1], [3, 1]), concepts).possible_votes()
    assert found.tolist() == [0.25, 0.75, 1.0]


def test_many_votes_are_told_of_nearly_as_well() -> None:
    size = 200
    sample = Sample(np.arange(size), np.ones(size, int))
    learner = BetweenThresholdsPredictor(size=size, epsilon=0.5, alpha=0.1, halts=2)
    assert len(Electorate.train(sample, Thresholds()).possible_votes()) == 64
    points = [71.0, 98.0, 103.0, 120.0]
    votes = [(point + 1) / size for point in points]
    expected = views_of(between_law(votes, lower=0.4, upper=0.6, epsilon=0.5, size=size, halts=2), 2)
    for view, chance in view_law(learner.law(sample), points).items():
        assert chance == pytest.approx(expected.get(view, 0.0), abs=2e-7)


# --- sizes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", EVERY[1:], ids=label_of)
def test_learners_are_sized_for_data_and_tell_their_votes(learner: Learner) -> None:
    fitted = learner.adapt_to(40)
    assert fitted.sample_size == 40
    state = fitted.start(3, np.random.default_rng(1))
    with pytest.raises(Unsupported, match="is configured for 40 examples, got 2"):
        play(fitted, script(Train(Sample([0.0], [0], [2]))), Figure1(), games=1, seed=1)
    with pytest.raises(Unsupported, match=f"{learner.name} is configured for 40 examples, got 3. Set size"):
        learner.law(Sample([0.0], [1], [3]))
    state.train(Training.of((SAMPLE,), np.zeros(3, np.intp)))
    assert state.votes(1.0).tolist() == [0.5] * 3


def by_hand(halts: int) -> Views:
    """The law of the view: one answer at a time, each of four kinds."""
    found: Views = {}

    def ask(view: str, tops: int, chance: float) -> None:
        if view.endswith(("h", "H")) or len(view) == 4:
            found[view] = found.get(view, 0.0) + chance
            return
        ends = stats.laplace.cdf((np.array([0.3, 0.5, 0.7]) - VOTES[len(view)]) * 8)
        zero, top_0, top_1, one = np.diff([0, *ends, 1])
        last = tops + 1 == halts
        for letter, more, share in (
            ("0", 0, zero),
            ("h" if last else "0", 1, top_0),
            ("H" if last else "1", 1, top_1),
            ("1", 0, one),
        ):
            ask(view + letter, tops + more, chance * share)

    ask("", 0, 1.0)
    return found


@pytest.mark.parametrize("halts", [1, 2, 3])
def test_the_law_is_that_of_independent_answers(halts: int) -> None:
    told, expected = view_law(steady(halts).law(SAMPLE), POINTS[:4]), by_hand(halts)
    assert set(expected) <= set(told)
    for view, chance in told.items():
        assert chance == pytest.approx(expected.get(view, 0.0), rel=1e-9, abs=1e-15), view


@pytest.mark.parametrize("halts", [1, 3])
@pytest.mark.parametrize("ones", [12, 20])  # of 40: the lower threshold, the tie
def test_the_claim_holds_of_the_law_of_steady_thresholds_predictor(halts: int, ones: int) -> None:
    learner = SteadyThresholdsPredictor(size=40, epsilon=0.3, alpha=0.2, halts=halts, slack=0.01)
    sample = Sample([0.0, 0.0], [1, 0], [ones, 40 - ones])
    pair = [view_law(learner.law(one), [0.0] * 7) for one in (sample, sample.replace_one(0, 0.0, 0))]
    claim = learner.claim
    assert claim.epsilon == steady_thresholds_cost(halts, 0.3, gap=0.4 * 40 * 0.3, slack=0.01).epsilon
    for one, other in (pair, pair[::-1]):
        assert view_delta(one, other, claim.epsilon) <= claim.delta
        assert view_delta(one, other, 0.0) > 0.01


VECTORS = Sample([(0, 0), (0, 1), (1, 1)], [0, 1, 1], [300, 400, 300])
CLASSES = [DecisionLists(Variables(2)), Boxes(2)]


@pytest.mark.thorough
@pytest.mark.parametrize("concepts", CLASSES, ids=lambda concepts: concepts.name)
def test_votes_are_those_of_teachers_of_one_example(concepts: ConceptClass, rng: np.random.Generator) -> None:
    points, labels = VECTORS.rows()
    held = np.array([concepts.erm(x[None], y[None]) for x, y in zip(points, labels, strict=True)])
    for learner in (NoisyVotes(concepts=concepts), BetweenThresholdsPredictor(concepts=concepts)):
        state = learner.start(2, rng)
        state.train(Training.of((VECTORS,), np.zeros(2, np.intp)))
        for x in ((0.0, 0.0), (0.0, 1.0), (1.0, 1.0)):
            votes = state._teachers.votes(np.broadcast_to(x, (2, 2)))
            assert votes == pytest.approx(concepts.label(held, np.array(x)).mean())


def test_the_law_of_static_erm_is_told_for_lists() -> None:
    law = StaticErm(concepts=DecisionLists(Variables(2))).law(Sample([(0, 1), (1, 1)], [0, 1], [3, 4]))
    chances = [law.step(law.start(), np.array([point]))[1].item() for point in ((1, 0), (0, 1))]
    assert chances == [1.0, 0.0]
