"""One concept for each labelling of the points at hand, and what it gains: the set H of LabelBoost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs
import numpy as np

if TYPE_CHECKING:
    from arena.concepts.base import ConceptClass

MOST_SOLUTIONS = 2**20  # labellings of one sample
_ROWS = 2**14  # labellings multiplied with signs at a time


@attrs.frozen(eq=False)
class Solutions:
    """For each of b samples, k places for concepts.

    Shapes: gains (b, k): the sum of signs over the points that the concept labels 1; counted (b, k) bool:
    False where a place holds no concept, or one whose labelling has another place. Every sample has one.
    """

    gains: np.ndarray
    counted: np.ndarray
    _concepts_at: Callable[[np.ndarray], np.ndarray] = attrs.field(alias="concepts_at")

    def concepts(self, which: np.ndarray) -> np.ndarray:
        """The concepts at one place of each sample, which must be counted: which (b,) gives (b, ...)."""
        return self._concepts_at(np.asarray(which))


def by_dichotomies(
    concept_class: ConceptClass, points: np.ndarray, signs: np.ndarray, present: np.ndarray
) -> Solutions:
    """`ConceptClass.solutions` by way of `dichotomies`, once for each set of points that are present.

    Raises: Unsupported as `ConceptClass.check_solutions` for the largest of these sets.
    """
    domain, tally, sets, kind = tallied(points, signs, present)
    concept_class.check_solutions(int(sets.sum(axis=1).max(initial=0)))
    ways = [concept_class.dichotomies(domain[there]) for there in sets]
    if not ways:  # of no samples; the result has the shapes of the class nevertheless
        ways = [concept_class.dichotomies(domain[:0])]
    gains = np.zeros((len(points), max(map(len, ways))))
    counted = np.zeros(gains.shape, bool)
    for i, (there, way) in enumerate(zip(sets, ways, strict=False)):
        games = np.flatnonzero(kind == i)
        gained = tally[np.ix_(games, np.flatnonzero(there))]
        for start in range(0, len(way), _ROWS):
            rows = slice(start, min(start + _ROWS, len(way)))
            gains[games, rows] = gained @ way.labels[rows].T.astype(np.float64)
        counted[games, : len(way)] = True

    def concepts_at(which: np.ndarray) -> np.ndarray:
        first = ways[0].concepts
        found = np.empty((len(which), *first.shape[1:]), first.dtype)
        for i, way in enumerate(ways):
            found[kind == i] = way.concepts[which[kind == i]]
        return found

    return Solutions(gains, counted, concepts_at)


def tallied(
    points: np.ndarray, signs: np.ndarray, present: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The distinct points present, (p, ...); the summed signs of each sample there, (b, p); the distinct sets
    of them, (s, p) bool; and which of these each sample has, (b,).
    """
    domain, index = np.unique(points[present], axis=0, return_inverse=True)
    sample = np.nonzero(present)[0]
    tally = np.zeros((len(points), len(domain)))
    np.add.at(tally, (sample, index.ravel()), signs[present])
    occurs = np.zeros(tally.shape, bool)
    occurs[sample, index.ravel()] = True
    keys = {key: i for i, key in enumerate(dict.fromkeys(row.tobytes() for row in occurs))}
    kind = np.array([keys[row.tobytes()] for row in occurs], np.intp)
    sets = np.array([np.frombuffer(key, bool) for key in keys], bool).reshape(len(keys), len(domain))
    return domain, tally, sets, kind


@attrs.frozen(eq=False)
class Ordered:
    """Samples of signed points of the line, in increasing order; absent points come last, at +inf.

    Shapes: points (b, m); before (b, m + 1): the sum of the signs left of each place, and of all;
    first, last (b, m) bool: whether a point that is present is the first, or the last, of its equals.
    """

    points: np.ndarray
    before: np.ndarray
    first: np.ndarray
    last: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray, signs: np.ndarray, present: np.ndarray) -> Ordered:
        """Those of points (b, m), with signs (b, m) of 0 where nothing is present (b, m)."""
        points = np.where(present, points, np.inf)
        order = np.argsort(points, axis=1)
        points = np.take_along_axis(points, order, axis=1) + 0.0  # -0.0 and 0.0 are one point
        signs = np.take_along_axis(signs, order, axis=1)
        before = np.zeros((len(points), points.shape[1] + 1), np.result_type(signs, np.int64))
        np.cumsum(signs, axis=1, out=before[:, 1:])
        changes = points[:, 1:] != points[:, :-1]
        edge = np.ones((len(points), min(1, points.shape[1])), bool)
        there = points < np.inf
        return cls(
            points,
            before,
            np.concatenate([edge, changes], axis=1) & there,
            np.concatenate([changes, edge], axis=1) & there,
        )

    @property
    def from_here(self) -> np.ndarray:
        """(b, m): the sum of the signs at each place and right of it."""
        return np.asarray(self.before[:, -1:] - self.before[:, :-1])

    @property
    def of_equals(self) -> np.ndarray:
        """(b, m): at the first of equal points the sum of the signs of all of them."""
        size = self.points.shape[1]
        ends = np.where(self.last, np.arange(1, size + 1), size)
        after = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
        return np.asarray(np.take_along_axis(self.before, after, axis=1) - self.before[:, :-1])

    def or_none(self, gains: np.ndarray) -> Solutions:
        """The places of the first of equal points, which gain `gains` (b, m), and +inf, which gains 0."""
        nothing = np.zeros((len(gains), 1), gains.dtype)
        candidates = np.concatenate([self.points, np.full(nothing.shape, np.inf)], axis=1)
        return Solutions(
            np.concatenate([gains, nothing], axis=1),
            np.concatenate([self.first, nothing == 0], axis=1),
            lambda which: np.take_along_axis(candidates, which[:, None], axis=1)[:, 0],
        )


def signs_of(labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """(b, m): the weights, negative where the label is 0; labels, weights as of `ConceptClass._minimise`."""
    if weights is None:
        return labels.astype(np.int64) * 2 - 1
    return np.where(labels == 1, weights, -weights)
