"""Halfspaces through the origin with weights of at least 0, and a margin."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, Dichotomies
from arena.errors import InvalidArgument, Unsupported
from arena.points import as_points, is_shared

MOST_DICHOTOMIES = 2**12  # each takes a linear programme or more
TOLERANCE = 1e-9  # of a margin, a sum of doubles
_WITH_MARGIN = "Take arena.concepts.cube.embeddings for a target, and points that keep its margin."
_SPARSE = 8  # weights of which an eighth or less are above 0 are kept by their places


@attrs.frozen
class Halfspaces(ConceptClass):
    """The concepts 1[v·x >= 0] with weights v >= 0, over the cube [-1, 1]^d; label 1 stands for +1, 0 for -1.

    A concept is its vector of weights, of any length but 0: only the sign of v·x counts. The margin ρ binds
    examples: a concept *agrees* with (x, y) if y'(v·x) >= ρ·|v|_1, y' = ±1. It does not bind what a learner
    shows. Halfspaces with weights of both signs are had by doubling the points (`embeddings.doubled`).

    dimension: d. margin: ρ, in (0, 1].

    >>> Halfspaces(3, 0.5).agrees([[0, 1, 1]], [1, 1, 0], [1]), Halfspaces(3, 0.5).vc_dimension
    (array([ True]), 2)
    """

    name: ClassVar[str] = "halfspaces"
    concept_ndim: ClassVar[int] = 1
    lists_minimisers: ClassVar[bool] = False

    dimension: int = attrs.field()
    margin: float = attrs.field(converter=float)

    @dimension.validator
    def _check_dimension(self, attribute: object, value: object) -> None:
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise InvalidArgument("a cube has a whole number of at least 1 dimensions", value=value)

    @margin.validator
    def _check_margin(self, attribute: object, value: float) -> None:
        if not 0 < value <= 1:
            raise InvalidArgument(
                "a margin is more than 0 and at most 1",
                value=value,
                remedy="Take the least |v·x| of the points to be classified, v of length |v|_1 = 1.",
            )

    @classmethod
    def from_text(cls, rest: str) -> Halfspaces:
        """What D,MARGIN names.

        Raises: InvalidArgument with the form.
        """
        dimension, _, margin = (part.strip() for part in rest.partition(","))
        try:
            sizes = int(dimension), float(margin)
        except ValueError:
            raise InvalidArgument(
                "halfspaces have dimensions and a margin",
                value=f"{cls.name}:{rest}",
                remedy="Write halfspaces:64,0.2.",
            ) from None
        return cls(*sizes)

    def __repr__(self) -> str:
        return f"Halfspaces({self.dimension} dimensions, margin {self.margin:.4g})"

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.dimension,)

    @property
    def vc_dimension(self) -> int:
        """d - 1, whatever the margin, which binds examples only.

        The points e_i - e_d, i < d, have the labels of v_i >= v_d. Were d points shattered, the vectors of
        their products v·x_i would, for v >= 0, meet every orthant; but as X is invertible they lie in a
        halfspace a·u > 0, which misses the orthant with the signs of -a.
        """
        return self.dimension - 1

    def check(self, x: Any) -> np.ndarray:
        """The points as an array (..., d), small integers kept as they are.

        Raises: InvalidArgument for a point outside the cube.
        """
        points = as_points(x)
        if points.shape[-1:] != self.point_shape:
            raise InvalidArgument(f"a point has shape {self.point_shape}", value=points.shape)
        seen = points[:1] if points.ndim > 1 and is_shared(points) else points
        if seen.size and not (seen.min() >= -1 and seen.max() <= 1):
            raise InvalidArgument(
                "a point lies in the cube [-1, 1]^d",
                value=seen[(seen < -1) | (seen > 1)].flat[0].item(),
                remedy="Divide each coordinate by the largest value that it can take.",
            )
        return points.astype(np.int8) if points.dtype == bool else points

    def check_concepts(self, concepts: Any) -> np.ndarray:
        """The weights as floats (..., d).

        Raises: InvalidArgument for a weight below 0, and for weights that are all 0.
        """
        weights = np.asarray(concepts)
        if weights.dtype.kind not in "biuf" or weights.shape[-1:] != self.point_shape:
            raise InvalidArgument(
                f"a concept is a vector of {self.dimension} weights",
                value=(weights.dtype.name, weights.shape),
            )
        if weights.dtype.kind != "f":
            weights = weights.astype(float)
        total = weights.sum(axis=-1)
        if weights.size and not (weights.min() >= 0 and total.min() > 0 and np.isfinite(total).all()):
            raise InvalidArgument(
                "weights are at least 0, finite, and not all 0",
                value=float(weights.min()),
                remedy="For weights of both signs double the points: arena.concepts.cube.embeddings.doubled.",
            )
        return weights

    def agrees(self, concepts: Any, x: Any, y: np.ndarray) -> np.ndarray:
        """(n,) bool: whether the concept labels the point y, and does so with the margin."""
        weights, points = self.check_concepts(concepts), self.check(x)
        return self._agree(products(weights, points) / weights.sum(axis=-1, dtype=float), y)

    def agreement(self, concepts: Any) -> Callable[[Any, np.ndarray], np.ndarray]:
        """As of any class. Targets have few weights above 0, and other coordinates are not looked at."""
        weights = self.check_concepts(concepts)
        weights = weights / weights.sum(axis=-1, keepdims=True, dtype=float)
        most = int(np.count_nonzero(weights, axis=-1).max(initial=1))
        if most > self.dimension // _SPARSE:
            return lambda x, y: self._agree(products(weights, self.check(x)), y)
        columns = (weights == 0).argsort(axis=-1, kind="stable")[..., :most]
        few = np.take_along_axis(weights, columns, axis=-1)

        def agree(x: Any, y: np.ndarray) -> np.ndarray:
            points = self.check(x)
            seen = points[columns] if points.ndim == 1 else np.take_along_axis(points, columns, axis=-1)
            return self._agree(np.vecdot(few, seen), y)

        return agree

    def _agree(self, product: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.asarray(np.where(np.equal(y, 1), product, -product) >= self.margin - TOLERANCE)

    def label(self, concepts: Any, x: Any) -> np.ndarray:
        """The label that each game's weights give that game's point; exact ties are labelled 1.

        Shapes: concepts (n, d), x one point (d,) for all games or (n, d); result (n,) bool.
        """
        weights, points = self.check_concepts(concepts), self.check(x)
        if weights.ndim != 2 or points.shape not in (self.point_shape, weights.shape):
            raise InvalidArgument(
                "games need a concept and a point each", value=(weights.shape, points.shape)
            )
        return self._label(weights, points)

    def labels(self, concepts: Any, points: Any) -> np.ndarray:
        weights = self.check_concepts(concepts)
        return np.asarray(np.atleast_2d(weights) @ self._check_row(points).T >= 0)

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings of the points that some weights realise *with the margin*, as binary numbers in
        order; each with the weights whose margin is largest.

        Raises: Unsupported if they are more than 4,096.
        """
        row = np.asarray(self._check_row(points), float)
        found: list[tuple[tuple[bool, ...], np.ndarray]] = [((), np.full(self.dimension, 1 / self.dimension))]
        for end in range(1, len(row) + 1):
            found = [
                (labels, weights)
                for start, _ in found
                for labels in ((*start, False), (*start, True))
                if (weights := separator(row[:end], np.array(labels), self.margin)) is not None
            ]
            if len(found) > MOST_DICHOTOMIES:
                raise Unsupported(
                    f"{self} labels {len(row)} points in more than {MOST_DICHOTOMIES:,} ways",
                    remedy="Ask for fewer points.",
                )
        labels = np.array([labels for labels, _ in found], bool).reshape(len(found), len(row))
        return Dichotomies(labels, np.array([weights for _, weights in found]).reshape(-1, self.dimension))

    def most_dichotomies(self, points: int) -> int:
        """At most by Sauer's lemma, and no more than `dichotomies` goes through."""
        return min(super().most_dichotomies(points), MOST_DICHOTOMIES)

    def points_at_random(self, rng: np.random.Generator, size: int) -> np.ndarray:
        """Raises: Unsupported, as points of the cube come too near to the boundary of any concept."""
        raise Unsupported(f"{self} draws no points, which would not keep its margin", remedy=_WITH_MARGIN)

    def concept_at_random(self, rng: np.random.Generator) -> np.ndarray:
        """Raises: Unsupported, as `points_at_random`."""
        raise Unsupported(f"{self} draws no target, which would not have its margin", remedy=_WITH_MARGIN)

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return products(concepts, points) >= 0

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Exact, by way of the dichotomies, so for few points only: the first of the best."""
        found = []
        for row, wanted, weight in zip(
            points, labels, weights if weights is not None else labels, strict=True
        ):
            distinct, place = np.unique(row, axis=0, return_inverse=True)
            ways = self.dichotomies(distinct)
            if not len(ways):
                raise Unsupported(f"no concept of {self} labels these points with its margin")
            wrong = ways.labels[:, place.ravel()] != wanted
            counted = wrong * (weight if weights is not None else 1)
            found.append(ways.concepts[counted.sum(axis=1).argmin()])
        return np.array(found).reshape(-1, self.dimension)


def products(weights: np.ndarray, points: np.ndarray) -> np.ndarray:
    """v·x of each game, in the precision of the weights.

    Shapes: weights (n, d); points (d,), or (n, d), broadcast or not; result (n,).
    """
    if points.ndim == 1 or is_shared(points):
        point = points if points.ndim == 1 else points[0]
        return np.asarray(weights @ point.astype(weights.dtype))
    return np.asarray(np.vecdot(weights, points.astype(weights.dtype, copy=False)))


def separator(points: np.ndarray, labels: np.ndarray, margin: float) -> np.ndarray | None:
    """Weights v >= 0, |v|_1 = 1, that label the points so with the largest margin; None if it is below
    `margin`.

    Shapes: points (m, d), labels (m,) of 0 and 1; result (d,).
    """
    from scipy.optimize import linprog  # slow to import, and seldom needed

    size, dimension = points.shape
    signed = np.where(labels[:, None] == 1, points, -points).astype(float)
    # The largest t with signed @ v >= t.
    solved = linprog(
        np.append(np.zeros(dimension), -1.0),
        A_ub=np.column_stack([-signed, np.ones(size)]),
        b_ub=np.zeros(size),
        A_eq=np.append(np.ones(dimension), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * dimension + [(None, 1)],
        method="highs",
    )
    if not solved.success or not math.isfinite(solved.fun) or -solved.fun < margin - TOLERANCE:
        return None
    weights = np.clip(solved.x[:-1], 0, None)
    return np.asarray(weights / weights.sum())
