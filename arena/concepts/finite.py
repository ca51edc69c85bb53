"""Concept classes given as a boolean matrix of concepts by points."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass, as_numbers
from arena.concepts.dichotomies import Dichotomies
from arena.errors import InvalidArgument, count_things
from arena.sample import as_labels, as_points, check_each, freeze
from arena.settings import at_least, at_most, check_value, parse_rows, read_file, whole

MAX_ENTRIES = 2**26  # of a matrix, one byte each

_MAX_SIZE = 256  # MiB of text
_MAX_TEACHERS = 1_000
_FORMAT = "Write one concept a line, its labels 0 or 1 separated by commas, and no header."


@attrs.frozen
class MatrixClass(ConceptClass):
    """Base of the classes that have a boolean matrix, concepts × points.

    A concept is a row index, from 0. ERM returns the lowest row among the best, row 0 for an empty sample. A
    new class implements `matrix`, `domain`, `check`, and `domain_indices` where points are not column
    indices.
    """

    @property
    @abstractmethod
    def matrix(self) -> np.ndarray:
        """(concepts, points) bool, read-only."""

    def domain_indices(self, points: np.ndarray) -> np.ndarray:
        return points

    @cached_property
    def vc_dimension(self) -> int:
        """Exact. The search visits at most columns^log2(rows) sets of points, and usually far fewer."""
        return _vc_dimension(self.matrix)

    def check_concepts(self, concepts: Any) -> np.ndarray:
        array = as_numbers(concepts, "concepts must be row indices")
        return as_indices(array, self.matrix.shape[0], "a concept must be the index of a row")

    def dichotomies(self, points: Any) -> Dichotomies:
        """The labellings with the lowest row that realises each, in the order of these rows."""
        labels = self.matrix[:, self.domain_indices(self._check_row(points))]
        rows = np.sort(np.unique(np.packbits(labels, axis=1), axis=0, return_index=True)[1])
        return Dichotomies(labels[rows], rows)

    def growth_bound(self, points: int) -> int:
        """The number of rows, or of all labellings if there are fewer."""
        return min(len(self.matrix), 1 << points)

    def draw_concept(self, rng: np.random.Generator) -> np.ndarray:
        """A uniform row among those that label 1/4 to 3/4 of the columns 1, or else nearest to 1/2."""
        off = np.abs(self.matrix.mean(axis=1) - 0.5)
        return np.array(rng.choice(np.flatnonzero(off <= max(0.25, off.min()))))

    @cached_property
    def _gains(self) -> np.ndarray:
        """(2 columns, rows) int8: in row 2x + y, each concept's gain over label 0 on example (x, y)."""
        columns = self.matrix.T.astype(np.int8)
        return freeze(np.stack([-columns, columns], axis=1).reshape(-1, self.matrix.shape[0]))

    def _label(self, concepts: np.ndarray, points: np.ndarray) -> np.ndarray:
        return np.asarray(self.matrix[concepts, self.domain_indices(points)])

    def _numbers_a_sample(self, size: int) -> int:
        return max(size, len(self.matrix))

    def _minimise(self, points: np.ndarray, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        # The best concept is the one with the largest gain over labelling everything 0.
        examples = 2 * self.domain_indices(points) + labels
        if labels.shape[1] > len(self._gains):
            tally = tally_examples(examples, weights, len(self._gains))
            return np.asarray((tally @ self._gains).argmax(axis=1))
        kind = np.min_scalar_type(-labels.shape[1] - 1) if weights is None else weights.dtype
        gains = np.zeros((len(labels), len(self.matrix)), kind)
        for i, example in enumerate(examples.T):
            gain = self._gains.take(example, axis=0)
            gains += gain if weights is None else gain * weights[:, i, None]
        return np.asarray(gains.argmax(axis=1))


def tally_examples(examples: np.ndarray, weights: np.ndarray | None, kinds: int) -> np.ndarray:
    """(b, kinds): the weight of each kind of example in each sample. Shapes: examples, weights (b, m)."""
    tally = np.zeros((len(examples), kinds), np.int64 if weights is None else weights.dtype)
    np.add.at(tally, (np.arange(len(examples))[:, None], examples), 1 if weights is None else weights)
    return tally


def check_matrix_size(concepts: int, points: int, value: object) -> None:
    """Raises: InvalidArgument with `value` if a matrix of so many concepts and points is too large."""
    if concepts * points > MAX_ENTRIES:
        raise InvalidArgument(
            f"{concepts:,} concepts on {points:,} points make a matrix of more than {MAX_ENTRIES:,} entries",
            value=value,
            remedy="Choose a smaller domain.",
        )


def as_indices(array: np.ndarray, count: int, rule: str) -> np.ndarray:
    """Integers from 0 to count - 1 as indices. Raises: InvalidArgument with `rule` and another value."""
    good = (array >= 0) & (array < count)
    if array.dtype.kind == "f":
        good &= array == np.rint(array)
    check_each(good, array, f"{rule}, 0 to {count - 1}")
    return array.astype(np.intp, copy=False)


def _vc_dimension(matrix: np.ndarray) -> int:
    rows = np.unique(matrix, axis=0)
    columns = [pack_set(column) for column in np.unique(rows.T, axis=0)]
    return _deepest([pack_set(np.ones(len(rows), bool))], columns, depth=0, best=0)


def _deepest(parts: list[int], columns: list[int], *, depth: int, best: int) -> int:
    """The size of the largest shattered set that extends `depth` points by some `columns`, at least `best`.

    parts: the concepts, as bits, grouped by their labelling of the chosen points. columns: for each further
    point, the concepts that label it 1.
    """
    best = max(best, depth)
    # A set larger than `best` splits every part again and again, so each half must have this many concepts.
    # A column that fails here also fails for every larger set.
    least = 2 ** (best - depth)
    useful = [c for c in columns if all(_splits_into(least, part, c) for part in parts)]
    for i, column in enumerate(useful):
        if depth + len(useful) - i <= best:
            break
        halves = [half for part in parts for half in (part & column, part & ~column)]
        best = _deepest(halves, useful[i + 1 :], depth=depth + 1, best=best)
    return best


def _splits_into(least: int, part: int, column: int) -> bool:
    ones = (part & column).bit_count()
    return least <= ones <= part.bit_count() - least


def pack_set(members: np.ndarray) -> int:
    """A set as an int, in which bit i is members[i] (bool)."""
    return int.from_bytes(np.packbits(members, bitorder="little").tobytes(), "little")


def as_matrix(matrix: Any) -> np.ndarray:
    """A matrix of 0 and 1 as read-only bool. Raises: InvalidArgument if it is not one."""
    array = np.asarray(matrix)
    if array.ndim != 2 or 0 in array.shape:
        raise InvalidArgument(
            "a matrix must have at least one row (a concept) and one column (a point)", value=array.shape
        )
    return freeze(as_labels(array).astype(bool))


def matrix_key(matrix: np.ndarray) -> tuple[tuple[int, ...], bytes]:
    """What equal matrices have in common: the key by which they are compared and hashed."""
    return matrix.shape, np.packbits(matrix).tobytes()


@attrs.frozen(repr=False, cache_hash=True)
class FiniteClass(MatrixClass):
    """The rows of a boolean matrix of 0 and 1: concept c labels point x with matrix[c, x], both numbered from
    0. Classes with equal matrices are equal.

    >>> FiniteClass([[0, 0, 1], [0, 1, 1]])
    FiniteClass(2 concepts x 3 points)
    """

    name: ClassVar[str] = "matrix"

    matrix: np.ndarray = attrs.field(converter=as_matrix, eq=matrix_key)

    @classmethod
    def from_csv(cls, path: str | Path) -> FiniteClass:
        """The class in a CSV file: one concept a line, its labels 0 or 1 separated by commas, no header.
        Raises: InvalidArgument with the file, line and column of an entry that cannot be read."""
        rows = [*parse_rows(path, read_file("matrix", path, mebibytes=_MAX_SIZE))]
        if not rows:
            raise InvalidArgument(f"{path} is empty, and must hold a matrix", remedy=_FORMAT)
        for number, row in rows:
            _check_line(f"{path}, line {number}", row, len(rows[0][1]))
        return cls(np.array([row for _, row in rows]) == "1")

    def __repr__(self) -> str:
        concepts, points = self.matrix.shape
        return f"FiniteClass({count_things(concepts, 'concept')} x {count_things(points, 'point')})"

    def __reduce__(self) -> tuple[object, ...]:
        # Unpickling gives a writable array; the constructor makes it read-only again.
        return FiniteClass, (self.matrix,)

    @property
    def domain(self) -> tuple[float, ...]:
        return tuple(float(column) for column in range(self.matrix.shape[1]))

    def check(self, x: Any) -> np.ndarray:
        return as_indices(as_points(x), self.matrix.shape[1], "a point must be the index of a column")


def build_vote_pairs(teachers: int) -> FiniteClass:
    """The class on which n ≤ 1,000 teachers of one example each can cast every pair of votes.

    Replacing one of n examples moves the votes for label 1 by at most one. Of n + 1 concepts, point c < n + 1
    has label 1 by concept c alone, so that a teacher trained on it is concept c. The other points are
    queries. At point (n + 1) + (2·i + j)·n + s, s of the first n - 1 concepts say 1, concept n - 1, which is
    in world 0, says i, and concept n, which is in world 1, says j.
    """
    check_value("teachers", teachers, whole, at_least(1), at_most(_MAX_TEACHERS))
    concepts = np.arange(teachers + 1)
    queries = [
        np.where(concepts < teachers - 1, concepts < ones, np.where(concepts == teachers - 1, first, second))
        for first in (False, True)
        for second in (False, True)
        for ones in range(teachers)
    ]
    return FiniteClass(np.hstack([np.eye(teachers + 1, dtype=bool), np.array(queries, bool).T]))


@attrs.frozen(repr=False, cache_hash=True)
class Functions(MatrixClass):
    """The rows of a boolean matrix, as functions on the finite domain of another class; improper learners
    release them. Row f labels the point in column x with matrix[f, x]."""

    name: ClassVar[str] = "functions"

    domain_class: ConceptClass
    matrix: np.ndarray = attrs.field(converter=as_matrix, eq=matrix_key)

    def __repr__(self) -> str:
        return f"Functions({len(self.matrix)} on the domain of {self.domain_class})"

    def __reduce__(self) -> tuple[object, ...]:
        # Unpickling gives a writable array; the constructor makes it read-only again.
        return Functions, (self.domain_class, self.matrix)

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.domain_class.point_shape

    @property
    def domain(self) -> tuple[Any, ...] | None:
        return self.domain_class.domain

    def check(self, x: Any) -> np.ndarray:
        return self.domain_class.check(x)

    def domain_indices(self, points: np.ndarray) -> np.ndarray:
        return self.domain_class.domain_indices(points)


def _check_line(where: str, row: list[str], columns: int) -> None:
    for i, entry in enumerate(row, start=1):
        if entry not in ("0", "1"):
            raise InvalidArgument(f"{where}, column {i}: a label must be 0 or 1", value=entry, remedy=_FORMAT)
    if len(row) != columns:
        raise InvalidArgument(
            f"{where}: every line must have as many labels as the first, {columns}",
            value=len(row),
            remedy=_FORMAT,
        )
