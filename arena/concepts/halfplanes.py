"""Halfplanes of R^2."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, as_numbers
from arena.concepts.dichotomies import Dichotomies, apply_signs
from arena.errors import InvalidArgument
from arena.sample import as_vectors, check_each

LARGEST = 1e100  # absolute value of a coordinate, so that products do not overflow
TOLERANCE = 1e-13  # radians; a few hundred rounding errors of an angle
_SLAB_NUMBERS = 2**19  # numbers that a search keeps in memory at once
_STEPS_AN_EXAMPLE = 4  # of the perceptron, before the exact search
_LABELS_AT_ONCE = 2**24
_ALL_0, _ALL_1 = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)


@attrs.frozen
class Halfplanes(ConceptClass):
    """The concepts 1[a·x + b·y >= c] of points (x, y). A concept is (a, b, c); (0, 0, 1) labels everything 0.

    Labellings are enumerated by directions: the order of a·x + b·y changes only where (a, b) is orthogonal to
    the line through two points. Directions less than `TOLERANCE` apart count as one, so points that are not
    integers within ±2^18 may lose labellings. Every listed concept has exactly the labels listed with it.

    Labellings are ordered: all 0, all 1, then by the angle of (a, b), fewer points labelled 1 first. Among
    equally good concepts ERM prefers all 0, then all 1, then halfplanes through the first point in the order
    of (x, y), by the angle of (a, b) from -π; repeated examples and weights may change which. ERM mostly
    takes a few times m steps for m examples that a halfplane fits, and m^2 log m otherwise.

    >>> Halfplanes().erm([[0, 0], [1, 0], [0, 1], [1, 1]], [0, 0, 0, 1])
    array([0.5, 0.5, 1. ])
    """

    name: ClassVar[str] = "halfplanes"
    concept_ndim: ClassVar[int] = 1
    lists_minimisers: ClassVar[bool] = False
    point_shape = (2,)
    vc_dimension = 3  # by Radon's theorem; proof: docs/proofs/concept_classes.md

    def check(self, x: Any) -> np.ndarray:
        """The points as floats (..., 2), within ±1e100."""
        points = as_vectors(x, self.point_shape)
        largest = np.abs(points).max(initial=0)
        if largest > LARGEST:
            rule = "coordinates must lie within ±1e100"
            raise InvalidArgument(rule, value=float(largest), remedy="Scale them down.")
        return points

    def check_concepts(self, concepts: Any) -> np.ndarray:
        array = as_numbers(concepts, "a halfplane must be (a, b, c)", (3,)).astype(np.float64, copy=False)
        check_each(np.isfinite(array), array, "the numbers of a halfplane must be finite")
        return array

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings in their order. Raises: Unsupported as `check_growth`."""
        row = self._check_row(points)
        distinct = np.unique(row + 0.0, axis=0)
        self.check_growth(len(distinct))
        constant = [_ALL_0, _ALL_1] if len(distinct) else [_ALL_0]
        concepts = np.concatenate([constant, _all_cuts(distinct)])
        return Dichotomies(self._label(concepts[:, None], row[None]), concepts)

    def growth_bound(self, points: int) -> int:
        """Exact for points of which no three lie on a line."""
        return points * (points - 1) + 2 if points else 1

    def draw_concept(self, rng: np.random.Generator) -> np.ndarray:
        """A halfplane of uniform direction through a uniform point of the square [1/4, 3/4]^2."""
        angle, (x, y) = rng.uniform(0, 2 * np.pi), rng.uniform(0.25, 0.75, 2)
        a, b = np.cos(angle), np.sin(angle)
        return np.array([a, b, a * x + b * y])

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.asarray(_along(concepts, points) >= concepts[..., 2])

    def _numbers_a_sample(self, size: int) -> int:
        return 2 * size

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        points, signs = _sort_samples(points, apply_signs(labels, weights))
        ones, zeros = (signs > 0).any(axis=1), (signs < 0).any(axis=1)
        concepts = np.array([_ALL_0, _ALL_1])[(ones & ~zeros).astype(np.intp)]
        mixed = np.flatnonzero(ones & zeros)
        if not len(mixed):
            return concepts
        concepts[mixed], fits = _separators(points[mixed], signs[mixed])
        noisy = mixed[~fits]
        step = max(1, _SLAB_NUMBERS // points.shape[1] ** 2)
        for start in range(0, len(noisy), step):
            rows = noisy[start : start + step]
            concepts[rows] = _best(points[rows], signs[rows])
        return concepts


def _sort_samples(points: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Samples sorted by (x, y), absent points first, because the search replaces them by an axis."""
    order = np.lexsort((points[..., 1], points[..., 0], signs != 0), axis=1)
    return np.take_along_axis(points, order[..., None], axis=1), np.take_along_axis(signs, order, axis=1)


def _along(directions: np.ndarray, points: np.ndarray) -> np.ndarray:
    # Product by product, because the rounding of a matrix product depends on the shapes.
    along = directions[..., 0] * points[..., 0]
    along += directions[..., 1] * points[..., 1]
    return np.asarray(along)


def _directions(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(b, g, 2): directions, up to sign and sorted by angle, in which points (b, m, 2) take all orders that
    they can take, and (b, g) bool, False for a direction to be skipped."""
    i, j = np.triu_indices(points.shape[1], 1)
    lines = points[:, j] - points[:, i]
    lines = _with_axes(lines, (lines != 0).any(axis=2))
    backwards = (lines[..., 0] < 0) | ((lines[..., 0] == 0) & (lines[..., 1] < 0))
    lines = np.where(backwards[..., None], -lines, lines)
    angles = np.arctan2(lines[..., 1], lines[..., 0])
    order = np.argsort(angles, axis=1)
    angles = np.take_along_axis(angles, order, axis=1)
    lines = np.take_along_axis(lines, order[..., None], axis=1)
    gaps = np.diff(angles, axis=1, append=angles[:, :1] + np.pi)
    between = lines + np.concatenate([lines[:, 1:], -lines[:, :1]], axis=1)
    return np.stack([-between[..., 1], between[..., 0]], axis=2), gaps > TOLERANCE


def _with_axes(lines: np.ndarray, apart: np.ndarray) -> np.ndarray:
    """The two axes, followed by vectors `lines` (b, k, 2), so that adjacent angles differ by less than π.
    Vectors that are not `apart` (b, k) are replaced by an axis. All are scaled by powers of two, so that sums
    and products of integers stay exact."""
    axes = np.broadcast_to(np.eye(2), (len(lines), 2, 2))
    lines = np.concatenate([axes, np.where(apart[..., None], lines, [1.0, 0.0])], axis=1)
    exponents = np.frexp(np.abs(lines).max(axis=2))[1]
    return np.asarray(np.ldexp(lines, -exponents[..., None]))


def _all_cuts(points: np.ndarray) -> np.ndarray:
    """(k, 3): one concept for each labelling of distinct points (m, 2) that is not constant."""
    size = len(points)
    if size < 2:
        return np.zeros((0, 3))
    directions, wide = _directions(points[None])
    turning = directions[wide]
    step = max(1, _LABELS_AT_ONCE // size**2)
    all_ones = np.packbits(np.ones(size, bool))
    concepts: list[list[np.ndarray]] = [[], []]
    labels: list[list[np.ndarray]] = [[], []]
    before = np.zeros((1, size - 1, len(all_ones)), np.uint8)  # all 0, which is the labelling of no cut
    for start in range(0, len(turning), step):
        directions = turning[start : start + step]
        along = _along(directions[:, None], points)
        values = np.sort(along, axis=1)[:, ::-1]
        cuts, below = values[:, :-1], values[:, 1:]
        bits = np.packbits(along[:, None, :] >= cuts[..., None], axis=2)
        # Few of the labellings change from one direction to the next.
        fresh = (cuts > below) & (bits != np.concatenate([before, bits[:-1]])).any(axis=2)
        before = bits[-1:]
        which, cut = np.nonzero(fresh)
        concepts[0].append(np.column_stack([directions[which], cuts[which, cut]]))
        labels[0].append(bits[which, cut])
        # The opposite direction, where the points below the cut are labelled 1.
        which, back = np.nonzero(fresh[:, ::-1])
        cut = size - 2 - back
        concepts[1].append(-np.column_stack([directions[which], below[which, cut]]))
        labels[1].append(all_ones ^ bits[which, cut])
    _, first = np.unique(np.concatenate(labels[0] + labels[1]), axis=0, return_index=True)
    return np.asarray(np.concatenate(concepts[0] + concepts[1])[np.sort(first)])


def _separators(points: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Concepts (b, 3) without errors, and (b,) bool, whether a few steps of the perceptron found one, on the
    worst pair of a point labelled 1 and one labelled 0. Shapes: points (b, m, 2), signs (b, m), sorted."""
    x = points
    is_1, is_0 = signs > 0, signs < 0
    concepts, fits = np.zeros((len(points), 3)), np.zeros(len(points), bool)
    weights = _box_centre(x, is_1) - _box_centre(x, is_0)
    left = np.arange(len(points))
    max_steps = _STEPS_AN_EXAMPLE * (is_1 | is_0).sum(axis=1)
    for step in range(1, int(max_steps.max()) + 1):
        rows = np.arange(len(left))
        along = _along(weights[:, None], x)
        low = np.where(is_1, along, np.inf).argmin(axis=1)
        high = np.where(is_0, along, -np.inf).argmax(axis=1)
        cut = along[rows, low]
        good = cut > along[rows, high]
        concepts[left[good]] = np.column_stack([weights, cut])[good]
        fits[left[good]] = True
        weights = weights + (x[rows, low] - x[rows, high])
        open_samples = ~good & (step < max_steps[left])
        if not open_samples.any():
            break
        left, weights, x, is_1, is_0 = (a[open_samples] for a in (left, weights, x, is_1, is_0))
    return concepts, fits


def _box_centre(points: np.ndarray, members: np.ndarray) -> np.ndarray:
    low = np.where(members[..., None], points, np.inf).min(axis=1)
    high = np.where(members[..., None], points, -np.inf).max(axis=1)
    return np.asarray(low / 2 + high / 2)


def _best(points: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """A concept (b, 3) with the largest sum of signs. Shapes: points (b, m, 2), signs (b, m), sorted.

    Some best halfplane has a point of positive sign on its boundary, else a smaller set would be as good. So
    the boundary is rotated around each such point (the pivot), and every other point enters and leaves once.
    The rows of the arrays are the pivots of all samples.
    """
    sample, pivot = np.nonzero(signs > 0)
    rows = np.arange(len(sample))
    lines = points[sample] - points[sample, pivot][:, None]
    changes = signs[sample]
    apart = (lines != 0).any(axis=2) & (changes != 0)
    always = np.where(apart, 0, changes).sum(axis=1)  # copies of the pivot
    changes = np.concatenate([np.zeros((len(rows), 2), signs.dtype), np.where(apart, changes, 0)], axis=1)
    lines = _with_axes(lines, apart)
    # A point is inside while (a, b) is within a quarter turn of its direction from the pivot.
    enters = np.stack([lines[..., 1], -lines[..., 0]], axis=2)
    events = np.concatenate([enters, -enters], axis=1) + 0.0  # no -0.0, whose angle differs
    angles = np.arctan2(events[..., 1], events[..., 0])
    before, after = np.split(angles, 2, axis=1)
    always = always + np.where(after < before, changes, 0).sum(axis=1)
    order = np.argsort(angles, axis=1, kind="stable")
    angles = np.take_along_axis(angles, order, axis=1)
    gaps = np.diff(angles, axis=1, append=angles[:, :1] + 2 * np.pi)
    entered = np.take_along_axis(np.concatenate([changes, -changes], axis=1), order, axis=1)
    gains = np.where(gaps > TOLERANCE, always[:, None] + np.cumsum(entered, axis=1), 0)
    place = gains.argmax(axis=1)
    gains = gains[rows, place]
    starts = np.flatnonzero(np.diff(sample, prepend=-1))
    best = np.maximum.reduceat(gains, starts)
    first = np.flatnonzero(gains == best[sample])
    first = first[np.diff(sample[first], prepend=-1) > 0]
    ends = [order[first, (place[first] + i) % order.shape[1]] for i in (0, 1)]
    directions = events[first, ends[0]] + events[first, ends[1]]
    cuts = _along(directions, points[sample[first], pivot[first]])
    concepts = np.column_stack([directions, cuts])
    concepts[best <= np.maximum(signs.sum(axis=1), 0)] = _ALL_1
    concepts[(best <= 0) & (signs.sum(axis=1) <= 0)] = _ALL_0
    return concepts
