"""What classes share that have a boolean matrix over a finite domain on the line."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from arena.concepts.finite.matrix import MatrixClass, check_entries
from arena.concepts.line.domain import Line, as_domain, increasing, line_text


@attrs.frozen(repr=False)
class LineClass(MatrixClass):
    """Base of the classes of functions of an ordered domain. A new class writes `name`, `size` and `matrix`.

    domain: the points, in increasing order.
    """

    domain: tuple[float, ...] = attrs.field(converter=as_domain, validator=increasing)

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of concepts."""

    def __attrs_post_init__(self) -> None:
        check_entries(self.size, len(self.domain), line_text(self.domain))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({line_text(self.domain)})"

    def check(self, x: Any) -> np.ndarray:
        """The points as floats.

        Raises: InvalidArgument for a value outside the domain.
        """
        return self._line.check(x)

    def place(self, points: np.ndarray) -> np.ndarray:
        return self._line.place(points)

    @cached_property
    def _line(self) -> Line:
        return Line(self.domain)
