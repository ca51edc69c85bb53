"""The public points that a student may query, and the rules that it learns from labels of some of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import attrs
import numpy as np

from arena.concepts import ConceptClass
from arena.errors import InvalidArgument, Unsupported, describe_error
from arena.sample import as_points, freeze
from arena.settings import parse_rows, read_file
from learners.pate.logistic import LinearRules
from learners.pate.teacher import Classifier, Minimiser, Teacher

_MAX_SIZE = 256  # MiB of text


def _copy(points: Any) -> np.ndarray:
    return freeze(as_points(points).astype(np.float64))


def _content(points: np.ndarray) -> tuple[tuple[int, ...], bytes]:
    return points.shape, (points + 0.0).tobytes()  # -0.0 is 0.0


@attrs.frozen(cache_hash=True, repr=False)
class PublicPoints:
    """Points without labels, which need no protection. Objects with equal points are equal.

    Shapes: points (m, ...), at least one.

    >>> PublicPoints([0.5, 2]), PublicPoints.from_text("0.5,2") == PublicPoints([0.5, 2])
    (PublicPoints(2 of shape ()), True)
    """

    points: np.ndarray = attrs.field(converter=_copy, eq=_content)

    @points.validator
    def _check(self, attribute: object, value: np.ndarray) -> None:
        if value.ndim == 0 or not len(value):
            raise InvalidArgument("public points must be an array of at least one point", value=value.shape)

    @classmethod
    def from_text(cls, text: str) -> PublicPoints:
        """Read FILE.csv, with one point on each line and no header, or numbers separated by commas.

        Raises: InvalidArgument, naming the file and the line.
        """
        text = text.strip()
        if not text.endswith(".csv"):
            return cls(_numbers(text.split(","), "public points"))
        content = read_file("file of public points", text, mebibytes=_MAX_SIZE)
        rows = [_numbers(fields, f"{text}, line {line}") for line, fields in parse_rows(text, content)]
        if not rows:
            raise InvalidArgument(f"{text} is empty", remedy="Write one point on each line.")
        lengths = [len(row) for row in rows]
        if len({*lengths}) > 1:
            raise InvalidArgument(
                f"{text}: every line must have as many coordinates as the first, {lengths[0]}",
                value=next(length for length in lengths if length != lengths[0]),
                remedy="Correct the lines that have another number.",
            )
        return cls([row[0] for row in rows] if lengths[0] == 1 else rows)

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        return f"PublicPoints({len(self)} of shape {self.points.shape[1:]})"

    def __reduce__(self) -> tuple[object, ...]:
        # A pickled array comes back writable; the constructor makes it read-only again.
        return PublicPoints, (self.points,)


def _numbers(fields: list[str], where: str) -> list[float]:
    try:
        return [float(field) for field in fields]
    except ValueError:
        raise InvalidArgument(
            f"{where}: points must be numbers",
            value=",".join(fields)[:60],
            remedy="Write 0.5,1,2 or the name of a file that ends in .csv, with one point on each line.",
        ) from None


_CACHED_RULES = 4_096


@attrs.frozen(eq=False)
class LearnedRule:
    """A rule of a student. label: points (m, ...) -> (m,) bool. concept: of `rule_class`, if there is one."""

    label: Callable[[np.ndarray], np.ndarray]
    concept: Any = None


@lru_cache(maxsize=32)
def rule_class(student: Teacher) -> ConceptClass:
    """The concept class of a student's rules: that of a minimiser, or linear rules. Raises: Unsupported for
    others."""
    if isinstance(student, Minimiser):
        return student.concepts
    if isinstance(student, Classifier) and student.features is not None:
        probe = np.arange(12.0)[:, None] * np.ones(student.features)
        if _linear_weights(_train_classifier(student, probe, np.arange(12) > 5, np.ones(12))) is not None:
            return LinearRules(student.features)
    raise Unsupported(
        "a student must release a concept: of its class, or a linear rule over points with coordinates",
        value=str(student),
        remedy="Use a concept class or a linear classifier with features, as LogisticRegression:112.",
    )


def fit_rule(student: Teacher, points: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> LearnedRule:
    """The rule for weighted examples (m, ...), (m,), (m,); without any, that for no data, or 0 everywhere.

    Raises: InvalidArgument for points outside the domain, or if the classifier cannot be trained.
    """
    if isinstance(student, Minimiser):
        return _concept_rule(student, student.concepts.erm(points, labels, weights))
    assert isinstance(student, Classifier)
    return _classifier_rule(student, points, labels, weights)


def fit_rules(
    student: Teacher, points: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> list[LearnedRule]:
    """`fit_rule` for each row of labels and weights (n, m). Equal rows share a rule."""
    rows = np.concatenate([labels, weights], axis=1)
    distinct, which = np.unique(rows, axis=0, return_inverse=True)
    row_labels, row_weights = np.split(distinct, 2, axis=1)
    if isinstance(student, Minimiser):
        concepts = student.concepts.erm(points[None], row_labels, row_weights)
        rules = [_concept_rule(student, concept) for concept in concepts]
    else:
        public = PublicPoints(points)
        rules = [fit_cached(student, public, *row)[0] for row in zip(row_labels, row_weights, strict=True)]
    return [rules[index] for index in which.ravel()]


def fit_cached(
    student: Teacher, points: PublicPoints, labels: np.ndarray, weights: np.ndarray
) -> tuple[LearnedRule, np.ndarray]:
    """The result of `fit_rule` and its labels for the points (m,), cached for games with equal answers."""
    return _fit_from_bytes(
        student, points, labels.astype(np.int8).tobytes(), weights.astype(np.int64).tobytes()
    )


@lru_cache(maxsize=_CACHED_RULES)
def _fit_from_bytes(
    student: Teacher, points: PublicPoints, labels: bytes, weights: bytes
) -> tuple[LearnedRule, np.ndarray]:
    array = points.points
    rule = fit_rule(student, array, np.frombuffer(labels, np.int8), np.frombuffer(weights, np.int64))
    return rule, rule.label(array)


def stack_concepts(student: Teacher, rules: list[LearnedRule]) -> np.ndarray:
    if rules:
        return np.stack([rule.concept for rule in rules])
    kind = rule_class(student)
    return np.zeros((0,) if not kind.concept_ndim else (0, kind.vc_dimension))


def _concept_rule(student: Minimiser, concept: Any) -> LearnedRule:
    concept = np.asarray(concept)
    return LearnedRule(lambda points: student.concepts.labels(concept[None], points)[0], concept)


def _classifier_rule(
    student: Classifier, points: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> LearnedRule:
    used = weights > 0
    used_labels = labels[used]
    if not len(used_labels) or (used_labels == used_labels[0]).all():
        only = bool(len(used_labels) and used_labels[0])
        offset = None if student.features is None else np.append(np.zeros(student.features), 2.0 * only - 1.0)
        return LearnedRule(lambda points: np.full(len(points), only), offset)
    model = _train_classifier(student, points[used], used_labels, weights[used])
    return LearnedRule(partial(student.labels, model), _linear_weights(model))


def _train_classifier(
    student: Classifier, points: np.ndarray, labels: np.ndarray, weights: np.ndarray
) -> Any:
    try:
        # The data are small, so that threads of linear algebra cost more time than they save.
        with warnings.catch_warnings(), _thread_controller().limit(limits=1):
            # A rule is usable even if its training has not quite converged.
            warnings.filterwarnings("ignore", message="lbfgs failed to converge|.*not converge")
            return student.fit_model(points, labels, weights)
    except InvalidArgument:
        raise
    except Exception as error:  # the classifier may raise anything
        raise InvalidArgument(
            f"{student.path} cannot learn from {len(points):,} labels ({describe_error(error)})",
            remedy="Give more public points, or use LogisticRegression.",
        ) from error


@lru_cache(maxsize=1)
def _thread_controller() -> Any:
    from threadpoolctl import ThreadpoolController  # comes with scikit-learn

    return ThreadpoolController()


def _linear_weights(model: Any) -> np.ndarray | None:
    if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
        return None
    return np.append(np.ravel(model.coef_), np.ravel(model.intercept_))
