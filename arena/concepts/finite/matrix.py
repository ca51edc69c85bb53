"""What classes share whose concepts are the rows of a boolean matrix."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, Dichotomies
from arena.errors import InvalidArgument
from arena.points import freeze

MOST_ENTRIES = 2**26  # of a matrix, a byte each


@attrs.frozen
class MatrixClass(ConceptClass):
    """Base of the classes that have a boolean matrix, concepts x points.

    A concept is a row index, from 0. ERM picks the lowest row among the best; no data get row 0. A new class
    writes `matrix`, `domain`, `check`, and `place` where its points are no column indices.
    """

    @property
    @abstractmethod
    def matrix(self) -> np.ndarray:
        """(concepts, points) bool, read-only."""

    def place(self, points: np.ndarray) -> np.ndarray:
        return points

    @cached_property
    def vc_dimension(self) -> int:
        """Exact; the search looks at no more than columns^log2(rows) sets of points, most often far fewer."""
        return _vc_dimension(self.matrix)

    def check_concepts(self, concepts: Any) -> np.ndarray:
        """The concepts as row indices."""
        array = np.asarray(concepts)
        if array.dtype.kind not in "biuf":
            raise InvalidArgument("concepts must be row indices", value=array.dtype.name)
        return as_indices(array, self.matrix.shape[0], "a concept is the index of a row")

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings, each with the lowest row that realises it, in the order of these rows."""
        labels = self.matrix[:, self.place(self._check_row(points))]
        _, first = np.unique(np.packbits(labels, axis=1), axis=0, return_index=True)
        rows = np.sort(first)
        return Dichotomies(labels[rows], rows)

    def most_dichotomies(self, points: int) -> int:
        """No more than rows, nor than labellings of any kind."""
        return min(len(self.matrix), 1 << points)

    def concept_at_random(self, rng: np.random.Generator) -> np.ndarray:
        """A uniform row among those that label a quarter to three quarters of the columns 1; where none does,
        among those that come nearest to a half.
        """
        off = np.abs(self.matrix.mean(axis=1) - 0.5)
        return np.array(rng.choice(np.flatnonzero(off <= max(0.25, off.min()))))

    @cached_property
    def _gains(self) -> np.ndarray:
        """(2 columns, rows) int8: what each concept gains on example (x, y), at 2x + y, over the label 0."""
        columns = self.matrix.T.astype(np.int8)
        return freeze(np.stack([-columns, columns], axis=1).reshape(-1, self.matrix.shape[0]))

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix[concepts, self.place(points)])

    def _numbers_a_sample(self, size: int) -> int:
        return max(size, len(self.matrix))

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        # The best concept is the one with the greatest gain over labelling everything 0.
        examples = 2 * self.place(points) + labels
        if labels.shape[1] > len(self._gains):
            return np.asarray((self._tally(examples, weights) @ self._gains).argmax(axis=1))
        kind = np.min_scalar_type(-labels.shape[1] - 1) if weights is None else weights.dtype
        gains = np.zeros((len(labels), len(self.matrix)), kind)
        for i, example in enumerate(examples.T):
            gain = self._gains.take(example, axis=0)
            gains += gain if weights is None else gain * weights[:, i, None]
        return np.asarray(gains.argmax(axis=1))

    def _tally(self, examples: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """The weight of each distinct example in each sample, (b, 2 columns)."""
        kind = np.int64 if weights is None else weights.dtype
        tally = np.zeros((len(examples), len(self._gains)), kind)
        np.add.at(tally, (np.arange(len(examples))[:, None], examples), 1 if weights is None else weights)
        return tally


def check_entries(concepts: int, points: int, value: object) -> None:
    """Raises: InvalidArgument naming the value if a matrix of so many concepts and points is too large."""
    if concepts * points > MOST_ENTRIES:
        raise InvalidArgument(
            f"{concepts:,} concepts on {points:,} points make a matrix of more than {MOST_ENTRIES:,} entries",
            value=value,
            remedy="Choose a smaller domain.",
        )


def as_indices(array: np.ndarray, count: int, rule: str) -> np.ndarray:
    """Whole numbers from 0 to count - 1 as indices.

    Raises: InvalidArgument with the rule and the first value that is none.
    """
    good = (array >= 0) & (array < count)
    if array.dtype.kind == "f":
        good &= array == np.rint(array)
    if not good.all():
        raise InvalidArgument(f"{rule}, 0 to {count - 1}", value=array[~good].flat[0].item())
    return array.astype(np.intp, copy=False)


def _vc_dimension(matrix: np.ndarray) -> int:
    rows = np.unique(matrix, axis=0)
    columns = [_bits(column) for column in np.unique(rows.T, axis=0)]
    return _deepest([_bits(np.ones(len(rows), bool))], columns, depth=0, best=0)


def _deepest(parts: list[int], columns: list[int], *, depth: int, best: int) -> int:
    """The size of the largest shattered set that extends `depth` points by some of `columns`, or `best`.

    parts: the concepts by their labelling of the chosen points; columns: the concepts that label a point 1.
    All are sets of concepts, as bits.
    """
    best = max(best, depth)
    # Each point halves every part, so a set larger than `best` leaves no half below this; and what is too
    # small here is too small in every larger set.
    least = 2 ** (best - depth)
    useful = [c for c in columns if all(_halves_hold(least, part, c) for part in parts)]
    for i, column in enumerate(useful):
        if depth + len(useful) - i <= best:
            break
        halves = [half for part in parts for half in (part & column, part & ~column)]
        best = _deepest(halves, useful[i + 1 :], depth=depth + 1, best=best)
    return best


def _halves_hold(least: int, part: int, column: int) -> bool:
    ones = (part & column).bit_count()
    return least <= ones <= part.bit_count() - least


def _bits(flags: np.ndarray) -> int:
    return int.from_bytes(np.packbits(flags).tobytes())
