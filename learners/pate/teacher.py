"""Types of teachers: the empirical risk minimiser of a concept class, or a classifier of scikit-learn."""

from __future__ import annotations

import ast
import difflib
import importlib
import importlib.util
import inspect
import re
from abc import ABC, abstractmethod
from functools import lru_cache, partial
from typing import Any, Protocol

import attrs
import numpy as np

from arena.concepts import ConceptClass, parse_concept_class
from arena.errors import InvalidArgument, MissingPackage, describe_error
from arena.sample import Sample

# The modules of scikit-learn in which a classifier is searched for if its module is not named.
_MODULES = ("linear_model", "tree", "naive_bayes", "svm", "neighbors", "ensemble", "neural_network", "dummy")
# The packages that a text may name. Importing a module runs it, so no other is imported to see what it holds.
_PACKAGES = ("sklearn", "catboost", "imblearn", "lightgbm", "xgboost")
_CLASSIFIER = re.compile(r"(?P<path>[A-Za-z_][\w.]*)(\((?P<settings>.*)\))?(:(?P<features>[1-9][\d_]*))?")
# Base classes in scikit-learn of estimators that do not predict labels.
_NO_CLASSIFIERS = ("RegressorMixin", "ClusterMixin", "OutlierMixin")
_REMEDY = "Give each teacher more examples (fewer teachers), or use another classifier."
_REPETITIONS = 64  # predictions for one point that must agree


class TrainedTeacher(Protocol):
    def __call__(self, points: np.ndarray) -> np.ndarray:
        """(m,) bool: the labels of points (m, ...)."""


@attrs.frozen
class Teacher(ABC):
    """A type of teacher. Training is deterministic: equal samples give equal teachers."""

    @property
    @abstractmethod
    def point_shape(self) -> tuple[int, ...]:
        """The shape of one point."""

    @property
    def domain(self) -> tuple[Any, ...] | None:
        """The possible points, if there are finitely many."""
        return None

    @abstractmethod
    def train(self, sample: Sample) -> TrainedTeacher:
        """A teacher that is trained on this sample."""

    @staticmethod
    def from_text(text: str) -> Teacher:
        """The teacher that `text` describes: a concept class as in `arena show`, or a classifier of
        scikit-learn with its settings and, after a colon, the number of features. Raises: InvalidArgument for
        neither.

        >>> str(Teacher.from_text("points:4")), str(Teacher.from_text("LogisticRegression(C=0.5):112"))
        ('points:4', 'LogisticRegression(C=0.5):112')
        """
        name = text.split("(")[0].split(":")[0].strip()
        if name.rpartition(".")[2][:1].isupper():
            return Classifier.read(text)
        try:
            return Minimiser(parse_concept_class(text), text)
        except InvalidArgument as error:
            suggestion = _suggest_classifiers(name)
            if not suggestion:
                raise
            raise InvalidArgument(f"{error}", remedy=suggestion.strip()) from error


@attrs.frozen
class Minimiser(Teacher):
    """The empirical risk minimiser of a concept class; text: the class as the user wrote it."""

    concepts: ConceptClass
    text: str = attrs.field(default="", eq=False)

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.concepts.point_shape

    @property
    def domain(self) -> tuple[Any, ...] | None:
        return getattr(self.concepts, "domain", None)

    def train(self, sample: Sample) -> TrainedTeacher:
        self.concepts.check(sample.points)
        distinct = sample.distinct()
        minimiser = self.concepts.erm(distinct.points[None], distinct.labels[None], distinct.counts[None])
        return lambda points: self.concepts.label(np.repeat(minimiser, len(points), axis=0), points)

    def __str__(self) -> str:
        return self.text or str(self.concepts)


