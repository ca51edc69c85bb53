"""Intervals of a finite ordered domain."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import attrs
import numpy as np

from arena.concepts.line.base import LineClass
from arena.points import freeze


@attrs.frozen(repr=False)
class Intervals(LineClass):
    """The concepts 1[a <= x <= b] for points a <= b of the domain, and the empty interval.

    A concept is an index: 0 is the empty interval, the others follow in the order of (a, b), as in `ends`.

    domain: the points, in increasing order.

    >>> Intervals((1, 2, 4)).ends.tolist()
    [[inf, -inf], [1.0, 1.0], [1.0, 2.0], [1.0, 4.0], [2.0, 2.0], [2.0, 4.0], [4.0, 4.0]]
    """

    name: ClassVar[str] = "intervals"

    @property
    def size(self) -> int:
        points = len(self.domain)
        return 1 + points * (points + 1) // 2

    @cached_property
    def ends(self) -> np.ndarray:
        """(concepts, 2): a and b of every concept, and (inf, -inf) for the empty one."""
        low, high = np.triu_indices(len(self.domain))
        grid = self._line.grid
        return freeze(np.concatenate([[[np.inf, -np.inf]], np.stack([grid[low], grid[high]], axis=1)]))

    @cached_property
    def matrix(self) -> np.ndarray:
        low, high = self.ends.T[:, :, None]
        return freeze((low <= self._line.grid) & (self._line.grid <= high))

    @property
    def vc_dimension(self) -> int:
        return min(2, len(self.domain))

    def growth_bound(self, points: int) -> int:
        """Exact: m distinct points have m(m + 1)/2 + 1 labellings."""
        return min(points * (points + 1) // 2 + 1, self.size)
