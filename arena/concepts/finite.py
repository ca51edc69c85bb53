"""Any finite class, given as a boolean matrix: concepts x points."""

from __future__ import annotations

import csv
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, Dichotomies
from arena.errors import InvalidArgument
from arena.points import as_labels, as_points, frozen


def _matrix(matrix: Any) -> np.ndarray:
    array = np.asarray(matrix)
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidArgument(
            "a matrix has at least one row (a concept) and one column (a point)", value=array.shape
        )
    return frozen(as_labels(array).astype(bool))


def _content(matrix: np.ndarray) -> tuple[tuple[int, ...], bytes]:
    return matrix.shape, np.packbits(matrix).tobytes()


@attrs.frozen(repr=False, cache_hash=True)
class FiniteClass(ConceptClass):
    """The rows of a boolean matrix: concept c labels point x with matrix[c, x].

    A concept is a row index and a point a column index, from 0. Equal rows and equal columns are allowed:
    they are one concept, or one point, under several names. ERM picks the lowest row among the best; no
    data get row 0.

    matrix: (concepts, points) of 0 and 1, kept as read-only bool. Specs of equal matrices are equal.

    >>> FiniteClass([[0, 0, 1], [0, 1, 1]])
    FiniteClass(2 concepts x 3 points)
    """

    name: ClassVar[str] = "matrix"

    matrix: np.ndarray = attrs.field(converter=_matrix, eq=_content)

    @classmethod
    def from_csv(cls, path: str | Path) -> FiniteClass:
        """The class in a CSV file: a concept a line, its labels 0 or 1 separated by commas, no header.

        Raises: InvalidArgument naming the file, and the line and column of what cannot be read.
        """
        try:
            with open(path, encoding="utf-8-sig", newline="") as file:
                lines = csv.reader(file)
                rows = [(lines.line_num, [entry.strip() for entry in line]) for line in lines if line]
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise InvalidArgument(f"cannot read a matrix from {path}: {error}") from error
        if not rows:
            raise InvalidArgument(f"{path} holds no matrix", remedy=_FORMAT)
        for number, row in rows:
            _check_line(f"{path}, line {number}", row, len(rows[0][1]))
        return cls(np.array([row for _, row in rows]) == "1")

    def __repr__(self) -> str:
        concepts, points = self.matrix.shape
        return f"FiniteClass({_count(concepts, 'concept')} x {_count(points, 'point')})"

    def __reduce__(self) -> tuple[object, ...]:
        # A pickled array comes back writable; the constructor makes it read-only again.
        return FiniteClass, (self.matrix,)

    @property
    def domain(self) -> tuple[float, ...]:
        """The points, in order: the column indices."""
        return tuple(float(column) for column in range(self.matrix.shape[1]))

    @cached_property
    def vc_dimension(self) -> int:
        """Exact; the search looks at no more than columns^log2(rows) sets of points, most often far fewer."""
        return _vc_dimension(self.matrix)

    def check(self, x: Any) -> np.ndarray:
        """The points as column indices.

        Raises: InvalidArgument for a value that is no column.
        """
        return _indices(as_points(x), self.matrix.shape[1], "a point is the index of a column")

    def check_concepts(self, concepts: Any) -> np.ndarray:
        """The concepts as row indices."""
        array = np.asarray(concepts)
        if array.dtype.kind not in "biuf":
            raise InvalidArgument("concepts must be row indices", value=array.dtype.name)
        return _indices(array, self.matrix.shape[0], "a concept is the index of a row")

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings, each with the lowest row that realises it, in the order of these rows."""
        labels = self.matrix[:, self._check_row(points)]
        _, first = np.unique(np.packbits(labels, axis=1), axis=0, return_index=True)
        rows = np.sort(first)
        return Dichotomies(labels[rows], rows)

    @cached_property
    def _gains(self) -> np.ndarray:
        """(2 columns, rows) int8: what each concept gains on example (x, y), at 2x + y, over the label 0."""
        columns = self.matrix.T.astype(np.int8)
        return frozen(np.stack([-columns, columns], axis=1).reshape(-1, self.matrix.shape[0]))

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix[concepts, points])

    def _numbers_a_sample(self, size: int) -> int:
        return max(size, len(self.matrix))

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        # The best concept is the one with the greatest gain over labelling everything 0.
        examples = 2 * points + labels
        if points.shape[1] > len(self._gains):
            return np.asarray((self._tally(examples, weights) @ self._gains).argmax(axis=1))
        kind = np.min_scalar_type(-points.shape[1] - 1) if weights is None else weights.dtype
        gains = np.zeros((len(points), len(self.matrix)), kind)
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


_FORMAT = "Write one concept a line, its labels 0 or 1 separated by commas, and no header."


def _check_line(where: str, row: list[str], columns: int) -> None:
    for i, entry in enumerate(row, start=1):
        if entry not in ("0", "1"):
            raise InvalidArgument(f"{where}, column {i}: a label must be 0 or 1", value=entry, remedy=_FORMAT)
    if len(row) != columns:
        raise InvalidArgument(
            f"{where}: every line needs as many labels as the first, {columns}",
            value=len(row),
            remedy=_FORMAT,
        )


def _indices(array: np.ndarray, count: int, rule: str) -> np.ndarray:
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


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}"