@attrs.frozen
class Classifier(Teacher):
    """A classifier of scikit-learn, or another class with its `fit` and `predict`.

    path: its name, with its module if it is not one of scikit-learn's usual ones. settings: of its
    constructor; `random_state` is 0 unless set. features: the length of a point; None: a number. A sample
    with one label gives a teacher that always predicts it; a classifier that predicts random labels is
    refused.
    """

    path: str
    settings: tuple[tuple[str, Any], ...] = attrs.field(default=(), eq=repr)  # lists have no hash
    features: int | None = None

    @classmethod
    def read(cls, text: str) -> Classifier:
        """Parse a text as `Teacher.from_text` does; raises InvalidArgument if there is no such classifier."""
        match = _CLASSIFIER.fullmatch(text.strip())
        if match is None:
            raise InvalidArgument(
                "a classifier is written as its name, settings in parentheses, and features after a colon",
                value=text,
                remedy="For instance LogisticRegression(C=0.5):112.",
            )
        _check_package(match["path"])
        features = None if match["features"] is None else int(match["features"])
        classifier = cls(match["path"], _parse_settings(match["settings"] or "", text), features)
        classifier.model()
        return classifier

    @property
    def point_shape(self) -> tuple[int, ...]:
        return () if self.features is None else (self.features,)

    @property
    def packages(self) -> tuple[str, ...]:
        return (self.path.partition(".")[0] if "." in self.path else "sklearn",)

    def model(self) -> Any:
        """A new classifier; raises InvalidArgument if there is none of that name or with these settings."""
        constructor = _find_class(self.path)
        settings = dict(self.settings)
        if settings.get("random_state", 0) is None:
            raise InvalidArgument(
                "training must be deterministic", value="random_state=None", remedy="Set it to a number."
            )
        try:
            if "random_state" in inspect.signature(constructor).parameters:
                settings.setdefault("random_state", 0)
            return constructor(**settings)
        except Exception as error:  # the constructor may raise anything
            raise InvalidArgument(
                f"{self.path} cannot be constructed ({describe_error(error)})", remedy="Check its settings."
            ) from error

    def train(self, sample: Sample) -> TrainedTeacher:
        if sample.labels.min() == sample.labels.max():
            only = bool(sample.labels[0])
            return lambda points: np.full(len(points), only)
        points, labels = sample.distinct().rows()
        try:
            model = self.fit_model(points, labels)
        except InvalidArgument:
            raise
        except Exception as error:
            raise InvalidArgument(
                f"{self.path} cannot be trained on {sample.size:,} examples ({describe_error(error)})",
                remedy=_REMEDY,
            ) from error
        teacher = partial(self.labels, model)
        repeated = teacher(np.repeat(points[:1], _REPETITIONS, axis=0))
        if repeated.any() != repeated.all():
            raise InvalidArgument(f"{self.path} must label a point the same way each time", remedy=_REMEDY)
        return teacher

    def fit_model(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> Any:
        """A trained classifier, by weights only if they are not all 1. Raises whatever the classifier
        raises."""
        keywords = {} if weights is None or (weights == 1).all() else {"sample_weight": weights}
        model = self.model()
        model.fit(_as_rows(points), labels, **keywords)  # its result need not be the model
        return model

    def labels(self, model: Any, points: np.ndarray) -> np.ndarray:
        """(m,) bool: the predictions of the model; raises InvalidArgument if it fails, or for other
        labels."""
        try:
            labels = np.asarray(model.predict(_as_rows(points)))
        except Exception as error:
            raise InvalidArgument(
                f"{self.path} cannot predict ({describe_error(error)})", remedy=_REMEDY
            ) from error
        if labels.shape != (len(points),) or not np.isin(labels, (0, 1)).all():
            raise InvalidArgument(
                f"{self.path} must predict labels 0 and 1", value=labels[:3].tolist(), remedy=_REMEDY
            )
        return labels.astype(bool)

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings)
        text = f"{self.path}({settings})" if settings else self.path
        return text if self.features is None else f"{text}:{self.features}"


def _as_rows(points: np.ndarray) -> np.ndarray:
    return np.asarray(points, np.float64).reshape(len(points), -1)


def _parse_settings(text: str, whole: str) -> tuple[tuple[str, Any], ...]:
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(word.arg is None for word in call.keywords):
            raise ValueError("not a keyword")
        if len({word.arg for word in call.keywords}) < len(call.keywords):
            raise ValueError("a repeated name")
        return tuple((str(word.arg), ast.literal_eval(word.value)) for word in call.keywords)
    except (SyntaxError, ValueError) as error:
        raise InvalidArgument(
            "the settings of a classifier must be names with literal values",
            value=whole,
            remedy="For instance DecisionTreeClassifier(max_depth=3).",
        ) from error


def _check_package(path: str) -> None:
    """Raises: InvalidArgument if the module of a class is not one of an installed package for classifiers."""
    package, dot, _ = path.partition(".")
    if dot and package not in _PACKAGES:
        raise InvalidArgument(
            f"a text names classifiers of installed packages only: {', '.join(_PACKAGES)}",
            value=path,
            remedy="Make the teacher in Python: Classifier('module.Class').",
        )


@lru_cache(maxsize=32)
def _find_class(path: str) -> Any:
    if importlib.util.find_spec("sklearn") is None:
        raise MissingPackage(f"{path} needs scikit-learn, which is not installed", extra="learning")
    home, _, name = path.rpartition(".")
    modules = [home] if home else [f"sklearn.{module}" for module in _MODULES]
    for module in modules:
        try:
            candidate = getattr(importlib.import_module(module), name, None)
        except ImportError as error:
            raise InvalidArgument(
                f"{module} cannot be imported ({describe_error(error)})", value=path
            ) from error
        if _is_classifier(candidate):
            return candidate
    raise InvalidArgument(
        "there is no classifier of that name",
        value=path,
        remedy=f"{_suggest_classifiers(name)}Name its module too, as in "
        "sklearn.linear_model.LogisticRegression.",
    )


def _is_classifier(candidate: Any) -> bool:
    if not (inspect.isclass(candidate) and hasattr(candidate, "fit") and hasattr(candidate, "predict")):
        return False
    return not any(base.__name__ in _NO_CLASSIFIERS for base in candidate.__mro__)


def _suggest_classifiers(name: str) -> str:
    """A question that suggests classifiers with similar names; empty if there are none."""
    if importlib.util.find_spec("sklearn") is None:
        return ""
    modules = [importlib.import_module(f"sklearn.{module}") for module in _MODULES]
    known = {
        word.casefold(): word
        for module in modules
        for word, item in vars(module).items()
        if _is_classifier(item)
    }
    near = difflib.get_close_matches(name.split("(")[0].split(":")[0].casefold(), known, n=3, cutoff=0.75)
    return f"Did you mean {' or '.join(known[word] for word in near)}? " if near else ""
