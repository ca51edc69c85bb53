"""Any finite class, and functions on the domain of another class, as boolean matrices."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass
from arena.concepts.finite.matrix import MatrixClass, as_indices
from arena.errors import InvalidArgument, count_things
from arena.points import as_labels, as_points, freeze
from arena.settings import at_least, at_most, check_value, parse_rows, read_file, whole

_MAX_SIZE = 256  # MiB of text
_MAX_TEACHERS = 1_000


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
    """The rows of a boolean matrix: concept c labels point x with matrix[c, x].

    A concept is a row index and a point is a column index, from 0. Rows may be equal, and so may columns.

    matrix: (concepts, points) of 0 and 1, stored as read-only bool. Classes with equal matrices are equal.

    >>> FiniteClass([[0, 0, 1], [0, 1, 1]])
    FiniteClass(2 concepts x 3 points)
    """

    name: ClassVar[str] = "matrix"

    matrix: np.ndarray = attrs.field(converter=as_matrix, eq=matrix_key)

    @classmethod
    def from_csv(cls, path: str | Path) -> FiniteClass:
        """The class in a CSV file: one concept a line, its labels 0 or 1 separated by commas, no header.

        Raises: InvalidArgument with the file, line and column of an entry that cannot be read.
        """
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
        """The points in order: the column indices."""
        return tuple(float(column) for column in range(self.matrix.shape[1]))

    def check(self, x: Any) -> np.ndarray:
        """The points as column indices."""
        return as_indices(as_points(x), self.matrix.shape[1], "a point must be the index of a column")


def build_vote_pairs(teachers: int) -> FiniteClass:
    """The class on which teachers of one example each can cast every pair of votes.

    Replacing one of n examples moves the number of votes for label 1 by at most one. The class has a concept
    for each of n + 1 examples: point c < n + 1 has label 1 by concept c alone, so that a teacher trained on
    it is concept c. The other points are queries. At point (n + 1) + (2·i + j)·n + s, s of the first n - 1
    concepts say 1, concept n - 1, which is in world 0, says i, and concept n, which is in world 1, says j.

    Raises: InvalidArgument unless there are from 1 to 1,000 teachers.
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
    """The rows of a boolean matrix, as functions on the finite domain of another class.

    Improper learners release such functions: row f labels the point in column x with matrix[f, x].

    domain_class: the class whose domain it is.
    """

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
        """The points as the other class represents them."""
        return self.domain_class.check(x)

    def domain_indices(self, points: np.ndarray) -> np.ndarray:
        return self.domain_class.domain_indices(points)


_FORMAT = "Write one concept a line, its labels 0 or 1 separated by commas, and no header."


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
