"""Public points, rules, and passive students."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.voting import TruthService

from arena import InvalidArgument, Unsupported
from arena.concepts import FiniteClass, Thresholds
from arena.messages import NO_LABEL, UNSTABLE
from learners.pate.logistic import LinearRules
from learners.pate.rules import PublicPoints, fit_rule, rule_class
from learners.pate.students import collect_answers, fit_answers
from learners.pate.teacher import Minimiser, Teacher

LINE = Minimiser(Thresholds(range(6)))
POINTS = np.arange(6.0)


def test_public_points_from_text(tmp_path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("1,2\n\n3,4\n")
    assert PublicPoints.from_text(str(path)) == PublicPoints([[1, 2], [3, 4]])
    path.write_text("1\n2\n")
    assert PublicPoints.from_text(f" {path} ") == PublicPoints([1, 2]) == PublicPoints.from_text("1, 2")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,x", "public points: points must be numbers, got '1,x'. Write 0.5,1,2 or the name of a file"),
        ("nan", "points must be finite: no NaN, no infinity, got nan"),
        (
            "no.csv",
            "the file of public points no.csv cannot be read (No such file or directory). Check the path.",
        ),
    ],
)
def test_bad_text(text: str, message: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        PublicPoints.from_text(text)
    assert str(refused.value).startswith(message)


def test_bad_files(tmp_path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("1,2\n3\n")
    with pytest.raises(InvalidArgument, match="every line must have as many coordinates as the first"):
        PublicPoints.from_text(str(path))
    path.write_text("1,2\na,b\n")
    with pytest.raises(InvalidArgument, match="line 2: points must be numbers"):
        PublicPoints.from_text(str(path))
    path.write_text("")
    with pytest.raises(InvalidArgument, match=r"points\.csv is empty\. Write one point on each line\."):
        PublicPoints.from_text(str(path))


def test_the_class_of_rules() -> None:
    assert rule_class(LINE) == Thresholds(range(6))
    for text in ("LogisticRegression:3", "Perceptron:3", "LinearSVC:3", "RidgeClassifier:3"):
        assert rule_class(Teacher.from_text(text)) == LinearRules(3)
    for text in ("DecisionTreeClassifier:3", "GaussianNB:3", "LogisticRegression"):
        with pytest.raises(
            Unsupported, match="a student must release a concept: of its class, or a linear rule"
        ):
            rule_class(Teacher.from_text(text))


def test_a_linear_rule_labels_as_its_concept_does(rng) -> None:
    points = rng.standard_normal((200, 3))
    labels = (points @ [1, -2, 0.5] > 0.3).astype(int)
    student = Teacher.from_text("LogisticRegression:3")
    for weights in (np.ones(200), rng.integers(0, 3, 200)):
        rule = fit_rule(student, points, labels, weights)
        assert (rule.label(points) == LinearRules(3).labels(rule.concept[None], points)[0]).all()
        assert (rule.label(points) == labels).mean() > 0.9


@pytest.mark.parametrize("only", [0, 1])
@pytest.mark.parametrize("text", ["LogisticRegression:2", "DecisionTreeClassifier:2", "points:2"])
def test_one_label_only(only: int, text: str) -> None:
    student = Teacher.from_text(text)
    points = np.eye(2) if text != "points:2" else np.array([2.0, 2.0])
    rule = fit_rule(student, points, np.full(2, only), np.ones(2, int))
    assert (rule.label(points) == only).all() or text == "points:2"


def test_every_point_is_queried_until_the_service_halts() -> None:
    answers = collect_answers(TruthService(lambda x: x >= 3, games=2, most=4), POINTS)
    assert answers.tolist() == [[0, 0, 0, 1, NO_LABEL, NO_LABEL]] * 2
    assert collect_answers(TruthService(lambda x: x >= 3, games=0), POINTS).shape == (0, 6)


def test_unstable_answers_are_kept() -> None:
    service = TruthService(lambda x: x >= 3, unstable=lambda x: x == 2)
    assert collect_answers(service, POINTS).tolist() == [[0, 0, UNSTABLE, 1, 1, 1]]


@given(
    st.lists(st.lists(st.sampled_from([0, 1, UNSTABLE, NO_LABEL]), min_size=4, max_size=4), max_size=6),
    st.integers(0, 99),
)
@settings(max_examples=60)
def test_leaving_out_a_point_equals_the_rule_s_own_label(rows: list[list[int]], seed: int) -> None:
    """Points that are left out may be given the labels of the rule, which remains a minimiser."""
    concepts = FiniteClass(np.random.default_rng(seed).integers(0, 2, (5, 4)))
    answers = np.array(rows, np.int8).reshape(-1, 4)
    rules = fit_answers(Minimiser(concepts), np.arange(4), answers)
    for row, rule in zip(answers, rules, strict=True):
        known = row <= 1
        known &= row >= 0
        wrong = (concepts.matrix[:, known] != row[known]).sum(axis=1)
        assert wrong[rule.concept] == wrong.min()
        assert rule.concept == wrong.argmin()
        filled = np.where(known, row, concepts.matrix[rule.concept])
        of_all = (concepts.matrix != filled).sum(axis=1)
        assert of_all[rule.concept] == of_all.min()


@pytest.mark.parametrize("text", ["points:4", "LogisticRegression:2"])
def test_only_unstable_answers_still_give_a_rule(text: str) -> None:
    points = np.array([4.0, 4]) if text == "points:4" else np.eye(2)
    (rule,) = fit_answers(Teacher.from_text(text), points, np.full((1, 2), UNSTABLE))
    assert rule.label(points).shape == (2,)
    assert rule.concept is not None
