"""Classes that have a boolean matrix over a finite domain on the line: points and intervals."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.finite.matrix import MatrixClass, check_matrix_size
from arena.concepts.line.domain import LineDomain, as_domain, check_increasing, format_domain
from arena.points import freeze


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


@attrs.frozen(repr=False)
class Points(LineClass):
    """The concepts c_z(x) = 1[x = z], one for each point z of the domain.

    A concept is the index of z in the domain, from 0.

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


@attrs.frozen(repr=False)
class Intervals(LineClass):
    """The concepts 1[a <= x <= b] for points a <= b of the domain, and the empty interval.

    A concept is an index: 0 is the empty interval, the others follow in the order of (a, b), as in `ends`.

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
