"""Races of predictors: errors of hypotheses, figures that depend on the plan alone, bounds, and refusals."""

from __future__ import annotations

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adversaries.figure1.honest import Honest
from adversaries.figure1.swaps import HaltCounter
from arena import Bound, Figure1, InvalidArgument, Learner, Sample, Training, play
from arena.concepts import RealIntervals, Thresholds
from audits.races.predictor_race import ErrorRecorder, EvaluationSet, ObservedLearner, plan_predictor_race
from audits.races.race import Race
from audits.races.race_result import run_race
from learners.everlasting.paper_versions import EverlastingV1, EverlastingV2
from learners.predictors.vote_predictors import StaticErm

SMALL = {"teachers": 200, "chunk": 20, "rate": 1.0, "training_rate": 1.0, "alpha_1": 0.03, "beta_1": 0.03}
V2 = EverlastingV2(**SMALL, answers=None, noise=1.0)
SMALLER = SMALL | {"teachers": 40, "chunk": 10}
SMALL_V2 = EverlastingV2(**SMALLER, answers=None, noise=0.5)
SMALL_V1 = EverlastingV1(**SMALLER, answers=400, noise=0.5, halts=3, rounds=1)


class AnswerLog(ErrorRecorder):
    """Keeps all answers that it observes."""

    def __init__(self) -> None:
        self.labels: list[np.ndarray] = []
        self.cuts: list[np.ndarray] = []
        self.votes: list[np.ndarray] = []
        self.rounds: list[int] = []

    def observe(self, x: np.ndarray, labels: np.ndarray, halted: np.ndarray) -> None:
        self.labels.append(labels)
        self.cuts.append(np.reshape(self.state.cuts, labels.shape))
        self.votes.append(self.state.votes_in_a_row(x))
        self.rounds.append(self.state.round.index)


VOTES = st.integers(0, 8).map(lambda k: k / 8)


@pytest.mark.thorough
@given(
    votes=st.lists(VOTES, min_size=1, max_size=12),
    cuts=st.lists(st.one_of(VOTES, st.floats(-1, 2)), min_size=1, max_size=6),
    data=st.data(),
)
def test_errors_are_those_of_a_count(votes: list[float], cuts: list[float], data: st.DataObject) -> None:
    size = len(votes)
    labels = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    weights = np.array(data.draw(st.lists(st.integers(1, 5), min_size=size, max_size=size))) / 8
    evaluation = EvaluationSet(np.arange(size)[None], labels[None], weights, np.array([0.125]))
    errors = evaluation.error_curves(np.array([votes]))(np.array([cuts]))
    naive = [sum(w for v, y, w in zip(votes, labels, weights, strict=True) if (v >= c) != y) for c in cuts]
    np.testing.assert_allclose(errors, [np.array(naive) - 0.125], atol=1e-12)


@pytest.mark.parametrize("learner", [SMALL_V1, SMALL_V2])
def test_observation_does_not_change_answers(learner: EverlastingV2) -> None:
    log = AnswerLog()
    adversary = Honest(queries=3_000 if learner is SMALL_V2 else 400, learner=learner)
    played = [
        play(one, adversary, Figure1(), games=4, seed=5, record=True)
        for one in (learner, ObservedLearner(learner, log))
    ]
    first, second = (one.shown for one in played)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
    for labels, cuts, votes in zip(log.labels, log.cuts, log.votes, strict=True):
        np.testing.assert_array_equal(labels == 1, votes >= cuts)
    assert log.rounds == sorted(log.rounds)
    assert set(log.rounds) == ({1, 2} if learner is SMALL_V2 else {1})


def test_single_queries_are_observed_too() -> None:
    log = AnswerLog()
    state = ObservedLearner(SMALL_V2, log).start(2, np.random.default_rng(0))
    people = Honest(learner=SMALL_V2).population(2, np.random.default_rng(1))
    state.train(Training.of(people.draw_samples(np.random.default_rng(2), 400, 0.0), np.arange(2)))
    label = state.predict(np.array([0.1, 0.9]))
    np.testing.assert_array_equal(log.labels[0][:, 0], label)
    assert log.cuts[0].shape == (2, 1)


