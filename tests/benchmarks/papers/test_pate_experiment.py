"""The experiment with noisy votes: sizes, random numbers, and students compared with the learners."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn import metrics
from support.paths import DATA
from support.voting import TruthService

from arena import InvalidArgument, Sample, Training
from arena.privacy_curves import GaussianCurve
from audits.data.one_hot import OneHotData, load_one_hot
from benchmarks.papers.gradient_step_student import GradientStepStudent
from benchmarks.papers.pate_experiment import (
    SVT,
    PateExperiment,
    Row,
    count_confusion,
    measure_accuracy,
    measure_balanced_accuracy,
    measure_f1,
)
from learners.pate.independent_answers import PateGaussian
from learners.pate.rules import fit_rule
from learners.pate.screening import PateSvt
from learners.pate.students import ForcedLabelStudent, collect_answers, fit_answers, learn
from learners.pate.teacher import Teacher

EXAMPLES = 1_800
PERCEPTRON = Teacher.from_text("Perceptron:9")
FREE, ACTIVE_FREE = Row("psq-np", math.inf), Row("asq-np", math.inf)
ROWS = (FREE, ACTIVE_FREE, Row("psq", 0.5), Row("asq", 0.5), Row("psq", 1.0), Row("asq", 1.0))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> OneHotData:
    """a determines y, except in one of twenty examples; b and c are noise."""
    rng = np.random.default_rng(5)
    a, b, c = rng.integers(0, (2, 3, 4), (EXAMPLES, 3)).T
    y = a ^ (np.arange(EXAMPLES) % 20 == 0)
    rows = [f"{'uv'[i]},{'rst'[j]},{k},{label}" for i, j, k, label in zip(a, b, c, y, strict=True)]
    path = tmp_path_factory.mktemp("data") / "d.csv"
    path.write_text("a,b,c,y\n" + "\n".join(rows) + "\n")
    return load_one_hot(path, y="y")


@pytest.fixture
def experiment(data: OneHotData) -> PateExperiment:
    asking = ForcedLabelStudent(student=PERCEPTRON, constant=0.1)
    return PateExperiment(data=data, teacher=PERCEPTRON, student=PERCEPTRON, active=asking, rows=ROWS, seed=3)


def deal(experiment: PateExperiment) -> tuple[Sample, np.ndarray, np.ndarray]:
    """Private examples, public points, and points of a test."""
    points = experiment.data.points.astype(np.float64)
    private = Sample(points[: experiment.private], experiment.data.labels[: experiment.private])
    rest = points[experiment.private :]
    return private, rest[: experiment.public], rest[experiment.public :]


def start_learner(experiment: PateExperiment, row: Row, seed: int) -> Any:
    """The shipped learner, running with teachers of its own."""
    learner = PateGaussian(
        teacher=PERCEPTRON,
        teachers=experiment.teachers,
        queries=experiment.count_answers(row),
        epsilon=row.epsilon,
        delta=experiment.delta,
        split=7,
    )
    state = learner.start(1, np.random.default_rng(seed))
    state.train(Training.of([deal(experiment)[0]], np.zeros(1, int)))
    return state


def count_votes(experiment: PateExperiment) -> np.ndarray:
    state = start_learner(experiment, Row("psq", 1.0), 0)
    return np.array([round(float(state.votes(x)[0]) * experiment.teachers) for x in deal(experiment)[1]])


@pytest.mark.parametrize(
    ("examples", "private", "public", "teachers", "budget"),
    [(8_124, 6_499, 163, 65, 49), (48_842, 39_073, 977, 391, 293)],
)
def test_sizes_are_those_of_the_papers_table_3(
    experiment: PateExperiment, examples: int, private: int, public: int, teachers: int, budget: int
) -> None:
    data = attrs.evolve(experiment.data, labels=np.zeros(examples, np.int8))
    plan = attrs.evolve(experiment, data=data)
    assert (plan.private, plan.public, plan.teachers, plan.delta) == (private, public, teachers, 1 / private)
    assert (plan.count_answers(ACTIVE_FREE), plan.count_answers(FREE)) == (budget, public)


@pytest.mark.thorough
def test_the_first_split_of_mushroom_has_the_figures_of_before() -> None:
    mushroom = load_one_hot(DATA / "mushroom.csv.gz", y="Poisonous/Edible")
    teacher = Teacher.from_text("Perceptron:117")
    rows = (FREE, ACTIVE_FREE, Row("psq", 1.0), Row("asq", 1.0))
    active = GradientStepStudent()
    plan = PateExperiment(data=mushroom, teacher=teacher, student=teacher, active=active, rows=rows)
    answers, confusions = plan.play_split(0)
    assert answers.tolist() == [163, 49, 163, 49]
    assert np.trace(confusions, axis1=1, axis2=2).tolist() == [1424, 1301, 1169, 1084, 1434]


@pytest.mark.thorough
def test_a_split_depends_on_seed_and_index_alone_and_a_row_on_no_other(experiment: PateExperiment) -> None:
    answers, confusions = experiment.play_split(1)
    assert (experiment.play_split(1)[1] == confusions).all()
    assert (experiment.play_split(2)[1] != confusions).any()
    assert (attrs.evolve(experiment, seed=4).play_split(1)[1] != confusions).any()
    alone = attrs.evolve(experiment, rows=ROWS[-1:]).play_split(1)
    assert (alone[0] == answers[-1:]).all()
    assert (alone[1] == confusions[-2:]).all()
    assert confusions[0].trace() / confusions[0].sum() == pytest.approx(0.95, abs=0.05)


def test_the_parts_of_a_split_are_a_partition_of_the_data(experiment: PateExperiment) -> None:
    seen: list[np.ndarray] = []

    @attrs.frozen
    class Keeping(Teacher):
        @property
        def point_shape(self) -> tuple[int, ...]:
            return (2,)

        def train(self, sample: Sample):  # type: ignore[no-untyped-def]
            seen.append(sample.points)

            def label(points: np.ndarray) -> np.ndarray:
                seen.append(points)
                return points[:, 0] > 900

            return label

    marked = attrs.evolve(experiment.data, points=np.arange(EXAMPLES)[:, None] * np.ones(2))
    attrs.evolve(experiment, data=marked, teacher=Keeping(), rows=()).play_split(0)
    teachers = experiment.teachers
    assert sorted(np.concatenate(seen[: teachers + 1])[:, 0]) == list(range(EXAMPLES))


@pytest.mark.thorough
@pytest.mark.parametrize("row", ROWS[2:], ids=str)
def test_students_learn_the_same_from_counted_votes_as_from_the_learner(
    experiment: PateExperiment, row: Row
) -> None:
    _, public, fresh = deal(experiment)
    state = start_learner(experiment, row, 3)
    label, answers = experiment.train_student(row, public, count_votes(experiment), np.random.default_rng(3))
    if row.active:
        lesson = learn(experiment.active, state, public)[0]
        rule, given_answers = lesson.rule, len(lesson.asked)
    else:
        rule = fit_answers(PERCEPTRON, public, collect_answers(state, public))[0]
        given_answers = len(public)
    assert (label(fresh) == rule.label(fresh)).all()
    assert answers == given_answers


def test_without_noise_students_learn_the_majority(experiment: PateExperiment) -> None:
    _, public, fresh = deal(experiment)
    ones = count_votes(experiment)
    majority = (2 * ones >= experiment.teachers).astype(np.int8)
    label, _ = experiment.train_student(FREE, public, ones, np.random.default_rng(0))
    rule = fit_answers(PERCEPTRON, public, majority[None])[0]
    assert (label(fresh) == rule.label(fresh)).all()
    quick = attrs.evolve(experiment, active=GradientStepStudent())
    label, answers = quick.train_student(ACTIVE_FREE, public, ones, np.random.default_rng(0))
    most = quick.count_answers(ACTIVE_FREE)
    service = TruthService(lambda x: [majority[(public == x[0]).all(axis=1).argmax()]], most=most)
    lesson = learn(GradientStepStudent(), service, public)[0]
    assert answers == len(lesson.asked)
    assert (label(fresh) == lesson.rule.label(fresh)).all()


def test_a_sparse_vector_may_screen_the_answers(experiment: PateExperiment) -> None:
    """Labels and the halt are those of pate-svt with the largest T whose threshold is at most K/4."""
    data = attrs.evolve(experiment.data, labels=np.zeros(125_000, np.int8))  # 1,000 teachers
    large, row = attrs.evolve(experiment, data=data), Row(SVT, 1.0)
    _, public, fresh = deal(experiment)
    kinds = np.unique(public, axis=0, return_inverse=True)[1].ravel()  # equal points have equal votes
    ones = np.array([0, 1_000, 500])[kinds % 3]
    label, answers = large.train_student(row, public, ones, np.random.default_rng(4))
    settings = {"epsilon": 1.0, "delta": large.delta, "queries": large.public, "calibration": "tight"}
    learners = [PateSvt(teachers=10**9, unstable=unstable, **settings) for unstable in range(1, 20)]
    unstable = max(learner.unstable for learner in learners if learner.effective_threshold <= 250)
    ties = np.flatnonzero(ones == 500)[:unstable]
    assert 1 < unstable < np.count_nonzero(ones == 500)
    clear = np.setdiff1d(np.arange(ties[-1] + 1), ties)
    assert answers == len(clear)
    weights = np.isin(np.arange(len(public)), clear)
    rule = fit_rule(PERCEPTRON, public, (ones > 500).astype(np.int8), weights.astype(np.int8))
    assert (label(fresh) == rule.label(fresh)).all()
    with pytest.raises(InvalidArgument, match="more teachers are needed for a threshold of"):
        experiment.train_student(Row(SVT, 0.3), public, ones[: len(public)], np.random.default_rng(0))


def test_cost_of_answers(experiment: PateExperiment) -> None:
    row = Row("psq", 1.0)
    sigma = PateGaussian(queries=experiment.public, epsilon=1.0, delta=experiment.delta).effective_sigma
    assert experiment.cost(row, experiment.public) == pytest.approx(1.0)
    assert experiment.cost(row, 10) == GaussianCurve(math.sqrt(10) / sigma).epsilon(experiment.delta)
    assert experiment.cost(row, 0) == 0
    assert math.isinf(experiment.cost(FREE, 10))


def test_confusion_counts_pairs() -> None:
    labels, predicted = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 1, 0], bool)
    assert count_confusion(labels, predicted).tolist() == [[1, 1], [1, 2]]


@pytest.mark.thorough
@settings(max_examples=25)
@given(hnp.arrays(np.int64, (3, 2, 2), elements=st.integers(0, 9)))
def test_measures_equal_those_of_scikit_learn(confusions: np.ndarray) -> None:
    confusions[:, 0, 0] += 1
    confusions[:, 1, 1] += 1
    measures = (measure_accuracy, measure_balanced_accuracy, measure_f1)
    for confusion, *ours in zip(confusions, *(measure(confusions) for measure in measures), strict=True):
        labels = np.repeat([0, 0, 1, 1], confusion.ravel())
        predicted = np.repeat([0, 1, 0, 1], confusion.ravel())
        theirs = [metrics.accuracy_score, metrics.balanced_accuracy_score, metrics.f1_score]
        assert ours == pytest.approx([measure(labels, predicted) for measure in theirs])


def test_measures_of_nothing_are_0() -> None:
    confusions = np.array([[[5, 0], [0, 0]]])
    assert (measure_balanced_accuracy(confusions)[0], measure_f1(confusions)[0]) == (0.5, 0.0)
