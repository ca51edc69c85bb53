"""Rules that students learn: fitted like teachers, to labels some of which may be missing."""

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

_MOST_KEPT = 4_096  # rules


@attrs.frozen(eq=False)
class Rule:
    """What a student has learned.

    label: points (m, ...) -> their labels (m,) bool.
    concept: the same as a concept of `rule_class`; None if there is no such class.
    """

    label: Callable[[np.ndarray], np.ndarray]
    concept: Any = None


@lru_cache(maxsize=32)
def rule_class(student: Teacher) -> ConceptClass:
    """The class of the concepts that rules of `student` are: a minimiser's own, linear rules of a linear
    classifier.

    Raises: Unsupported for other classifiers.
    """
    if isinstance(student, Minimiser):
        return student.concepts
    if isinstance(student, Classifier) and student.features is not None:
        probe = np.arange(12.0)[:, None] * np.ones(student.features)
        if _weights(_trained(student, probe, np.arange(12) > 5, np.ones(12))) is not None:
            return LinearRules(student.features)
    raise Unsupported(
        "a student releases a concept: of its class, or a linear rule over points with coordinates",
        value=str(student),
        remedy="Let it be a concept class or a linear classifier with features, as LogisticRegression:112.",
    )


def fitted(student: Teacher, points: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Rule:
    """The rule for weighted examples; those of weight 0 are absent, and no examples at all make the concept
    that the class documents for no data, or the rule of a classifier that says 0.

    Shapes: points (m, ...), labels (m,) of 0 and 1, weights (m,) of at least 0.
    Raises: InvalidArgument for points outside the domain, or if the classifier cannot be trained.
    """
    if isinstance(student, Minimiser):
        return _of_concept(student, student.concepts.erm(points, labels, weights))
    assert isinstance(student, Classifier)
    return _of_classifier(student, points, labels, weights)


def fitted_each(student: Teacher, points: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> list[Rule]:
    """`fitted` to each row of labels and weights (n, m). Equal rows share a rule."""
    rows = np.concatenate([labels, weights], axis=1)
    kinds, which = np.unique(rows, axis=0, return_inverse=True)
    own_labels, own_weights = np.split(kinds, 2, axis=1)
    if isinstance(student, Minimiser):
        concepts = student.concepts.erm(points[None], own_labels, own_weights)
        rules = [_of_concept(student, concept) for concept in concepts]
    else:
        kept = PublicPoints(points)
        rules = [recalled(student, kept, *row)[0] for row in zip(own_labels, own_weights, strict=True)]
    return [rules[place] for place in which.ravel()]


def recalled(
    student: Teacher, points: PublicPoints, labels: np.ndarray, weights: np.ndarray
) -> tuple[Rule, np.ndarray]:
    """`fitted`, and how the rule labels the points (m,); remembered, as games that were told the same ask for
    the same."""
    return _kept(student, points, labels.astype(np.int8).tobytes(), weights.astype(np.int64).tobytes())


@lru_cache(maxsize=_MOST_KEPT)
def _kept(student: Teacher, points: PublicPoints, labels: bytes, weights: bytes) -> tuple[Rule, np.ndarray]:
    at = points.points
    rule = fitted(student, at, np.frombuffer(labels, np.int8), np.frombuffer(weights, np.int64))
    return rule, rule.label(at)


def concepts_of(student: Teacher, rules: list[Rule]) -> np.ndarray:
    """(n, ...): the concepts of rules, one a game."""
    if rules:
        return np.stack([rule.concept for rule in rules])
    kind = rule_class(student)
    return np.zeros((0,) if not kind.concept_ndim else (0, kind.vc_dimension))


def _of_concept(student: Minimiser, concept: Any) -> Rule:
    concept = np.asarray(concept)
    return Rule(lambda points: student.concepts.labels(concept[None], points)[0], concept)


def _of_classifier(student: Classifier, points: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Rule:
    here = weights > 0
    found = labels[here]
    if not len(found) or (found == found[0]).all():
        only = bool(len(found) and found[0])
        offset = None if student.features is None else np.append(np.zeros(student.features), 2.0 * only - 1.0)
        return Rule(lambda points: np.full(len(points), only), offset)
    model = _trained(student, points[here], found, weights[here])
    return Rule(partial(student.labels, model), _weights(model))


def _trained(student: Classifier, points: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Any:
    try:
        # A student's table is small: threads of linear algebra cost more than they bring, most of all where
        # other processes want the cores.
        with warnings.catch_warnings(), _threads().limit(limits=1):
            # A rule that has not quite converged is a rule still.
            warnings.filterwarnings("ignore", message="lbfgs failed to converge|.*not converge")
            return student.fitted(points, labels, weights)
    except InvalidArgument:
        raise
    except Exception as error:  # somebody else's classifier may raise anything
        raise InvalidArgument(
            f"{student.path} cannot be a student of {len(points):,} labels ({describe_error(error)})",
            remedy="Give more public points, or let the student be LogisticRegression.",
        ) from error


@lru_cache(maxsize=1)
def _threads() -> Any:
    from threadpoolctl import ThreadpoolController  # comes with scikit-learn

    return ThreadpoolController()


def _weights(model: Any) -> np.ndarray | None:
    """(d + 1,): the weights and the offset of a linear classifier of two labels."""
    if not hasattr(model, "coef_") or not hasattr(model, "intercept_"):
        return None
    return np.append(np.ravel(model.coef_), np.ravel(model.intercept_))
