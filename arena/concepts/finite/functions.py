"""Functions on the domain of a class that need not be concepts of the class."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.base import ConceptClass
from arena.concepts.finite.finite_class import as_matrix, matrix_key
from arena.concepts.finite.matrix import MatrixClass


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
