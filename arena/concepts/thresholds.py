"""Thresholds on the real line or on a finite ordered domain."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, Dichotomies
from arena.errors import InvalidArgument
from arena.points import as_points

# Up to here comparing all pairs beats sorting (measured, 10^5 and more samples at once).
MOST_FOR_PAIRS = 24
MOST_FOR_WEIGHTED_PAIRS = 12
MOST_FOR_EQUALITIES = 64
LARGEST_WHOLE = 2**53


def _domain(values: Iterable[Any] | None) -> tuple[float, ...] | None:
    if values is None:
        return None
    if not isinstance(values, Iterable):
        raise InvalidArgument("a domain is a list of numbers", value=values)
    array = as_points(values if isinstance(values, np.ndarray) else list(values))
    if array.ndim != 1:
        raise InvalidArgument("a domain is a list of numbers", value=array.tolist())
    return tuple(_floats(array).tolist())


def _increasing(instance: object, attribute: object, domain: tuple[float, ...] | None) -> None:
    if domain is None:
        return
    if not domain:
        raise InvalidArgument(
            "a domain has at least one point", value=domain, remedy="Leave it out for the line."
        )
    for low, high in pairwise(domain):
        if not low < high:
            raise InvalidArgument(
                "a domain is strictly increasing", value=(low, high), remedy="Sort it and drop repeats."
            )


@attrs.frozen(repr=False)
class Thresholds(ConceptClass):
    """The concepts c_t(x) = 1[x >= t]; a concept is its t, a float, and t = +inf labels everything 0.

    ERM picks the smallest best t among the sample's own points and +inf; no data get +inf.

    domain: None for the real line, or the points of a finite domain in increasing order. On a finite
    domain `check` refuses other points, and ERM and dichotomies give t in the domain or +inf.

    >>> Thresholds().erm([3, 1, 2], [1, 0, 1])
    array(2.)
    >>> Thresholds((1, 2, 4))
    Thresholds(3 points from 1 to 4)
    """

    name: ClassVar[str] = "thresholds"

    domain: tuple[float, ...] | None = attrs.field(default=None, converter=_domain, validator=_increasing)

    def __repr__(self) -> str:
        if self.domain is None:
            return "Thresholds()"
        points = f"{len(self.domain)} point{'s' if len(self.domain) > 1 else ''}"
        return f"Thresholds({points} from {self.domain[0]:.12g} to {self.domain[-1]:.12g})"

    @property
    def vc_dimension(self) -> int:
        return 1

    def check(self, x: Any) -> np.ndarray:
        """The points as floats: float32 stays, other types become float64.

        Raises: InvalidArgument for a value that is not finite, a whole number beyond ±2^53, or outside
        the domain.
        """
        points = _floats(as_points(x))
        if self.domain is not None:
            inside = self._inside(points)
            if not inside.all():
                raise InvalidArgument(
                    f"a point must be one of the {len(self.domain)} points of the domain "
                    f"from {self.domain[0]:g} to {self.domain[-1]:g}",
                    value=points[~inside].flat[0].item(),
                    remedy="Query a point of the domain.",
                )
        return points

    def check_concepts(self, concepts: Any) -> np.ndarray:
        """Values of t as floats: any number or infinity, in the domain or not."""
        array = np.asarray(concepts)
        if array.dtype.kind not in "biuf":
            raise InvalidArgument("thresholds must be numbers", value=array.dtype.name)
        array = _floats(array)
        if np.isnan(array).any():
            raise InvalidArgument("a threshold must be a number or infinity", value=np.nan)
        return array

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings ordered by t, one for each distinct point, and last the one of +inf: all 0."""
        array = self._check_row(points)
        thresholds = np.append(np.unique(array).astype(np.float64) + 0.0, np.inf)
        return Dichotomies(array >= thresholds[:, None], thresholds)

    @cached_property
    def _grid(self) -> np.ndarray:
        return np.array(self.domain, np.float64)

    @cached_property
    def _consecutive(self) -> bool:
        """Whether the domain is a run of whole numbers, low to high."""
        whole = self._grid[0] == np.rint(self._grid[0])
        return bool(whole and (np.diff(self._grid) == 1).all())

    def _inside(self, points: np.ndarray) -> np.ndarray:
        """Which points are in the domain, bool."""
        grid = self._grid
        # Every example of a table passes here; the search below costs several times what the others do.
        if self._consecutive:
            return np.asarray((points >= grid[0]) & (points <= grid[-1]) & (points == np.rint(points)))
        if len(grid) <= MOST_FOR_EQUALITIES:
            return np.asarray(np.logical_or.reduce([points == value for value in grid]))
        place = np.minimum(np.searchsorted(grid, points), len(grid) - 1)
        return np.asarray(grid[place] == points)

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.asarray(points >= concepts)

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        size = points.shape[1]
        if size == 0:
            return np.full(len(points), np.inf)
        if weights is None:
            signs = labels.astype(np.min_scalar_type(-size - 1)) * 2 - 1
            by_pairs = size <= MOST_FOR_PAIRS
        else:
            signs = np.where(labels, weights, -weights)
            # An absent example must be no candidate; at +inf it is the candidate that is always there.
            points = np.where(weights > 0, points, points.dtype.type(np.inf))
            by_pairs = size <= MOST_FOR_WEIGHTED_PAIRS
        best = _best_by_pairs(points.T, signs.T) if by_pairs else _best_by_sorting(points, signs)
        return best.astype(np.float64) + 0.0  # -0.0 and 0.0 are one threshold


# Both routes maximise the gain of t over +inf: the weight of label 1 less that of label 0 at points >= t.


def _best_by_pairs(points: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Compare all pairs. Shapes: points, signs (m, b); result (b,)."""
    points, signs = np.ascontiguousarray(points), np.ascontiguousarray(signs)
    gains, part = np.empty_like(signs), np.empty_like(signs)
    for gain, threshold in zip(gains, points, strict=True):
        np.multiply(signs, points >= threshold, out=part)
        np.add.reduce(part, axis=0, dtype=part.dtype, out=gain)
    best = np.maximum(gains.max(axis=0), 0)
    return np.asarray(np.where(gains == best, points, np.inf).min(axis=0))


def _best_by_sorting(points: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Sort each sample and sum from above. Shapes: points, signs (b, m); result (b,)."""
    order = np.argsort(points, axis=1)
    points = np.take_along_axis(points, order, axis=1)
    signs = np.take_along_axis(signs, order, axis=1)
    gains = np.cumsum(signs[:, ::-1], axis=1)[:, ::-1]
    # Only the first of equal points has them all above it.
    gains[:, 1:][points[:, 1:] == points[:, :-1]] = -1
    first = gains.argmax(axis=1)[:, None]
    best = np.take_along_axis(points, first, axis=1)[:, 0]
    return np.where(np.take_along_axis(gains, first, axis=1)[:, 0] >= 0, best, np.inf)


def _floats(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind in "iu":
        low, high = int(array.min(initial=0)), int(array.max(initial=0))
        if max(high, -low) > LARGEST_WHOLE:
            raise InvalidArgument(
                "whole numbers must lie within ±2^53, which float64 holds exactly",
                value=high if high > LARGEST_WHOLE else low,
                remedy="Scale them down.",
            )
    return array if array.dtype == np.float32 else array.astype(np.float64, copy=False)
