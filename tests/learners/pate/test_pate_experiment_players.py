"""The players of `arena experiment pate`, compared with the learners that they are made of."""

from __future__ import annotations

import math

import attrs
import numpy as np
import pytest
from support.experiment_data import load
from support.services import TruthService

from arena import InvalidArgument, Sample, Training
from audits.experiments.experiment_players import ACTIVE, StudentTask, find_players
from learners.pate import pate_experiment_players
from learners.pate.pate_experiment_players import PateExperimentPlayers, make_players
from learners.pate.pate_gaussian import PateGaussian
from learners.pate.pate_svt import PateSvt
from learners.pate.students.active import learn
from learners.pate.students.forced_label_student import ForcedLabelStudent
from learners.pate.students.gradient_step_student import GradientStepStudent
from learners.pate.students.odometer import gaussian_epsilon
from learners.pate.students.passive import collect_answers, fit_answers
from learners.pate.students.rules import fit_rule

TEACHERS, PUBLIC, BUDGET, DELTA = 15, 40, 12, 1e-3
UNSTABLE_ANSWERS = 7  # the largest T of 1,000 teachers


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    found = load(tmp_path_factory.mktemp("data") / "d.csv")
    points = found.points.astype(np.float64)
    return Sample(points[:400], found.labels[:400]), points[400 : 400 + PUBLIC], points[440:]


@pytest.fixture(scope="module")
def perceptrons() -> PateExperimentPlayers:
    return make_players("Perceptron", None, features=9, active="forced", constant=0.1)


def task(players, data, *, active: bool, epsilon: float, seed: int = 0) -> StudentTask:
    sample, public, _ = data
    return StudentTask(
        active=active,
        epsilon=epsilon,
        delta=DELTA,
        answers=BUDGET if active else PUBLIC,
        teachers=TEACHERS,
        points=public,
        ones=players.count_ones(sample, TEACHERS, 7, public),
        noise=np.random.default_rng(seed),
    )


def aggregator(players, answers: int, epsilon: float) -> PateGaussian:
    return PateGaussian(
        teacher=players.teacher, teachers=TEACHERS, queries=answers, epsilon=epsilon, delta=DELTA, split=7
    )


def test_votes_are_those_of_the_running_learner(perceptrons, data) -> None:
    sample, public, _ = data
    state = aggregator(perceptrons, PUBLIC, 1.0).start(1, np.random.default_rng(0))
    state.train(Training.of([sample], np.zeros(1, int)))
    ones = [round(float(state.votes(point)[0] * TEACHERS)) for point in public]
    assert perceptrons.count_ones(sample, TEACHERS, 7, public).tolist() == ones


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
@pytest.mark.parametrize("active", [False, True])
def test_students_learn_the_same_from_counted_votes_as_from_the_learner(
    perceptrons, data, epsilon: float, active: bool
) -> None:
    sample, public, fresh = data
    state = aggregator(perceptrons, BUDGET if active else PUBLIC, epsilon).start(1, np.random.default_rng(3))
    state.train(Training.of([sample], np.zeros(1, int)))
    found = perceptrons.train(task(perceptrons, data, active=active, epsilon=epsilon, seed=3))
    if active:
        lesson = learn(ForcedLabelStudent(student=perceptrons.student, constant=0.1), state, public)[0]
        rule, answers = lesson.rule, len(lesson.asked)
    else:
        rule, answers = fit_answers(perceptrons.student, public, collect_answers(state, public))[0], PUBLIC
    assert (found.label(fresh) == rule.label(fresh)).all()
    assert found.answers == answers


def test_without_noise_students_learn_the_majority(perceptrons, data) -> None:
    asked = task(perceptrons, data, active=False, epsilon=math.inf)
    found = perceptrons.train(asked)
    majority = (2 * asked.ones >= TEACHERS).astype(np.int8)[None]
    rule = fit_answers(perceptrons.student, asked.points, majority)[0]
    assert (found.label(data[2]) == rule.label(data[2])).all()
    few = perceptrons.train(task(perceptrons, data, active=True, epsilon=math.inf))
    assert 1 <= few.answers <= BUDGET


