"""Halfplanes of R^2."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, Dichotomies
from arena.concepts.dichotomies import signs_of
from arena.concepts.line.domain import as_vectors
from arena.errors import InvalidArgument

LARGEST = 1e100  # of a coordinate, so that products do not overflow
TOLERANCE = 1e-13  # of an angle, a few hundred roundings
_SLAB = 2**19  # numbers that a search holds at once
_TRIES = 4  # an example
_CUTS = 2**24  # labels that are made at once
_ALL_0, _ALL_1 = (0.0, 0.0, 1.0), (0.0, 0.0, -1.0)


@attrs.frozen
class Halfplanes(ConceptClass):
    """The concepts 1[a·x + b·y >= c] of points (x, y); a concept is (a, b, c), and (0, 0, 1) labels
    everything 0.

    m points have at most m(m - 1) + 2 labellings, and as many where no three lie on a line. They are found by
    directions: the order of a·x + b·y changes only where (a, b) is at right angles to the line through two
    points, so one direction between any two neighbouring ones of these is enough. Each concept that is listed
    labels the points as told to the last bit. For whole numbers within ±2^18 that is all labellings; of other
    points, directions that are less than 1e-13 apart count as one.

    The order of labellings: all 0, all 1, then by the angle of (a, b), and the fewer labelled 1 the earlier.
    `dichotomies` of more points may know what ERM returns by another concept of the same labelling. Of
    equally good ones ERM prefers all 0, all 1, and then halfplanes through the first point in the order of x
    and y, by the angle of (a, b) from -π. Copies that are listed and copies that a weight counts may get
    different ones of equally good halfplanes. A sample that a halfplane fits takes a few times m steps,
    mostly; others take m^2 log m.

    >>> Halfplanes().erm([[0, 0], [1, 0], [0, 1], [1, 1]], [0, 0, 0, 1])
    array([0.5, 0.5, 1. ])
    """

    name: ClassVar[str] = "halfplanes"
    concept_ndim: ClassVar[int] = 1
    lists_minimisers: ClassVar[bool] = False

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (2,)

    @property
    def vc_dimension(self) -> int:
        """3: of four points one lies between the other three, or two between the other two (Radon)."""
        return 3

    def check(self, x: Any) -> np.ndarray:
        """The points as floats (..., 2).

        Raises: InvalidArgument for a value that is not finite or beyond ±1e100, or a vector of another
        length.
        """
        points = as_vectors(x, self.point_shape)
        largest = np.abs(points).max(initial=0)
        if largest > LARGEST:
            raise InvalidArgument(
                "coordinates lie within ±1e100",
                value=float(largest),
                remedy="Scale them down.",
            )
        return points

    def check_concepts(self, concepts: Any) -> np.ndarray:
        """(a, b, c) as floats (..., 3)."""
        array = np.asarray(concepts)
        if array.dtype.kind not in "biuf" or array.shape[-1:] != (3,):
            raise InvalidArgument("a halfplane is (a, b, c)", value=(array.dtype.name, array.shape))
        array = array.astype(np.float64, copy=False)
        if not np.isfinite(array).all():
            raise InvalidArgument(
                "a halfplane has finite numbers", value=array[~np.isfinite(array)].flat[0].item()
            )
        return array

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings in their order.

        Raises: Unsupported if so many points may have more than 2^20.
        """
        row = self._check_row(points)
        distinct = np.unique(row + 0.0, axis=0)
        self.check_solutions(len(distinct))
        constant = [_ALL_0, _ALL_1] if len(distinct) else [_ALL_0]
        concepts = np.concatenate([constant, _all_cuts(distinct)])
        return Dichotomies(self._label(concepts[:, None], row[None]), concepts)

    def most_dichotomies(self, points: int) -> int:
        """Exactly, for points of which no three lie on a line."""
        return points * (points - 1) + 2 if points else 1

    def concept_at_random(self, rng: np.random.Generator) -> np.ndarray:
        """A uniform direction; the boundary runs through a uniform point of the middle half of the unit
        square. It labels between an eighth and seven eighths of the square 1.
        """
        angle, (x, y) = rng.uniform(0, 2 * np.pi), rng.uniform(0.25, 0.75, 2)
        a, b = np.cos(angle), np.sin(angle)
        return np.array([a, b, a * x + b * y])

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.asarray(_along(concepts, points) >= concepts[..., 2])

    def _numbers_a_sample(self, size: int) -> int:
        return 2 * size

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        points, signs = _in_order(points, signs_of(labels, weights))
        ones, zeros = (signs > 0).any(axis=1), (signs < 0).any(axis=1)
        found = np.array([_ALL_0, _ALL_1])[(ones & ~zeros).astype(np.intp)]
        mixed = np.flatnonzero(ones & zeros)
        if not len(mixed):
            return found
        found[mixed], fits = _separators(points[mixed], signs[mixed])
        noisy = mixed[~fits]
        step = max(1, _SLAB // points.shape[1] ** 2)
        for start in range(0, len(noisy), step):
            rows = noisy[start : start + step]
            found[rows] = _best(points[rows], signs[rows])
        return found


def _in_order(points: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Samples sorted by x and y, so that the order of examples says nothing; absent points come first, where
    they stand beside the axes that a search takes them for.
    """
    order = np.lexsort((points[..., 1], points[..., 0], signs != 0), axis=1)
    return np.take_along_axis(points, order[..., None], axis=1), np.take_along_axis(signs, order, axis=1)


def _along(directions: np.ndarray, points: np.ndarray) -> np.ndarray:
    # Product by product, as a matrix product rounds otherwise for tables of other shapes.
    along = directions[..., 0] * points[..., 0]
    along += directions[..., 1] * points[..., 1]
    return np.asarray(along)


def _directions(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Directions, up to their sign, in which points have all the orders that they have; by angle.

    Shapes: points (b, m, 2); result (b, g, 2), and (b, g) bool: False where a direction is to be left out.
    """
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
    """Vectors (b, k, 2) behind those along the axes, so that gaps between them and their opposites are of
    less than half a turn; those that are not apart, (b, k) bool, become such as well.

    All get nearly one length, by powers of two: exactly, so that sums and products of whole numbers stay so.
    """
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
    step = max(1, _CUTS // size**2)
    every = np.packbits(np.ones(size, bool))
    concepts: list[list[np.ndarray]] = [[], []]
    labels: list[list[np.ndarray]] = [[], []]
    before = np.zeros((1, size - 1, len(every)), np.uint8)  # no labels of a cut: all 0
    for start in range(0, len(turning), step):
        now = turning[start : start + step]
        along = _along(now[:, None], points)
        values = np.sort(along, axis=1)[:, ::-1]
        cuts, below = values[:, :-1], values[:, 1:]
        bits = np.packbits(along[:, None, :] >= cuts[..., None], axis=2)
        # Turning on changes few of the labellings.
        fresh = (cuts > below) & (bits != np.concatenate([before, bits[:-1]])).any(axis=2)
        before = bits[-1:]
        which, cut = np.nonzero(fresh)
        concepts[0].append(np.column_stack([now[which], cuts[which, cut]]))
        labels[0].append(bits[which, cut])
        # The other way round, where the points below the cut are labelled 1.
        which, back = np.nonzero(fresh[:, ::-1])
        cut = size - 2 - back
        concepts[1].append(-np.column_stack([now[which], below[which, cut]]))
        labels[1].append(every ^ bits[which, cut])
    _, first = np.unique(np.concatenate(labels[0] + labels[1]), axis=0, return_index=True)
    return np.asarray(np.concatenate(concepts[0] + concepts[1])[np.sort(first)])


def _separators(points: np.ndarray, signs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Concepts (b, 3) that make no mistake, and (b,) bool: whether one was found by a few steps.

    The perceptron on the differences of a point labelled 1 and one labelled 0, each time with the worst of
    them. Shapes: points (b, m, 2), signs (b, m), ordered.
    """
    x = points
    is_1, is_0 = signs > 0, signs < 0
    found, fits = np.zeros((len(points), 3)), np.zeros(len(points), bool)
    weights = _middle(x, is_1) - _middle(x, is_0)
    left = np.arange(len(points))
    tries = _TRIES * (is_1 | is_0).sum(axis=1)
    for turn in range(1, int(tries.max()) + 1):
        rows = np.arange(len(left))
        along = _along(weights[:, None], x)
        low = np.where(is_1, along, np.inf).argmin(axis=1)
        high = np.where(is_0, along, -np.inf).argmax(axis=1)
        cut = along[rows, low]
        good = cut > along[rows, high]
        found[left[good]] = np.column_stack([weights, cut])[good]
        fits[left[good]] = True
        weights = weights + (x[rows, low] - x[rows, high])
        on = ~good & (turn < tries[left])
        if not on.any():
            break
        left, weights, x, is_1, is_0 = (a[on] for a in (left, weights, x, is_1, is_0))
    return found, fits


def _middle(points: np.ndarray, members: np.ndarray) -> np.ndarray:
    """(b, 2): the middle of the box around the members."""
    low = np.where(members[..., None], points, np.inf).min(axis=1)
    high = np.where(members[..., None], points, -np.inf).max(axis=1)
    return np.asarray(low / 2 + high / 2)


def _best(points: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """A concept (b, 3) of the largest sum of signs. Shapes: points (b, m, 2), signs (b, m), ordered.

    Of the points that it labels 1 that nearest to the boundary may be one of sign 1, or a smaller set were as
    good; so the boundary is turned around each of these, and every point enters and leaves once. A line turns
    around each example of a sample: R lines in all.
    """
    sample, pivot = np.nonzero(signs > 0)
    rows = np.arange(len(sample))
    lines = points[sample] - points[sample, pivot][:, None]
    changes = signs[sample]
    apart = (lines != 0).any(axis=2) & (changes != 0)
    always = np.where(apart, 0, changes).sum(axis=1)  # copies of the pivot
    changes = np.concatenate([np.zeros((len(rows), 2), signs.dtype), np.where(apart, changes, 0)], axis=1)
    lines = _with_axes(lines, apart)
    # A point is in while (a, b) is within a quarter turn of its direction from the pivot.
    enters = np.stack([lines[..., 1], -lines[..., 0]], axis=2)
    events = np.concatenate([enters, -enters], axis=1) + 0.0  # -0.0 has another angle
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
    most = np.maximum.reduceat(gains, starts)
    first = np.flatnonzero(gains == most[sample])
    first = first[np.diff(sample[first], prepend=-1) > 0]
    ends = [order[first, (place[first] + i) % order.shape[1]] for i in (0, 1)]
    directions = events[first, ends[0]] + events[first, ends[1]]
    cuts = _along(directions, points[sample[first], pivot[first]])
    found = np.column_stack([directions, cuts])
    found[most <= np.maximum(signs.sum(axis=1), 0)] = _ALL_1
    found[(most <= 0) & (signs.sum(axis=1) <= 0)] = _ALL_0
    return found