def test_a_learner_that_does_not_expose_its_hypotheses_is_refused() -> None:
    people = Honest(learner=StaticErm()).population(1, np.random.default_rng(0))
    evaluation = EvaluationSet.of(people, Thresholds(), 1, np.random.default_rng(1), 10)
    learner = ObservedLearner(StaticErm(), ErrorRecorder(1, Thresholds(), people, evaluation))
    with pytest.raises(InvalidArgument, match="needs their hypotheses, which this one does not expose"):
        play(learner, Honest(queries=3, learner=StaticErm()), Figure1(), games=1, seed=0)


def test_errors_are_the_excess_over_the_best_concept() -> None:
    data = Sample([1.0, 2.0, 3.0], [1, 0, 1], [2, 1, 5])
    people = Honest(sample=data).population(3, np.random.default_rng(0))
    for concepts, least in ((Thresholds(), 1 / 8), (RealIntervals(), 1 / 8)):
        evaluation = EvaluationSet.of(people, concepts, 3, np.random.default_rng(0), 10)
        np.testing.assert_allclose(evaluation.best_error, np.full(3, least))
    # 1[x >= 1] is the best threshold; with no vote below the cut every point is labelled 1.
    np.testing.assert_allclose(evaluation.error_curves(np.ones((3, 3)))(np.full((3, 1), 0.5)), 0, atol=1e-12)
    np.testing.assert_allclose(evaluation.error_curves(np.ones((3, 3)))(np.full((3, 1), 1.5)), 6 / 8)


def test_a_recorder_counts_by_rounds_and_skips_halted_games() -> None:
    people = Honest(learner=SMALL_V2).population(2, np.random.default_rng(0))
    evaluation = EvaluationSet.of(people, Thresholds(), 2, np.random.default_rng(1), 100)
    recorder = ErrorRecorder(2, Thresholds(), people, evaluation)

    class State:
        round = SMALL_V2.round(1)
        cuts = np.array([[0.5, -1.0], [0.5, 2.0]])

        def votes_in_a_row(self, x: np.ndarray) -> np.ndarray:
            return (x >= 0.5).astype(float)

    labels = np.array([[0, 1], [0, 1]])
    recorder.state = State()
    recorder.observe(np.array([[0.0, 1.0], [0.0, 1.0]]), labels, np.array([False, True]))
    np.testing.assert_array_equal(recorder.answers, [[2, 0], [0, 0]])
    assert recorder.wrong.sum() == 0
    assert recorder.worst[0, 0] >= 0.2  # that all points are labelled 1
    assert recorder.worst[0, 1] == 0
    assert recorder.total[0, 0] > recorder.worst[0, 0]


# --- races ---


@attrs.frozen
class Promising(EverlastingV2):
    """Promises an error that may be too small, and with it, or without, the printed sizes."""

    name = "promising"

    most: float = 0.001
    sure: bool = True

    def bound(self, rounds: int) -> Bound | None:
        return Bound(at_most=self.most, of="error", beta=0.1, theorem="none", promised=self.sure)


def race(*learners: Learner, **options: object) -> Race:
    players = [(f"{i}", learner, Honest()) for i, learner in enumerate(learners)]
    return plan_predictor_race(players, **{"rounds": 2, "games": 6, "tested": 500, **options})  # type: ignore[arg-type]


@pytest.mark.thorough
def test_the_figures_depend_on_the_plan_alone() -> None:
    plan = race(V2, seed=3)
    counts: list[int] = []
    first, second = run_race(plan, watch=counts.append).to_dict(), run_race(plan, jobs=2).to_dict()
    assert first == second
    assert counts[-1] == 6
    assert run_race(race(V2, seed=4)).to_dict() != first
    # A learner's games are its own: another in the race changes none of them.
    alone, beside = (
        run_race(plan).standings[0]
        for plan in (plan, race(V2, V2.with_practical_constants(rounds=1), seed=3))
    )
    np.testing.assert_array_equal(alone.worst, beside.worst)