def test_a_sparse_vector_may_screen_the_answers(perceptrons, data) -> None:
    """Labels and the halt are those of pate-svt with the largest T whose threshold is at most K/4."""
    _, public, fresh = data
    kinds = np.unique(public, axis=0, return_inverse=True)[1].ravel()  # equal points have equal votes
    ones = np.array([0, 1_000, 500])[kinds % 3]
    asked = attrs.evolve(
        task(perceptrons, data, active=False, epsilon=1.0, seed=4), screened=True, teachers=1_000, ones=ones
    )
    learner = PateSvt(
        teachers=1_000,
        queries=PUBLIC,
        epsilon=1.0,
        delta=DELTA,
        calibration="tight",
        unstable=UNSTABLE_ANSWERS,
    )
    more = attrs.evolve(learner, unstable=UNSTABLE_ANSWERS + 1)
    assert learner.effective_threshold <= 250 < more.effective_threshold
    found = perceptrons.train(asked)
    ties = np.flatnonzero(ones == 500)[:UNSTABLE_ANSWERS]
    clear = np.setdiff1d(np.arange(ties[-1] + 1), ties)
    assert found.answers == len(clear)
    weights = np.isin(np.arange(PUBLIC), clear)
    rule = fit_rule(perceptrons.student, public, (ones > 500).astype(np.int8), weights.astype(np.int8))
    assert (found.label(fresh) == rule.label(fresh)).all()


def test_too_few_teachers_for_a_sparse_vector(perceptrons, data) -> None:
    asked = attrs.evolve(task(perceptrons, data, active=False, epsilon=0.3), screened=True)
    with pytest.raises(InvalidArgument, match="more teachers are needed for a threshold of"):
        perceptrons.train(asked)


def test_cost_of_answers(perceptrons) -> None:
    sigma = aggregator(perceptrons, 40, 1.0).effective_sigma
    assert perceptrons.cost(40, of=40, epsilon=1.0, delta=DELTA) == pytest.approx(1.0)
    assert perceptrons.cost(10, of=40, epsilon=1.0, delta=DELTA) == gaussian_epsilon(
        answers=10, sigma=sigma, delta=DELTA
    )
    assert perceptrons.cost(0, of=40, epsilon=1.0, delta=DELTA) == 0


def test_the_student_may_differ() -> None:
    found = make_players("Perceptron", "GaussianNB", features=9, constant=0.2).describe()
    assert (found["teacher"], found["student"]) == ("Perceptron:9", "GaussianNB:9")
    assert found["active student"] == "GradientStepStudent(step=1, constant=0.2)"
    assert "scikit-learn" in found
    forced = make_players("Perceptron", None, features=9, active="forced").describe()
    assert forced["active student"] == "ForcedLabelStudent(constant=0.5)"


def test_an_active_student_may_take_gradient_steps(data) -> None:
    quick = make_players("Perceptron", None, features=9)
    asked = task(quick, data, active=True, epsilon=math.inf)
    found = quick.train(asked)
    answers = (2 * asked.ones >= TEACHERS).astype(int)
    service = TruthService(lambda x: [answers[(asked.points == x[0]).all(axis=1).argmax()]], most=BUDGET)
    lesson = learn(GradientStepStudent(), service, asked.points)[0]
    assert found.answers == len(lesson.asked)
    assert (found.label(data[2]) == lesson.rule.label(data[2])).all()


@pytest.mark.parametrize(
    ("teacher", "message"),
    [
        ("Perceptrn", "there is no classifier of that name, got 'Perceptrn'. Did you mean Perceptron?"),
        ("Perceptron:4", "the data have points of 9 variables, and Perceptron:4 learns from others"),
        ("thresholds:1..7", "the data have points of 9 variables, and thresholds:1..7 learns from others"),
        ("Perceptron(deep=1)", "Perceptron cannot be constructed"),
    ],
)  # fmt: skip
def test_refusals(teacher: str, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        make_players(teacher, None, features=9)


def test_pate_psq_provides_the_players() -> None:
    players = find_players("Perceptron", None, features=9, active="forced", constant=0.1)
    assert players == make_players("Perceptron", None, features=9, active="forced", constant=0.1)
    assert ACTIVE == pate_experiment_players.ACTIVE
