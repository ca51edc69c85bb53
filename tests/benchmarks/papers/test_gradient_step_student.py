"""The active student of gradient steps, against a plain reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.voting import TruthService

from arena.messages import UNSTABLE
from benchmarks.papers.gradient_step_student import GradientStepStudent
from learners.pate.logistic import LinearRules
from learners.pate.students import LearningResult, learn


def lesson_of(student: GradientStepStudent, truth, points, **service) -> LearningResult:
    return learn(student, TruthService(truth, **service), np.asarray(points, float))[0]


def plain(points, labels, *, step: float, constant: float, most: int) -> tuple[list[int], list[float]]:
    """The positions queried and the weights, by the formulas of the docstring, one number at a time."""
    weights, asked, wrong = [0.0] * (len(points[0]) + 1), [], 0
    for t, (point, label) in enumerate(zip(points, labels, strict=True), start=1):
        x = [*point, 1.0]
        margin = sum(w * v for w, v in zip(weights, x, strict=True))
        steps = abs(margin) / (step * sum(v * v for v in x))
        square = constant * math.log(t + 1) / t
        share = wrong / len(asked) if asked else 0.0
        if steps / t > square + math.sqrt(square * share):
            continue
        if len(asked) == most:
            break
        asked.append(t - 1)
        wrong += (margin > 0) != label
        y = 1 if label else -1
        weights = [w + step * y * v / (1 + math.exp(y * margin)) for w, v in zip(weights, x, strict=True)]
    return asked, weights


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.booleans()), min_size=1, max_size=25),
    st.sampled_from([0.2, 1.0]),
    st.sampled_from([0.01, 0.1, 1.0]),
    st.integers(1, 25),
)
def test_it_follows_the_formulas(examples, step: float, constant: float, most: int) -> None:
    points = np.array([example[:2] for example in examples], float)
    told = iter([example[2] for example in examples])
    labels = dict(enumerate(told))
    places = {tuple(point): place for place, point in enumerate(points)}
    truth = np.array([labels[places[tuple(point)]] for point in points])
    student = GradientStepStudent(step=step, constant=constant)
    lesson = lesson_of(student, lambda x: [labels[places[tuple(x[0])]]], points, most=most)
    asked, weights = plain(points.tolist(), truth, step=step, constant=constant, most=most)
    assert list(lesson.asked) == asked
    assert lesson.rule.concept == pytest.approx(weights)
    assert len(lesson.answers) == len(asked) <= most


def test_it_learns_a_rule_from_fewer_labels_than_points() -> None:
    rng = np.random.default_rng(2)
    points = rng.integers(0, 2, (400, 6)).astype(float)
    lesson = lesson_of(GradientStepStudent(constant=0.005), lambda x: x[:, 0] == 1, points)
    assert (lesson.rule.label(points) == (points[:, 0] == 1)).all()
    assert (len(lesson.asked) < 200, lesson.seen, lesson.cut) == (True, 400, False)


def test_its_rule_is_a_concept_of_linear_rules() -> None:
    points = np.random.default_rng(0).normal(size=(50, 3))
    lesson = lesson_of(GradientStepStudent(), lambda x: x[:, 1] > 0, points)
    concept = LinearRules(3)
    assert (concept.labels(lesson.rule.concept[None], points)[0] == lesson.rule.label(points)).all()


def test_an_exhausted_budget_ends_with_the_rule_so_far() -> None:
    points = np.tile([[1.0], [-1.0]], (20, 1))
    lesson = lesson_of(GradientStepStudent(constant=10.0), lambda x: x[:, 0] > 0, points, most=3)
    assert (lesson.asked, lesson.answers, lesson.seen, lesson.cut) == ((0, 1, 2), (1, 0, 1), 3, True)
    assert lesson.rule.label(points).tolist() == [True, False] * 20


def test_an_unstable_answer_does_not_change_the_rule() -> None:
    lesson = lesson_of(
        GradientStepStudent(), lambda x: x[:, 0] > 0, np.ones((3, 1)), unstable=lambda x: x[:, 0] > 0
    )
    assert lesson.answers == (UNSTABLE,) * 3
    assert (lesson.rule.concept == 0).all()
