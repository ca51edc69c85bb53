"""The rules that students learn, fitted like teachers to labels of which some may be missing."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import attrs
import numpy as np

from arena.concepts import ConceptClass
from arena.errors import InvalidArgument, Unsupported, describe_error
from learners.pate.ensemble import Classifier, Minimiser, Teacher
from learners.pate.logistic import LinearRules
from learners.pate.students.public_points import PublicPoints

_CACHED_RULES = 4_096


@attrs.frozen(eq=False)
class LearnedRule:
    """A rule that a student has learned.

    label: points (m, ...) -> their labels (m,) bool.
    concept: the rule as a concept of `rule_class`; None if there is no such class.
    """

    label: Callable[[np.ndarray], np.ndarray]
    concept: Any = None


@lru_cache(maxsize=32)
def rule_class(student: Teacher) -> ConceptClass:
    """The concept class of a student's rules: that of a minimiser, or linear rules for a linear classifier.

    Raises: Unsupported for other classifiers.
    """
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
    """The rule for weighted examples; those of weight 0 are ignored.

    Without any examples it is the concept that the class documents for no data, or a classifier's rule that
    is 0 everywhere.

    Shapes: points (m, ...), labels (m,) of 0 and 1, weights (m,) of at least 0.
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
    """The result of `fit_rule` and its labels for the points (m,), cached: games with equal answers share a
    rule."""
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
    """The concepts of the rules of n games, (n, ...)."""
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
    """(d + 1,): the weights and the offset of a linear classifier of two labels."""
    if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
        return None
    return np.append(np.ravel(model.coef_), np.ravel(model.intercept_))
