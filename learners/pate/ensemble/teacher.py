"""What a teacher is: the empirical risk minimiser of a concept class, or any classifier of scikit-learn."""

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
from arena.errors import InvalidArgument, describe_error
from arena.sample import Sample

# Where a classifier that is named without its module is looked for.
_HOMES = ("linear_model", "tree", "naive_bayes", "svm", "neighbors", "ensemble", "neural_network", "dummy")
_CLASSIFIER = re.compile(r"(?P<path>[A-Za-z_][\w.]*)(\((?P<settings>.*)\))?(:(?P<features>[1-9][\d_]*))?")
_NO_CLASSIFIERS = (
    "RegressorMixin",
    "ClusterMixin",
    "OutlierMixin",
)  # of scikit-learn: these predict no labels
_REMEDY = "Give each teacher more examples (fewer teachers), or take another classifier."
_TRIED = 64  # times that a trained classifier is asked about one point


class Taught(Protocol):
    """A trained teacher."""

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """(m,) bool: the labels of points (m, ...)."""


@attrs.frozen
class Teacher(ABC):
    """A way to train teachers. Training draws no coins: equal samples make equal teachers."""

    @property
    @abstractmethod
    def point_shape(self) -> tuple[int, ...]:
        """The shape of one point."""

    @property
    def domain(self) -> tuple[Any, ...] | None:
        """The points there are, if they are finitely many."""
        return None

    @abstractmethod
    def train(self, sample: Sample) -> Taught:
        """A teacher of this sample."""

    @staticmethod
    def from_text(text: str) -> Teacher:
        """The teacher that `text` names: a concept class as `arena show` has it, or a classifier of
        scikit-learn with its settings and, after a colon, the features of a point.

        >>> str(Teacher.from_text("points:4")), str(Teacher.from_text("LogisticRegression(C=0.5):112"))
        ('points:4', 'LogisticRegression(C=0.5):112')

        Raises: InvalidArgument if it names neither.
        """
        name = text.split("(")[0].split(":")[0].strip()
        if name.rpartition(".")[2][:1].isupper():
            return Classifier.read(text)
        try:
            return Minimiser(parse_concept_class(text), text)
        except InvalidArgument as error:
            meant = _meant(name)
            if not meant:
                raise
            raise InvalidArgument(f"{error}", remedy=meant.strip()) from error


@attrs.frozen
class Minimiser(Teacher):
    """The empirical risk minimiser of a concept class.

    text: how people write the class.
    """

    concepts: ConceptClass
    text: str = attrs.field(default="", eq=False)

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.concepts.point_shape

    @property
    def domain(self) -> tuple[Any, ...] | None:
        return getattr(self.concepts, "domain", None)

    def train(self, sample: Sample) -> Taught:
        self.concepts.check(sample.points)
        distinct = sample.distinct()
        minimiser = self.concepts.erm(distinct.points[None], distinct.labels[None], distinct.counts[None])
        return lambda points: self.concepts.label(np.repeat(minimiser, len(points), axis=0), points)

    def __str__(self) -> str:
        return self.text or str(self.concepts)


