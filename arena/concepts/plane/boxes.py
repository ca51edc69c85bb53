"""Axis-parallel boxes in R^d."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, Dichotomies
from arena.concepts.dichotomies import signs_of
from arena.concepts.line.domain import as_vectors, at_least_one
from arena.concepts.line.real_intervals import best_intervals, check_ends, ends_in_order

_SLAB = 2**19  # numbers that a search holds at once


@attrs.frozen
class Boxes(ConceptClass):
    """The concepts 1[low_i <= x_i <= high_i for every axis i] of points in R^d, and the empty one.

    A concept is (low_1, ..., low_d, high_1, ..., high_d), the empty one (inf, ..., -inf, ...). The order of
    concepts: the empty one, then by high_1, falling low_1, high_2, falling low_2, and so on. ERM picks the
    first of the best with ends among the sample's coordinates, and `dichotomies` the first for each
    labelling, which is the least box around the points labelled 1. m points have at most
    sum of binom(m, i) for i <= 2d labellings.

    A sample that a box fits takes d·m steps. Others take m log m on the line, m^3 in the plane, and m^2 times
    as many for each dimension more.

    dimension: d.

    >>> Boxes(2).erm([[0, 0], [1, 3], [2, 1], [5, 5]], [0, 1, 1, 0])
    array([1., 1., 2., 3.])
    """

    name: ClassVar[str] = "boxes"
    concept_ndim: ClassVar[int] = 1

    dimension: int = attrs.field(validator=at_least_one)

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.dimension,)

    @property
    def vc_dimension(self) -> int:
        """2d: the points ±e_i are shattered; of more points, 2d that are outermost have the others in their
        box.
        """
        return 2 * self.dimension

    def check(self, x: Any) -> np.ndarray:
        """The points as floats (..., d).

        Raises: InvalidArgument for a value that is not finite, or a vector of another length.
        """
        return as_vectors(x, self.point_shape)

    def check_concepts(self, concepts: Any) -> np.ndarray:
        """The ends as floats, (..., 2d)."""
        return check_ends(concepts, self.dimension)

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings in the order of the concepts, each with its least box.

        Raises: Unsupported if so many points may have more than 2^20.
        """
        row = self._check_row(points)
        distinct, place = np.unique(row + 0.0, axis=0, return_inverse=True)
        self.check_solutions(len(distinct))
        members, boxes = _least_boxes(distinct)
        return Dichotomies(_unpacked(members, len(distinct))[:, place.ravel()], boxes)

    def concept_at_random(self, rng: np.random.Generator) -> np.ndarray:
        """Within the unit cube, of a volume that is uniform between 1/4 and 3/4, with equal sides, its place
        uniform.
        """
        side = rng.uniform(0.25, 0.75) ** (1 / self.dimension)
        low = rng.uniform(0, 1 - side, self.dimension)
        return np.concatenate([low, low + side])

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        low, high = concepts[..., : self.dimension], concepts[..., self.dimension :]
        # Axis by axis: a reduction of a last axis of two or three numbers is slow.
        inside = (points[..., 0] >= low[..., 0]) & (points[..., 0] <= high[..., 0])
        for axis in range(1, self.dimension):
            inside &= (points[..., axis] >= low[..., axis]) & (points[..., axis] <= high[..., axis])
        return np.asarray(inside)

    def _numbers_a_sample(self, size: int) -> int:
        return size * self.dimension

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        return self._best(points, signs_of(labels, weights))

    def _best(self, points: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """The first of the boxes with the largest sum of signs. Shapes: points (b, m, d), signs (b, m)."""
        boxes = _around(points, signs > 0)
        noisy = (self._label(boxes[:, None], points) & (signs < 0)).any(axis=1)
        if noisy.any():
            boxes[noisy] = self._search(points[noisy], signs[noisy])
        return boxes

    def _search(self, points: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """`_best` of samples of which the box around the points labelled 1 holds others."""
        if self.dimension == 1:
            return best_intervals(points[..., 0], signs)
        if self.dimension > 2:
            return np.array([self._search_one(row, sign) for row, sign in zip(points, signs, strict=True)])
        step = max(1, _SLAB // points.shape[1] ** 2)
        slabs = [slice(start, start + step) for start in range(0, len(points), step)]
        return np.concatenate([_best_in_plane(points[s], signs[s]) for s in slabs])

    def _search_one(self, points: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """The best box in d - 1 dimensions of what lies in each interval of the first axis, and of these the
        first of the best. A side without a point labelled 1 could be moved inwards, so no others are tried.
        """
        x, rest = points[:, 0], Boxes(self.dimension - 1)
        values = np.unique(x[signs > 0])
        low, high = (values[ends] for ends in ends_in_order(len(values)))
        held = np.where((x >= low[:, None]) & (x <= high[:, None]), signs, 0)
        others = np.broadcast_to(points[:, 1:], (*held.shape, self.dimension - 1))
        boxes = rest._best(others, held)
        gains = np.where(rest._label(boxes[:, None], others), held, 0).sum(axis=1)
        best = gains.argmax()
        if gains[best] <= 0:
            return np.repeat([np.inf, -np.inf], self.dimension)
        lows, highs = np.split(boxes[best], 2)
        return np.concatenate([[low[best]], lows, [high[best]], highs]) + 0.0


def _around(points: np.ndarray, inside: np.ndarray) -> np.ndarray:
    """The least boxes around the points inside. Shapes: points (b, m, d), inside (b, m); result (b, 2d)."""
    lows = [np.where(inside, x, np.inf).min(axis=1, initial=np.inf) for x in np.moveaxis(points, -1, 0)]
    highs = [np.where(inside, x, -np.inf).max(axis=1, initial=-np.inf) for x in np.moveaxis(points, -1, 0)]
    return np.stack(lows + highs, axis=1) + 0.0


def _best_in_plane(points: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """The first of the best boxes: the best strip low_1 <= x_1 <= high_1 by the best sum of signs over an
    interval of x_2, and then this interval.

    Shapes: points (b, m, 2), signs (b, m); result (b, 4).
    """
    samples, size, _ = points.shape
    every = np.arange(samples)
    order = np.argsort(np.where(signs != 0, points[..., 0], np.inf), axis=1)
    x, y, signs = (np.take_along_axis(a, order, axis=1) for a in (points[..., 0], points[..., 1], signs))
    signs = _narrowed(signs)
    there, changes = signs != 0, x[:, 1:] != x[:, :-1]
    edge = np.ones((samples, 1), bool)
    starts = np.concatenate([edge, changes], axis=1) & there
    ends = np.concatenate([changes | ~there[:, 1:], edge], axis=1) & there
    rank = _dense_ranks(y)
    # The sum of the signs at each x_2 in the strip from each low: (x_2, low, sample).
    sums = np.zeros((size, size, samples), signs.dtype)
    most = np.zeros(samples, signs.dtype)
    low, high = np.zeros((2, samples), np.intp)
    for j in range(size):
        sums[rank[:, j], : j + 1, every] += signs[:, j, None]
        if not ends[:, j].any():
            continue
        gains = np.where(starts.T[: j + 1], _best_runs(sums[:, : j + 1]), 0)
        i = j - gains[::-1].argmax(axis=0)
        gain = gains[i, every]
        better = ends[:, j] & (gain > most)
        most[better], low[better], high[better] = gain[better], i[better], j
    places = np.arange(size)
    strip = there & (places >= low[:, None]) & (x >= x[every, low][:, None]) & (x <= x[every, high][:, None])
    along = best_intervals(y, np.where(strip, signs, 0))
    sides = np.stack([x[every, low], along[:, 0], x[every, high], along[:, 1]], axis=1)
    return np.where(most[:, None] > 0, sides, [np.inf, np.inf, -np.inf, -np.inf]) + 0.0


def _narrowed(signs: np.ndarray) -> np.ndarray:
    """Signs (b, m) in the shortest integers that hold their sums, so that more of them are added at once."""
    if signs.dtype != np.int64:
        return signs
    most = int(np.abs(signs).sum(axis=1).max(initial=0))
    narrowed: np.ndarray = signs.astype(np.min_scalar_type(-most - 1))
    return narrowed


def _best_runs(sums: np.ndarray) -> np.ndarray:
    """The largest sum of neighbours along axis 0, at least one of them."""
    run = sums[0].copy()
    best = run.copy()
    for here in sums[1:]:
        np.maximum(run, 0, out=run)
        run += here
        np.maximum(best, run, out=best)
    return np.asarray(best)


def _dense_ranks(values: np.ndarray) -> np.ndarray:
    """How many smaller values the row has, equal ones counted once: (b, m) gives (b, m)."""
    order = np.argsort(values, axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    steps = np.zeros(values.shape, np.intp)
    np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1, out=steps[:, 1:])
    ranks = np.empty_like(steps)
    np.put_along_axis(ranks, order, steps, axis=1)
    return ranks


# --- all labellings of some points, as sets: bits in words, (words, sets) -----------------------------------


def _least_boxes(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sets of points (m, d), all different, that boxes hold, and their least boxes (k, 2d), in order.

    Axis by axis all intervals are tried on all sets so far. A set is kept where it has points at both ends
    of this interval and of those before, so that each comes once: with the ends of its least box.
    """
    size, dimension = points.shape
    sets = _packed(np.ones((min(1, size), size), bool))
    ends: list[np.ndarray] = []  # (words, sets): the points at an end of a set's interval, for all before
    sides = np.zeros((2, 0, sets.shape[1]))  # lows and highs so far, axis by axis
    for x in points.T:
        values, rank = np.unique(x, return_inverse=True)
        at = _packed(rank.ravel() == np.arange(len(values))[:, None])
        low, high = ends_in_order(len(values))
        between = _packed((rank.ravel() >= low[:, None]) & (rank.ravel() <= high[:, None]))
        step = max(1, _SLAB // max(1, between.size))
        found = [(sets[:, :0], *np.zeros((2, 0), np.intp))]
        for start in range(0, sets.shape[1], step):
            held = sets[:, start : start + step, None] & between[:, None]
            tight = _meets(held, at[:, None, low]) & _meets(held, at[:, None, high])
            for end in ends:
                tight &= _meets(held, end[:, start : start + step, None])
            of, interval = np.nonzero(tight)
            found.append((held[:, of, interval], of + start, interval))
        sets, of, interval = (np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
        ends = [*(end[:, of] for end in ends), at[:, low[interval]], at[:, high[interval]]]
        new = np.stack([values[low[interval]], values[high[interval]]])[:, None]
        sides = np.concatenate([sides[:, :, of], new], axis=1)
    nothing = np.repeat([[np.inf], [-np.inf]], dimension, axis=0)
    boxes = np.concatenate([nothing, sides.reshape(2 * dimension, -1)], axis=1)
    return np.concatenate([np.zeros((len(sets), 1), sets.dtype), sets], axis=1), boxes.T


def _meets(sets: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Whether sets have a member in common; the words are axis 0."""
    return np.asarray(np.bitwise_or.reduce(sets & others, axis=0) != 0)


def _packed(members: np.ndarray) -> np.ndarray:
    """Rows of flags (k, m) as bits (words, k)."""
    padded = np.zeros((len(members), max(1, -(-members.shape[1] // 64)) * 64), bool)
    padded[:, : members.shape[1]] = members
    return np.ascontiguousarray(np.packbits(padded, axis=1).view(np.uint64).T)


def _unpacked(sets: np.ndarray, size: int) -> np.ndarray:
    """The rows of flags (k, size) again."""
    octets = np.ascontiguousarray(sets.T).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=size).astype(bool)
