"""The errors of hypotheses, compared with a count point by point; and the observation of a learner."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adversaries.figure1.honest import Honest
from arena import Figure1, InvalidArgument, Sample, Training, play
from arena.concepts import RealIntervals, Thresholds
from audits.races.predictor_errors import ErrorRecorder, EvaluationSet, ObservedLearner
from learners.everlasting.paper_versions import EverlastingV1, EverlastingV2
from learners.predictors.vote_predictors import StaticErm

SMALL = {"teachers": 40, "chunk": 10, "rate": 1.0, "training_rate": 1.0, "alpha_1": 0.03, "beta_1": 0.03}
V2 = EverlastingV2(**SMALL, answers=None, noise=0.5)
V1 = EverlastingV1(**SMALL, answers=400, noise=0.5, halts=3, rounds=1)


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


@pytest.mark.parametrize("learner", [V1, V2])
def test_observation_does_not_change_answers(learner: EverlastingV2) -> None:
    log = AnswerLog()
    adversary = Honest(queries=3_000 if learner is V2 else 400, learner=learner)
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
    assert set(log.rounds) == ({1, 2} if learner is V2 else {1})


def test_single_queries_are_observed_too() -> None:
    log = AnswerLog()
    state = ObservedLearner(V2, log).start(2, np.random.default_rng(0))
    people = Honest(learner=V2).population(2, np.random.default_rng(1))
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
    people = Honest(learner=V2).population(2, np.random.default_rng(0))
    evaluation = EvaluationSet.of(people, Thresholds(), 2, np.random.default_rng(1), 100)
    recorder = ErrorRecorder(2, Thresholds(), people, evaluation)

    class State:
        round = V2.round(1)
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
