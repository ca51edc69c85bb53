"""Axis-parallel boxes in R^d."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass
from arena.concepts.dichotomies import Dichotomies, apply_signs
from arena.concepts.line import best_intervals, check_ends, ends_in_order
from arena.settings import at_least, whole

_SLAB_NUMBERS = 2**19  # numbers that a search keeps in memory at once


@attrs.frozen
class Boxes(ConceptClass):
    """The concepts 1[low_i <= x_i <= high_i for every axis i] of points in R^d, and the empty box.

    A concept is (low_1, ..., low_d, high_1, ..., high_d), and (inf, ..., -inf, ...) for the empty box, which
    comes first. The others are ordered by high_1, decreasing low_1, high_2, decreasing low_2, and so on. ERM
    returns the first of the best boxes with ends among the sample's coordinates, in d·m steps for m examples
    that a box fits, else m log m on the line, m^3 in the plane, and m^2 times as many for each further
    dimension. `dichotomies` lists the first box for each labelling.

    >>> Boxes(2).erm([[0, 0], [1, 3], [2, 1], [5, 5]], [0, 1, 1, 0])
    array([1., 1., 2., 3.])
    """

    name: ClassVar[str] = "boxes"
    concept_ndim: ClassVar[int] = 1

    dimension: int = attrs.field(validator=[whole, at_least(1)])

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.dimension,)

    @property
    def vc_dimension(self) -> int:
        """2d. Proof: docs/proofs/concept_classes.md."""
        return 2 * self.dimension

    def check_concepts(self, concepts: Any) -> np.ndarray:
        return check_ends(concepts, self.dimension)

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings in the order of the concepts. Raises: Unsupported as `check_growth`."""
        row = self._check_row(points)
        distinct, place = np.unique(row + 0.0, axis=0, return_inverse=True)
        self.check_growth(len(distinct))
        members, boxes = _least_boxes(distinct)
        return Dichotomies(_unpack(members, len(distinct))[:, place.ravel()], boxes)

    def draw_concept(self, rng: np.random.Generator) -> np.ndarray:
        """A cube in the unit cube with a uniform volume between 1/4 and 3/4, at a uniform place."""
        side = rng.uniform(0.25, 0.75) ** (1 / self.dimension)
        low = rng.uniform(0, 1 - side, self.dimension)
        return np.concatenate([low, low + side])

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        low, high = concepts[..., : self.dimension], concepts[..., self.dimension :]
        # Axis by axis, because numpy is slow to reduce a last axis of two or three numbers.
        inside = (points[..., 0] >= low[..., 0]) & (points[..., 0] <= high[..., 0])
        for axis in range(1, self.dimension):
            inside &= (points[..., axis] >= low[..., axis]) & (points[..., axis] <= high[..., axis])
        return np.asarray(inside)

    def _numbers_a_sample(self, size: int) -> int:
        return size * self.dimension

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        return self._best(points, apply_signs(labels, weights))

    def _best(self, points: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """The first box with the largest sum of signs. Shapes: points (b, m, d), signs (b, m)."""
        boxes = _bounding_boxes(points, signs > 0)
        noisy = (self._label(boxes[:, None], points) & (signs < 0)).any(axis=1)
        if noisy.any():
            boxes[noisy] = self._search(points[noisy], signs[noisy])
        return boxes

    def _search(self, points: np.ndarray, signs: np.ndarray) -> np.ndarray:
        if self.dimension == 1:
            return best_intervals(points[..., 0], signs)
        if self.dimension > 2:
            return np.array([self._search_one(row, sign) for row, sign in zip(points, signs, strict=True)])
        step = max(1, _SLAB_NUMBERS // points.shape[1] ** 2)
        slabs = [slice(start, start + step) for start in range(0, len(points), step)]
        return np.concatenate([_best_in_plane(points[s], signs[s]) for s in slabs])

    def _search_one(self, points: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """The first of the best boxes of one sample, over the intervals of the first axis."""
        x, lower = points[:, 0], Boxes(self.dimension - 1)
        values = np.unique(x[signs > 0])
        low, high = (values[ends] for ends in ends_in_order(len(values)))
        inside = np.where((x >= low[:, None]) & (x <= high[:, None]), signs, 0)
        others = np.broadcast_to(points[:, 1:], (*inside.shape, self.dimension - 1))
        boxes = lower._best(others, inside)
        gains = np.where(lower._label(boxes[:, None], others), inside, 0).sum(axis=1)
        best = gains.argmax()
        if gains[best] <= 0:
            return np.repeat([np.inf, -np.inf], self.dimension)
        lows, highs = np.split(boxes[best], 2)
        return np.concatenate([[low[best]], lows, [high[best]], highs]) + 0.0


def _bounding_boxes(points: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """The least boxes around the points `inside`. Shapes: points (b, m, d), inside (b, m); result (b, 2d)."""
    lows = [np.where(inside, x, np.inf).min(axis=1, initial=np.inf) for x in np.moveaxis(points, -1, 0)]
    highs = [np.where(inside, x, -np.inf).max(axis=1, initial=-np.inf) for x in np.moveaxis(points, -1, 0)]
    return np.stack(lows + highs, axis=1) + 0.0


def _best_in_plane(points: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """The first of the best boxes (b, 4) of samples (b, m, 2), signs (b, m): first the strip along x_1 in
    which an interval of x_2 has the largest sum of signs, then this interval."""
    samples, size, _ = points.shape
    rows = np.arange(samples)
    order = np.argsort(np.where(signs != 0, points[..., 0], np.inf), axis=1)
    x, y, signs = (np.take_along_axis(a, order, axis=1) for a in (points[..., 0], points[..., 1], signs))
    signs = _narrow(signs)
    present, changes = signs != 0, x[:, 1:] != x[:, :-1]
    edge = np.ones((samples, 1), bool)
    starts = np.concatenate([edge, changes], axis=1) & present
    ends = np.concatenate([changes | ~present[:, 1:], edge], axis=1) & present
    rank = _dense_ranks(y)
    # The sum of the signs at each x_2 in the strip that starts at each low: (x_2, low, sample).
    sums = np.zeros((size, size, samples), signs.dtype)
    best = np.zeros(samples, signs.dtype)
    low, high = np.zeros((2, samples), np.intp)
    for j in range(size):
        sums[rank[:, j], : j + 1, rows] += signs[:, j, None]
        if not ends[:, j].any():
            continue
        gains = np.where(starts.T[: j + 1], _best_runs(sums[:, : j + 1]), 0)
        i = j - gains[::-1].argmax(axis=0)
        gain = gains[i, rows]
        better = ends[:, j] & (gain > best)
        best[better], low[better], high[better] = gain[better], i[better], j
    places = np.arange(size)
    strip = present & (places >= low[:, None]) & (x >= x[rows, low][:, None]) & (x <= x[rows, high][:, None])
    along = best_intervals(y, np.where(strip, signs, 0))
    sides = np.stack([x[rows, low], along[:, 0], x[rows, high], along[:, 1]], axis=1)
    return np.where(best[:, None] > 0, sides, [np.inf, np.inf, -np.inf, -np.inf]) + 0.0


def _narrow(signs: np.ndarray) -> np.ndarray:
    """Signs (b, m) as the smallest integers that hold their sums, which numpy adds faster."""
    if signs.dtype != np.int64:
        return signs
    largest = int(np.abs(signs).sum(axis=1).max(initial=0))
    return np.asarray(signs.astype(np.min_scalar_type(-largest - 1)))


def _best_runs(sums: np.ndarray) -> np.ndarray:
    run = sums[0].copy()
    best = run.copy()
    for entry in sums[1:]:
        np.maximum(run, 0, out=run)
        run += entry
        np.maximum(best, run, out=best)
    return np.asarray(best)


def _dense_ranks(values: np.ndarray) -> np.ndarray:
    """(b, m): the number of distinct smaller values in the row, for values (b, m)."""
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    steps = np.zeros(values.shape, np.intp)
    np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1, out=steps[:, 1:])
    ranks = np.empty_like(steps)
    np.put_along_axis(ranks, order, steps, axis=1)
    return ranks


# --- all labellings of some points, as bit sets (words, sets) -----------------------------------------------


def _least_boxes(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sets of distinct points (m, d) that boxes contain, and their least boxes (k, 2d), in order: axis by
    axis, every interval is intersected with every set. A result is kept if it has points at both ends of this
    interval and of the previous ones, so that each set occurs once, with its least box."""
    size, dimension = points.shape
    sets = _pack(np.ones((min(1, size), size), bool))
    ends: list[np.ndarray] = []  # (words, sets): the points at the ends of each set's previous intervals
    sides = np.zeros((2, 0, sets.shape[1]))  # lows and highs of the previous axes
    for x in points.T:
        values, rank = np.unique(x, return_inverse=True)
        at = _pack(rank.ravel() == np.arange(len(values))[:, None])
        low, high = ends_in_order(len(values))
        between = _pack((rank.ravel() >= low[:, None]) & (rank.ravel() <= high[:, None]))
        step = max(1, _SLAB_NUMBERS // max(1, between.size))
        parts = [(sets[:, :0], *np.zeros((2, 0), np.intp))]
        for start in range(0, sets.shape[1], step):
            inside = sets[:, start : start + step, None] & between[:, None]
            tight = _meets(inside, at[:, None, low]) & _meets(inside, at[:, None, high])
            for end in ends:
                tight &= _meets(inside, end[:, start : start + step, None])
            parent, interval = np.nonzero(tight)
            parts.append((inside[:, parent, interval], parent + start, interval))
        sets, parent, interval = (np.concatenate(column, axis=-1) for column in zip(*parts, strict=True))
        ends = [*(end[:, parent] for end in ends), at[:, low[interval]], at[:, high[interval]]]
        new = np.stack([values[low[interval]], values[high[interval]]])[:, None]
        sides = np.concatenate([sides[:, :, parent], new], axis=1)
    empty = np.repeat([[np.inf], [-np.inf]], dimension, axis=0)
    boxes = np.concatenate([empty, sides.reshape(2 * dimension, -1)], axis=1)
    return np.concatenate([np.zeros((len(sets), 1), sets.dtype), sets], axis=1), boxes.T


def _meets(sets: np.ndarray, others: np.ndarray) -> np.ndarray:
    return np.asarray(np.bitwise_or.reduce(sets & others, axis=0) != 0)


def _pack(members: np.ndarray) -> np.ndarray:
    """Rows of booleans (k, m) as bits (words, k)."""
    padded = np.zeros((len(members), max(1, -(-members.shape[1] // 64)) * 64), bool)
    padded[:, : members.shape[1]] = members
    return np.ascontiguousarray(np.packbits(padded, axis=1).view(np.uint64).T)


def _unpack(sets: np.ndarray, size: int) -> np.ndarray:
    octets = np.ascontiguousarray(sets.T).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=size).astype(bool)
