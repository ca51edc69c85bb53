"""Point functions on a finite domain."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import attrs
import numpy as np

from arena.concepts.line.base import LineClass
from arena.points import freeze


@attrs.frozen(repr=False)
class Points(LineClass):
    """The concepts c_z(x) = 1[x = z], one for each point z of the domain.

    A concept is the index of z in the domain, from 0.

    domain: the points, in increasing order.

    >>> Points(range(1, 5)).labels([0, 3], [1, 4]).tolist()
    [[True, False], [False, True]]
    """

    name: ClassVar[str] = "points"

    @property
    def size(self) -> int:
        return len(self.domain)

    @cached_property
    def matrix(self) -> np.ndarray:
        return freeze(np.eye(len(self.domain), dtype=bool))

    @property
    def vc_dimension(self) -> int:
        return min(1, len(self.domain) - 1)

    def growth_bound(self, points: int) -> int:
        """Exact: m distinct points have m + 1 labellings, if the domain has others."""
        return min(points + 1, self.size)
