"""Intervals of a finite ordered domain."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.line import Line, as_domain, increasing, line_text
from arena.concepts.matrix import MatrixClass, check_entries
from arena.points import frozen


@attrs.frozen(repr=False)
class Intervals(MatrixClass):
    """The concepts 1[a <= x <= b] for points a <= b of the domain, and the empty interval.

    A concept is its number: 0 is empty, the others are in the order of (a, b); `ends` has them.

    domain: the points, in increasing order.

    >>> Intervals((1, 2, 4)).ends.tolist()
    [[inf, -inf], [1.0, 1.0], [1.0, 2.0], [1.0, 4.0], [2.0, 2.0], [2.0, 4.0], [4.0, 4.0]]
    """

    name: ClassVar[str] = "intervals"

    domain: tuple[float, ...] = attrs.field(converter=as_domain, validator=increasing)

    def __attrs_post_init__(self) -> None:
        points = len(self.domain)
        check_entries(1 + points * (points + 1) // 2, points, line_text(self.domain))

    def __repr__(self) -> str:
        return f"Intervals({line_text(self.domain)})"

    @cached_property
    def ends(self) -> np.ndarray:
        """(concepts, 2): a and b of every concept; (inf, -inf) for the empty one."""
        low, high = np.triu_indices(len(self.domain))
        grid = self._line.grid
        return frozen(np.concatenate([[[np.inf, -np.inf]], np.stack([grid[low], grid[high]], axis=1)]))

    @cached_property
    def matrix(self) -> np.ndarray:
        low, high = self.ends.T[:, :, None]
        return frozen((low <= self._line.grid) & (self._line.grid <= high))

    @property
    def vc_dimension(self) -> int:
        return min(2, len(self.domain))

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
