"""Functions on the domain of a class, which need not be concepts of it."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass
from arena.concepts.finite.finite_class import as_matrix, content_of
from arena.concepts.finite.matrix import MatrixClass


@attrs.frozen(repr=False, cache_hash=True)
class Functions(MatrixClass):
    """The rows of a boolean matrix, functions on the finite domain of another class.

    What an improper learner releases: row f labels the point in column x with matrix[f, x].

    of: the class whose domain it is.
    """

    name: ClassVar[str] = "functions"

    of: ConceptClass
    matrix: np.ndarray = attrs.field(converter=as_matrix, eq=content_of)

    def __repr__(self) -> str:
        return f"Functions({len(self.matrix)} on the domain of {self.of})"

    def __reduce__(self) -> tuple[object, ...]:
        # A pickled array comes back writable; the constructor makes it read-only again.
        return Functions, (self.of, self.matrix)

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.of.point_shape

    @property
    def domain(self) -> tuple[Any, ...] | None:
        return self.of.domain

    def check(self, x: Any) -> np.ndarray:
        """The points, as the other class has them."""
        return self.of.check(x)

    def place(self, points: np.ndarray) -> np.ndarray:
        return self.of.place(points)
