"""The labellings that a class realises on some points, with one concept for each: the set H of LabelBoost."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from arena.sample import freeze

MAX_LABELLINGS = 2**20  # of one sample
LABELLINGS_A_POINT = 64  # up to which a list of them takes hardly more memory than the points


@attrs.frozen(eq=False)
class Dichotomies:
    """The distinct labellings (d, m) bool that a class realises on some points, each with one concept that
    realises it, (d, ...). Both are read-only."""

    labels: np.ndarray = attrs.field(converter=freeze)
    concepts: np.ndarray = attrs.field(converter=freeze)

    def __len__(self) -> int:
        return len(self.labels)


@attrs.frozen(eq=False)
class CandidateConcepts:
    """For each of b samples, k slots for concepts, one for each labelling of the sample's points.

    gains (b, k): the sum of signs over the points that the concept labels 1. counted (b, k) bool: False where
    a slot is empty or repeats the labelling of another slot. Every sample has a counted slot.
    """

    gains: np.ndarray
    counted: np.ndarray
    _concepts_at: Callable[[np.ndarray], np.ndarray] = attrs.field(alias="concepts_at")

    def concepts(self, which: np.ndarray) -> np.ndarray:
        """The concepts in one counted slot of each sample: which (b,) gives (b, ...)."""
        return self._concepts_at(np.asarray(which))


def tally_signs(
    points: np.ndarray, signs: np.ndarray, present: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Group the points of samples, given as points (b, m, ...), signs (b, m) and present (b, m) bool.

    Returns the p distinct present points (p, ...); the summed signs of each sample at each of them (b, p);
    the s distinct sets of points that occur as a sample's (s, p) bool; the index of each sample's set (b,).
    """
    distinct, index = np.unique(points[present], axis=0, return_inverse=True)
    sample = np.nonzero(present)[0]
    tally = np.zeros((len(points), len(distinct)))
    np.add.at(tally, (sample, index.ravel()), signs[present])
    occurs = np.zeros(tally.shape, bool)
    occurs[sample, index.ravel()] = True
    keys = {key: i for i, key in enumerate(dict.fromkeys(row.tobytes() for row in occurs))}
    set_of = np.array([keys[row.tobytes()] for row in occurs], np.intp)
    sets = np.array([np.frombuffer(key, bool) for key in keys], bool).reshape(len(keys), len(distinct))
    return distinct, tally, sets, set_of


@attrs.frozen(eq=False)
class SortedSamples:
    """Samples of signed points (b, m) on the line in increasing order; absent points come last, at +inf.

    prefix_sums (b, m + 1): the sum of the signs before each place, and of all. first, last (b, m) bool:
    whether a present point is the first, or the last, of those equal to it.
    """

    points: np.ndarray
    prefix_sums: np.ndarray
    first: np.ndarray
    last: np.ndarray

    @classmethod
    def sort(cls, points: np.ndarray, signs: np.ndarray, present: np.ndarray) -> SortedSamples:
        """Sort points (b, m) with signs (b, m), which are 0 where present (b, m) is False."""
        points = np.where(present, points, np.inf)
        order = np.argsort(points, axis=1)
        points = np.take_along_axis(points, order, axis=1) + 0.0  # -0.0 and 0.0 are one point
        signs = np.take_along_axis(signs, order, axis=1)
        sums = np.zeros((len(points), points.shape[1] + 1), np.result_type(signs, np.int64))
        np.cumsum(signs, axis=1, out=sums[:, 1:])
        changes = points[:, 1:] != points[:, :-1]
        edge = np.ones((len(points), min(1, points.shape[1])), bool)
        is_present = points < np.inf
        return cls(
            points,
            sums,
            np.concatenate([edge, changes], axis=1) & is_present,
            np.concatenate([changes, edge], axis=1) & is_present,
        )

    @property
    def suffix_sums(self) -> np.ndarray:
        """(b, m): the sum of the signs at each place and after it."""
        return np.asarray(self.prefix_sums[:, -1:] - self.prefix_sums[:, :-1])

    @property
    def group_sums(self) -> np.ndarray:
        """(b, m): at the first of equal points, the sum of the signs of all of them."""
        size = self.points.shape[1]
        ends = np.where(self.last, np.arange(1, size + 1), size)
        after = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
        return np.asarray(np.take_along_axis(self.prefix_sums, after, axis=1) - self.prefix_sums[:, :-1])

    def best_points(self, gains: np.ndarray, *, least: int) -> np.ndarray:
        """(b,): the first point with the largest of `gains` (b, m), or +inf if that is below `least`."""
        gains = np.where(self.first, gains, least - 1)
        best = gains.argmax(axis=1)[:, None]
        found = np.take_along_axis(self.points, best, axis=1)
        return np.where(np.take_along_axis(gains, best, axis=1) >= least, found, np.inf)[:, 0]

    def candidates(self, gains: np.ndarray) -> CandidateConcepts:
        """The first of each group of equal points, with `gains` (b, m), and +inf, which gains 0."""
        zero = np.zeros((len(gains), 1), gains.dtype)
        concepts = np.concatenate([self.points, np.full(zero.shape, np.inf)], axis=1)
        return CandidateConcepts(
            np.concatenate([gains, zero], axis=1),
            np.concatenate([self.first, zero == 0], axis=1),
            lambda which: np.take_along_axis(concepts, which[:, None], axis=1)[:, 0],
        )


def apply_signs(labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """(b, m): the weights, negated where the label is 0. Arguments as for `ConceptClass._minimise`."""
    if weights is None:
        return labels.astype(np.int64) * 2 - 1
    return np.where(labels == 1, weights, -weights)