def test_errors_fall_and_lie_between_zero_and_the_worst() -> None:
    (one,) = run_race(race(V2, games=12)).standings
    assert (one.mean <= one.worst).all()
    assert (one.mean >= 0).all()
    assert one.mean[1] < one.mean[0]
    assert (np.abs(one.wrong_answers - one.mean) < 0.03).all()  # answers are drawn from D, too
    assert (one.median.values <= one.quantile_95.values).all()
    test = one.bound_test
    assert (test.bound.at_most, test.exceeding, test.broken) == (0.24, 0, False)
    assert one.asked.tolist() == [16_000, 16_000]
    assert [run.answers for run in one.rounds] == [16_000, 64_000]


def test_only_a_promised_bound_can_be_broken() -> None:
    options = {**SMALL, "noise": 1.0, "answers": None}
    promised, measured = (run_race(race(Promising(**options, sure=sure))) for sure in (True, False))
    for result in (promised, measured):
        assert result.standings[0].bound_test.broken
    assert (promised.broken, measured.broken) == (True, False)
    assert "  no: 6 of 6 games exceed it, up to 2 may\n" in promised.summary()
    assert "  no: 6 of 6 games exceed it, up to 2 may (not promised)\n" in measured.summary()


def test_a_halted_game_has_error_1() -> None:
    halting = EverlastingV1(**SMALL, answers=4_000, noise=0.1, halts=1, rounds=1)
    (one,) = run_race(race(halting, rounds=1)).standings
    assert one.halted[0] > 0
    assert one.worst[0] == 1
    assert "has error 1 in that round" in run_race(race(halting, rounds=1)).summary()


@pytest.mark.thorough
def test_errors_are_over_all_of_d_if_it_is_a_list() -> None:
    data = Sample([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1], [3, 3, 3, 3])
    plan = plan_predictor_race([("it", V2, Honest(sample=data))], rounds=2, games=4)
    (one,) = run_race(plan).standings
    assert (one.best_concept_error, one.worst.max()) == (0.0, 0.0)
    noisy = Sample([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 1], [1, 3, 3, 3])
    relabelling = attrs.evolve(V2, agnostic=True)
    plan = plan_predictor_race([("it", relabelling, Honest(sample=noisy))], rounds=2, games=4)
    (one,) = run_race(plan).standings
    assert one.best_concept_error == pytest.approx(0.1)
    assert abs(one.worst.max()) < 1e-9
    assert "No concept of the class explains D" in run_race(plan).summary()


@pytest.mark.parametrize(
    ("learner", "adversary", "options", "message"),
    [
        (V2, Honest(), {"rounds": 0}, "rounds must be at least 1, got 0"),
        (attrs.evolve(V2, rounds=1), Honest(), {"rounds": 3}, "everlasting-v2 stops after 1 round, got 3. "),
        (StaticErm(), Honest(), {}, "static-erm has no rounds by which it could be measured. Race predict"),
        (
            V2,
            HaltCounter(),
            {},
            "halt-counter does not state the distribution of its examples, so errors are",
        ),
    ],
)
def test_refusals(learner: Learner, adversary: object, options: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        plan_predictor_race([("0", learner, adversary)], **options)  # type: ignore[arg-type,list-item]
    assert str(refused.value).startswith(message)


def test_a_bound_on_something_else_is_not_tested() -> None:
    @attrs.frozen
    class Odd(EverlastingV2):
        def bound(self, rounds: int) -> Bound | None:
            return Bound(at_most=0, of="regret", beta=0.1, theorem="none")

    result = run_race(race(Odd(**SMALL, noise=1.0, answers=None), rounds=1, games=2))
    assert result.standings[0].bound_test.inapplicable == "it bounds regret"
    assert not result.broken
