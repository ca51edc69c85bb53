"""Base of the classes that have a boolean matrix over a finite domain on the line."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from arena.concepts.finite.matrix import MatrixClass, check_matrix_size
from arena.concepts.line.domain import LineDomain, as_domain, check_increasing, format_domain


@attrs.frozen(repr=False)
class LineClass(MatrixClass):
    """Base of the classes on a finite ordered domain. A new class implements `name`, `size` and `matrix`.

    domain: the points, in increasing order.
    """

    domain: tuple[float, ...] = attrs.field(converter=as_domain, validator=check_increasing)

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of concepts."""

    def __attrs_post_init__(self) -> None:
        check_matrix_size(self.size, len(self.domain), format_domain(self.domain))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({format_domain(self.domain)})"

    def check(self, x: Any) -> np.ndarray:
        """The points as floats."""
        return self._line.check(x)

    def domain_indices(self, points: np.ndarray) -> np.ndarray:
        return self._line.domain_indices(points)

    @cached_property
    def _line(self) -> LineDomain:
        return LineDomain(self.domain)
