"""Teachers: their texts, refusals, and deterministic training."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from arena import InvalidArgument, Sample
from arena.concepts import Points, Thresholds
from learners.pate.independent_answers import PateGaussian
from learners.pate.teacher import Classifier, Minimiser, Teacher

RNG = np.random.default_rng(1)
PLANE = Sample(RNG.random((60, 2)), np.arange(60) % 2)
GRID = RNG.random((40, 2))


def refusal(text: str) -> str:
    with pytest.raises(InvalidArgument) as caught:
        Teacher.from_text(text)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("thresholds", ()),
        ("points:1..4", ()),
        ("rectangles:4x4", (2,)),
        ("lists:3", (3,)),
        ("LogisticRegression(C=0.5):112", (112,)),
        ("sklearn.tree.DecisionTreeClassifier(max_depth=3):2", (2,)),
        ("GaussianNB", ()),
        ("MLPClassifier(hidden_layer_sizes=(4, 4), max_iter=5):1_000", (1_000,)),
    ],
)
def test_texts_describe_teachers(text: str, shape: tuple[int, ...]) -> None:
    teacher = Teacher.from_text(text)
    assert teacher.point_shape == shape
    assert Teacher.from_text(str(teacher)) == teacher
    assert isinstance(teacher, Classifier if text[0].isupper() or text.startswith("sklearn") else Minimiser)


def test_a_class_has_its_finite_domain() -> None:
    assert Teacher.from_text("points:1..3").domain == (1, 2, 3)
    assert Teacher.from_text("thresholds").domain is None
    assert Teacher.from_text("GaussianNB").domain is None
    assert str(Minimiser(Points((1, 2)))) == str(Points((1, 2)))


@pytest.mark.parametrize(
    "text", ["MLPClassifier(hidden_layer_sizes=[4]):2", "LogisticRegression(class_weight={0: 1, 1: 2}):2"]
)
def test_settings_may_be_lists_and_dictionaries(text: str) -> None:
    learner = PateGaussian(teacher=Teacher.from_text(text))
    again = PateGaussian(teacher=Teacher.from_text(text))
    assert (learner, hash(learner)) == (again, hash(again))
    assert learner != PateGaussian(teacher=Teacher.from_text("LogisticRegression:2"))


WRITTEN = "a classifier is written as its name, settings in parentheses, and features after a colon, got"
PLAIN = "the settings of a classifier must be names with literal values, got"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("LogisticRegresion:3", "Did you mean LogisticRegression or LogisticRegressionCV?"),
        ("sklearn.tree.DecisionTreClassifier", "Did you mean DecisionTreeClassifier?"),
        ("Thing:2", "there is no classifier of that name, got 'Thing'. Name its module too"),
        ("LinearRegression:2", "there is no classifier of that name, got 'LinearRegression'"),
        ("sklearn.cluster.KMeans", "there is no classifier of that name, got 'sklearn.cluster.KMeans'"),
        ("nowhere.Thing", "a text names classifiers of installed packages only: sklearn, catboost, imblearn"),
        *((text, f"{WRITTEN} {text!r}") for text in ("SVC:_", "SVC:0", "LogisticRegression(C=1", "SVC:-1")),
        *((f"SVC({text}", f"{PLAIN} 'SVC({text}") for text in ("1)", "C=x)", "C=1, C=2)", "C=1))")),
        ("SVC(**{'C': 1})", PLAIN),
        ("SVC(C=open('x'))", PLAIN),
        ("SVC(c=1)", "SVC cannot be constructed (TypeError: "),
        ("VotingClassifier:2", "VotingClassifier cannot be constructed (TypeError: "),
        ("RandomForestClassifier(random_state=None):2", "training must be deterministic"),
    ],
)
def test_invalid_texts_are_refused(text: str, message: str) -> None:
    assert message in refusal(text)


def test_without_scikit_learn_classifiers_are_refused_and_classes_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from learners.pate.teacher import _find_class

    _find_class.cache_clear()
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "sklearn" else find(name, *rest)
    )
    assert refusal("GaussianNB:2") == (
        "GaussianNB needs scikit-learn, which is not installed. Run pip install 'dp-arena[learning]'."
    )
    assert Teacher.from_text("thresholds") == Minimiser(Thresholds())
    assert "Did you mean" not in refusal("gaussiannb")


FEWER = "Give each teacher more examples (fewer teachers), or use another classifier."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("LogisticRegression(C=-1):2", "LogisticRegression cannot be trained on 60 examples"),
        ("KNeighborsClassifier(n_neighbors=70):2", "KNeighborsClassifier cannot predict"),
        (
            "DummyClassifier(strategy='uniform'):2",
            "DummyClassifier must label a point the same way",
        ),
    ],
)
def test_classifiers_that_cannot_be_trained_are_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        Teacher.from_text(text).train(PLANE)
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(FEWER)


class Number:
    """Predicts a number that is not a label."""

    def fit(self, points: np.ndarray, labels: np.ndarray) -> None:
        pass

    def predict(self, points: np.ndarray) -> np.ndarray:
        return np.full(len(points), 0.25)


def test_classifiers_that_predict_other_labels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("learners.pate.teacher._find_class", lambda path: Number)
    with pytest.raises(
        InvalidArgument, match=r"Number must predict labels 0 and 1, got \[0.25, 0.25, 0.25\]"
    ):
        Classifier("Number", (), 2).train(PLANE)


@pytest.mark.parametrize(
    "text",
    [
        "LogisticRegression:2",
        "DecisionTreeClassifier(splitter='random'):2",
        "RandomForestClassifier(n_estimators=3):2",
        "GaussianNB:2",
        "KNeighborsClassifier:2",
    ],
)
def test_training_is_deterministic(text: str) -> None:
    teacher = Teacher.from_text(text)
    first = teacher.train(PLANE)(GRID)
    np.random.seed(99)  # noqa: NPY002 - which must not matter
    shuffled = Sample(PLANE.points[::-1], PLANE.labels[::-1])
    assert teacher.train(shuffled)(GRID).tolist() == first.tolist()
    assert first.dtype == np.bool_


@pytest.mark.parametrize("label", [0, 1])
def test_a_sample_of_one_label_gives_a_constant_teacher(label: int) -> None:
    taught = Teacher.from_text("LogisticRegression:2").train(Sample(PLANE.points, np.full(60, label)))
    assert taught(GRID).tolist() == [bool(label)] * 40


def test_a_minimiser_is_the_minimiser_of_its_class() -> None:
    sample = Sample([0.0, 1.0, 1.0, 2.0], [0, 1, 0, 1], [3, 5, 2, 4])
    taught = Teacher.from_text("thresholds").train(sample)
    threshold = Thresholds().erm(*sample.rows())
    points = np.linspace(-1, 3, 20)
    assert taught(points).tolist() == (points >= threshold).tolist()


def test_classifiers_can_be_trained_on_numbers() -> None:
    sample = Sample([0.0, 1.0], [0, 1], [5, 5])
    assert Teacher.from_text("GaussianNB").train(sample)(np.array([0.1, 0.9])).tolist() == [False, True]
