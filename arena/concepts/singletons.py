"""Point functions on a finite domain."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.line import Line, as_domain, increasing, line_text
from arena.concepts.matrix import MatrixClass, check_entries
from arena.points import frozen


@attrs.frozen(repr=False)
class Points(MatrixClass):
    """The concepts c_z(x) = 1[x = z], one for each point z of the domain.

    A concept is the place of z in the domain, from 0.

    domain: the points, in increasing order.

    >>> Points(range(1, 5)).labels([0, 3], [1, 4]).tolist()
    [[True, False], [False, True]]
    """

    name: ClassVar[str] = "points"

    domain: tuple[float, ...] = attrs.field(converter=as_domain, validator=increasing)

    def __attrs_post_init__(self) -> None:
        points = len(self.domain)
        check_entries(points, points, line_text(self.domain))

    def __repr__(self) -> str:
        return f"Points({line_text(self.domain)})"

    @cached_property
    def matrix(self) -> np.ndarray:
        return frozen(np.eye(len(self.domain), dtype=bool))

    @property
    def vc_dimension(self) -> int:
        return min(1, len(self.domain) - 1)

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
