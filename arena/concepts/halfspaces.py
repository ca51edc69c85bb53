"""Halfspaces through the origin with nonnegative weights and a margin, and other concepts as such."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, as_numbers
from arena.concepts.dichotomies import Dichotomies
from arena.errors import InvalidArgument, Unsupported
from arena.sample import as_points, check_each, freeze, is_shared
from arena.settings import at_least, at_most, more_than, whole

MAX_DICHOTOMIES = 2**12  # each takes one linear programme or more
TOLERANCE = 1e-9  # rounding error of a margin, a sum of doubles
_TIE = 1e-12  # rounding error of w·x for weights of sum 1, which is 0 on the hyperplane
_USE_EMBEDDINGS = "Use a target of arena.concepts.halfspaces, and points that keep its margin."
_SPARSE = 8  # weights are stored by index if at most 1/8 of them are above 0


@attrs.frozen
class Halfspaces(ConceptClass):
    """The concepts 1[v·x >= 0] with weights v >= 0, over the cube [-1, 1]^d.

    A concept is its vector of weights, of any length except 0. Label 1 stands for y' = +1 and label 0 for y'
    = -1. A concept *agrees* with an example (x, y) if y'(v·x) >= ρ·|v|_1. This margin ρ in (0, 1] constrains
    the examples of a game, not the hypotheses of a learner. For weights of both signs, use `double_points`.

    >>> Halfspaces(3, 0.5).agrees([[0, 1, 1]], [1, 1, 0], [1]), Halfspaces(3, 0.5).vc_dimension
    (array([ True]), 2)
    """

    name: ClassVar[str] = "halfspaces"
    concept_ndim: ClassVar[int] = 1
    lists_minimisers: ClassVar[bool] = False

    dimension: int = attrs.field(validator=[whole, at_least(1)])
    margin: float = attrs.field(converter=float, validator=[more_than(0), at_most(1)])

    def __repr__(self) -> str:
        return f"Halfspaces({self.dimension} dimensions, margin {self.margin:.4g})"

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.dimension,)

    @property
    def vc_dimension(self) -> int:
        """d - 1, for every margin. Proof: docs/proofs/concept_classes.md."""
        return self.dimension - 1

    def check(self, x: Any) -> np.ndarray:
        """The points (..., d), small integers kept as they are. Raises: InvalidArgument outside the cube."""
        points = as_points(x, self.point_shape)
        seen = points[:1] if points.ndim > 1 and is_shared(points) else points
        if seen.size and not (seen.min() >= -1 and seen.max() <= 1):
            remedy = "Divide each coordinate by the largest absolute value that it can take."
            check_each((seen >= -1) & (seen <= 1), seen, "a point must lie in the cube [-1, 1]^d", remedy)
        return points.astype(np.int8) if points.dtype == bool else points

    def check_concepts(self, concepts: Any) -> np.ndarray:
        """The weights as floats (..., d). Raises: InvalidArgument for one below 0, or if all are 0."""
        rule = f"a concept must be a vector of {self.dimension} weights"
        weights = as_numbers(concepts, rule, self.point_shape)
        if weights.dtype.kind != "f":
            weights = weights.astype(float)
        total = weights.sum(axis=-1)
        if weights.size and not (weights.min() >= 0 and total.min() > 0 and np.isfinite(total).all()):
            raise InvalidArgument(
                "weights must be nonnegative, finite, and not all 0",
                value=float(weights.min()),
                remedy="For weights of both signs, use arena.concepts.halfspaces.double_points.",
            )
        return weights

    def agrees(self, concepts: Any, x: Any, y: np.ndarray) -> np.ndarray:
        weights, points = self.check_concepts(concepts), self.check(x)
        return self._agree(products(weights, points) / weights.sum(axis=-1, dtype=float), y)

    def agreement(self, concepts: Any) -> Callable[[Any, np.ndarray], np.ndarray]:
        weights = self.check_concepts(concepts)
        weights = weights / weights.sum(axis=-1, keepdims=True, dtype=float)
        support = int(np.count_nonzero(weights, axis=-1).max(initial=1))
        if support > self.dimension // _SPARSE:
            return lambda x, y: self._agree(products(weights, self.check(x)), y)
        columns = (weights == 0).argsort(axis=-1, kind="stable")[..., :support]
        sparse = np.take_along_axis(weights, columns, axis=-1)

        def agree(x: Any, y: np.ndarray) -> np.ndarray:
            points = self.check(x)
            seen = points[columns] if points.ndim == 1 else np.take_along_axis(points, columns, axis=-1)
            return self._agree(np.vecdot(sparse, seen), y)

        return agree

    def _agree(self, product: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.asarray(np.where(np.equal(y, 1), product, -product) >= self.margin - TOLERANCE)

    def labels(self, concepts: Any, points: Any) -> np.ndarray:
        weights = self.check_concepts(concepts)
        weights = np.atleast_2d(weights / weights.sum(axis=-1, keepdims=True))
        return label_products(weights @ self._check_row(points).T)

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings that some weights realise *with the margin*, in the order of binary numbers, each
        with the largest margin. Raises: Unsupported if there are more than 4,096."""
        row = np.asarray(self._check_row(points), float)
        realised: list[tuple[tuple[bool, ...], np.ndarray]] = [
            ((), np.full(self.dimension, 1 / self.dimension))
        ]
        for end in range(1, len(row) + 1):
            realised = [
                (labels, weights)
                for start, _ in realised
                for labels in ((*start, False), (*start, True))
                if (weights := separator(row[:end], np.array(labels), self.margin)) is not None
            ]
            if len(realised) > MAX_DICHOTOMIES:
                raise Unsupported(
                    f"{self} has more than {MAX_DICHOTOMIES:,} labellings of {len(row)} points",
                    remedy="Use fewer points.",
                )
        labels = np.array([labels for labels, _ in realised], bool).reshape(len(realised), len(row))
        return Dichotomies(labels, np.array([weights for _, weights in realised]).reshape(-1, self.dimension))

    def growth_bound(self, points: int) -> int:
        """Sauer's bound, or the most that `dichotomies` enumerates."""
        return min(super().growth_bound(points), MAX_DICHOTOMIES)

    def draw_points(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Raises: Unsupported, since random points of the cube do not keep the margin of a concept."""
        raise Unsupported(f"random points would not keep the margin of {self}", remedy=_USE_EMBEDDINGS)

    def draw_concept(self, rng: np.random.Generator) -> np.ndarray:
        raise Unsupported(f"a random target would not have the margin of {self}", remedy=_USE_EMBEDDINGS)

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return label_products(products(concepts, points) / concepts.sum(axis=-1))

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        minimisers = []
        counts = labels if weights is None else weights
        for row, labels_of_row, weight in zip(points, labels, counts, strict=True):
            distinct, place = np.unique(row, axis=0, return_inverse=True)
            options = self.dichotomies(distinct)
            if not len(options):
                raise Unsupported(f"no concept of {self} labels these points with its margin")
            wrong = options.labels[:, place.ravel()] != labels_of_row
            risk = (wrong * (1 if weights is None else weight)).sum(axis=1)
            minimisers.append(options.concepts[risk.argmin()])
        return np.array(minimisers).reshape(-1, self.dimension)


def products(weights: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(n,): v·x of each game, for weights (n, d), whose precision it has, and points (d,) or (n, d)."""
    if points.ndim == 1 or is_shared(points):
        point = points if points.ndim == 1 else points[0]
        return np.asarray(weights @ point.astype(weights.dtype))
    return np.asarray(np.vecdot(weights, points.astype(weights.dtype, copy=False)))


def label_products(products: np.ndarray) -> np.ndarray:
    """(k,): 1 where w·x ≥ 0, for weights of sum 1; on the hyperplane too, however sums are rounded."""
    return np.asarray(products >= -_TIE)


def separator(points: np.ndarray, labels: np.ndarray, margin: float) -> np.ndarray | None:
    """Weights (d,) >= 0 of sum 1 that give points (m, d) these labels (m,) with the largest margin; None if
    that is below `margin`."""
    from scipy.optimize import linprog  # slow to import, and rarely needed

    size, dimension = points.shape
    signed = np.where(labels[:, None] == 1, points, -points).astype(float)
    # Maximise t subject to signed @ v >= t.
    solution = linprog(
        np.append(np.zeros(dimension), -1.0),
        A_ub=np.column_stack([-signed, np.ones(size)]),
        b_ub=np.zeros(size),
        A_eq=np.append(np.ones(dimension), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * dimension + [(None, 1)],
        method="highs",
    )
    if not solution.success or not math.isfinite(solution.fun) or -solution.fun < margin - TOLERANCE:
        return None
    weights = np.clip(solution.x[:-1], 0, None)
    return np.asarray(weights / weights.sum())


@attrs.frozen(eq=False)
class HalfspaceTarget:
    """Weights (d,) of a halfspace, and its exact margin on all points in its encoding."""

    weights: np.ndarray = attrs.field(converter=freeze)
    margin: float


def double_points(points: np.ndarray) -> np.ndarray:
    """(..., 2d): (x, -x), so that weights of either sign become nonnegative, at the same margin."""
    return np.concatenate([points, -points], axis=-1)


def disjunction(variables: int, relevant: Sequence[int]) -> HalfspaceTarget:
    """x_i or ... or x_j over {0, 1}^variables: the sign of (sum of x_i - 1/2), divided by k + 1/2. Encoding:
    (x, -1). margin: 1/(2k + 1) for k relevant variables.

    >>> disjunction(3, [0, 2]).margin
    0.2
    """
    indices = np.unique(np.asarray(relevant, np.intp))
    if not 0 < len(indices) <= variables or indices[0] < 0 or indices[-1] >= variables:
        raise InvalidArgument(
            f"a disjunction needs one or more relevant variables from 0 to {variables - 1}",
            value=list(relevant),
        )
    weights = np.zeros(variables + 1)
    weights[indices] = 1
    weights[-1] = 0.5
    return HalfspaceTarget(weights / weights.sum(), 0.5 / (len(indices) + 0.5))


def decision_list(variables: int, terms: Sequence[tuple[int, int]], default: int) -> HalfspaceTarget:
    """The list "if x_i then b_i, else if ..., else default" over {0, 1}^variables (Lemma 4.10 of Bun and
    Fang).

    Encoding: (x, -1) doubled, (x, -1, -x, 1). A term outweighs all later ones of the other label by 1, the
    default of weight 1 included. No weights have a larger margin, which is 1 / (the sum of all weights).
    terms: (i, b) in order, each variable at most once.

    >>> round(1 / decision_list(4, [(0, 1), (1, 1), (2, 0)], 1).margin)
    7
    """
    indices = [i for i, _ in terms]
    if len(set(indices)) < len(indices) or not all(0 <= i < variables for i in indices):
        raise InvalidArgument(
            f"the terms of a list must be different variables from 0 to {variables - 1}", value=indices
        )
    if not {default, *(label for _, label in terms)} <= {0, 1}:
        raise InvalidArgument("the labels of a list must be 0 or 1", value=[*(b for _, b in terms), default])
    signed = np.zeros(variables)
    later = {default: 1.0, 1 - default: 0.0}  # total weight of the later terms, by label
    for i, label in reversed(terms):
        weight = later[1 - label] + (0 if label == default else 1)
        signed[i] = weight if label else -weight
        later[label] += weight
    constant = -1.0 if default else 1.0  # multiplies the coordinate -1
    weights = np.maximum(double_points(np.append(signed, constant)), 0)
    return HalfspaceTarget(weights / weights.sum(), float(1 / weights.sum()))