@attrs.frozen
class Classifier(Teacher):
    """A classifier of scikit-learn, or another class with its `fit` and `predict`.

    path: its name, with its module if that is none of scikit-learn's usual ones. settings: its constructor's.
    features: the numbers that a point has; None: a point is one number.

    What it may draw at random comes from `random_state`, 0 unless set, so that training is the same again. A
    sample of one label makes a teacher that always says that label. One that draws its labels is refused.
    """

    path: str
    settings: tuple[tuple[str, Any], ...] = attrs.field(default=(), eq=repr)  # lists have no hash
    features: int | None = None

    @classmethod
    def read(cls, text: str) -> Classifier:
        """As `Teacher.from_text` reads it; raises InvalidArgument if there is no such classifier."""
        match = _CLASSIFIER.fullmatch(text.strip())
        if match is None:
            raise InvalidArgument(
                "a classifier is written as its name, settings in brackets, and features after a colon",
                value=text,
                remedy="For instance LogisticRegression(C=0.5):112.",
            )
        features = None if match["features"] is None else int(match["features"])
        found = cls(match["path"], _settings(match["settings"] or "", text), features)
        found.model()
        return found

    @property
    def point_shape(self) -> tuple[int, ...]:
        return () if self.features is None else (self.features,)

    def model(self) -> Any:
        """A fresh classifier; raises InvalidArgument if there is none of that name or with these settings."""
        made = _class_at(self.path)
        settings = dict(self.settings)
        if settings.get("random_state", 0) is None:
            raise InvalidArgument(
                "training draws no coins of its own", value="random_state=None", remedy="Set it to a number."
            )
        try:
            if "random_state" in inspect.signature(made).parameters:
                settings.setdefault("random_state", 0)
            return made(**settings)
        except Exception as error:  # somebody else's constructor may raise anything
            raise InvalidArgument(
                f"{self.path} cannot be made ({describe_error(error)})", remedy="Check its settings."
            ) from error

    def train(self, sample: Sample) -> Taught:
        if sample.labels.min() == sample.labels.max():
            only = bool(sample.labels[0])
            return lambda points: np.full(len(points), only)
        points, labels = sample.distinct().rows()
        try:
            model = self.fitted(points, labels)
        except InvalidArgument:
            raise
        except Exception as error:
            raise InvalidArgument(
                f"{self.path} cannot be trained on {sample.size:,} examples ({describe_error(error)})",
                remedy=_REMEDY,
            ) from error
        taught = partial(self.labels, model)
        same = taught(np.repeat(points[:1], _TRIED, axis=0))
        if same.any() != same.all():
            raise InvalidArgument(f"{self.path} does not label a point the same each time", remedy=_REMEDY)
        return taught

    def fitted(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None = None) -> Any:
        """A trained classifier, of examples with weights if they are not all 1; raises whatever it does."""
        given = {} if weights is None or (weights == 1).all() else {"sample_weight": weights}
        model = self.model()
        model.fit(_table(points), labels, **given)  # not everybody's returns the model
        return model

    def labels(self, model: Any, points: np.ndarray) -> np.ndarray:
        """(m,) bool: what the trained model predicts; raises InvalidArgument if it fails, or says else than
        0 and 1."""
        try:
            said = np.asarray(model.predict(_table(points)))
        except Exception as error:
            raise InvalidArgument(
                f"{self.path} cannot predict ({describe_error(error)})",
                remedy=_REMEDY,
            ) from error
        if said.shape != (len(points),) or not np.isin(said, (0, 1)).all():
            raise InvalidArgument(f"{self.path} predicts no labels", value=said[:3].tolist(), remedy=_REMEDY)
        return said.astype(bool)

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings)
        called = f"{self.path}({settings})" if settings else self.path
        return called if self.features is None else f"{called}:{self.features}"


def _table(points: np.ndarray) -> np.ndarray:
    return np.asarray(points, np.float64).reshape(len(points), -1)


def _settings(text: str, whole: str) -> tuple[tuple[str, Any], ...]:
    try:
        call = ast.parse(f"f({text})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(word.arg is None for word in call.keywords):
            raise ValueError("not by name")
        if len({word.arg for word in call.keywords}) < len(call.keywords):
            raise ValueError("a name twice")
        return tuple((str(word.arg), ast.literal_eval(word.value)) for word in call.keywords)
    except (SyntaxError, ValueError) as error:
        raise InvalidArgument(
            "the settings of a classifier are names with plain values",
            value=whole,
            remedy="For instance DecisionTreeClassifier(max_depth=3).",
        ) from error


@lru_cache(maxsize=32)
def _class_at(path: str) -> Any:
    if importlib.util.find_spec("sklearn") is None:
        raise InvalidArgument(
            f"{path} needs scikit-learn, which is not installed",
            remedy="Run pip install dp-arena[learning].",
        )
    home, _, name = path.rpartition(".")
    homes = [home] if home else [f"sklearn.{module}" for module in _HOMES]
    for module in homes:
        try:
            found = getattr(importlib.import_module(module), name, None)
        except ImportError as error:
            raise InvalidArgument(
                f"{module} cannot be imported ({describe_error(error)})", value=path
            ) from error
        if _is_classifier(found):
            return found
    raise InvalidArgument(
        "there is no classifier of that name",
        value=path,
        remedy=f"{_meant(name)}Name its module too, as in sklearn.linear_model.LogisticRegression.",
    )


def _is_classifier(found: Any) -> bool:
    if not (inspect.isclass(found) and hasattr(found, "fit") and hasattr(found, "predict")):
        return False
    return not any(base.__name__ in _NO_CLASSIFIERS for base in found.__mro__)


def _meant(name: str) -> str:
    """A sentence that names the classifiers of scikit-learn that may have been meant, or nothing."""
    if importlib.util.find_spec("sklearn") is None:
        return ""
    modules = [importlib.import_module(f"sklearn.{module}") for module in _HOMES]
    known = {
        word.casefold(): word
        for module in modules
        for word, found in vars(module).items()
        if _is_classifier(found)
    }
    near = difflib.get_close_matches(name.split("(")[0].split(":")[0].casefold(), known, n=3, cutoff=0.75)
    return f"Did you mean {' or '.join(known[word] for word in near)}? " if near else ""
