"""Finite domains on the line, and points of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.points import as_floats, as_points, freeze

MAX_FOR_COMPARISONS = 64  # points up to which comparing with each is faster than a binary search (measured)


def as_domain(values: Iterable[Any]) -> tuple[float, ...]:
    """The points of a domain as floats. Raises: InvalidArgument if they are not a list of numbers."""
    if not isinstance(values, Iterable):
        raise InvalidArgument("a domain is a list of numbers", value=values)
    array = as_points(values if isinstance(values, np.ndarray) else list(values))
    if array.ndim != 1:
        raise InvalidArgument("a domain is a list of numbers", value=array.tolist())
    return tuple(as_floats(array).tolist())


def check_increasing(instance: object, attribute: object, domain: tuple[float, ...]) -> None:
    """Validator: a domain is not empty, and its points are strictly increasing."""
    if not domain:
        raise InvalidArgument("a domain must have at least one point", value=domain)
    for low, high in pairwise(domain):
        if not low < high:
            raise InvalidArgument(
                "a domain must be strictly increasing",
                value=(low, high),
                remedy="Sort it and remove repeats.",
            )


def format_domain(domain: tuple[float, ...]) -> str:
    """A domain as short text.

    >>> format_domain((1.0, 2.0, 4.0))
    '3 points from 1 to 4'
    """
    points = f"{len(domain)} point{'s' if len(domain) > 1 else ''}"
    return f"{points} from {domain[0]:.12g} to {domain[-1]:.12g}"


def draw_middle_index(rng: np.random.Generator, points: int) -> int:
    """A uniform index in the middle half of so many points, or a middle one if there are few."""
    quarter = points / 4
    low, high = math.ceil(quarter), math.floor(points - quarter)
    return int(rng.integers(low, max(low, high) + 1)) if low < points else points // 2


@attrs.frozen
class LineDomain:
    """A finite domain on the line, its points in increasing order."""

    points: tuple[float, ...]

    @cached_property
    def grid(self) -> np.ndarray:
        """The points as an array."""
        return freeze(np.array(self.points, np.float64))

    @cached_property
    def _consecutive(self) -> bool:
        is_integer = self.grid[0] == np.rint(self.grid[0])
        return bool(is_integer and (np.diff(self.grid) == 1).all())

    def check(self, x: Any) -> np.ndarray:
        """The points as floats.

        Raises: InvalidArgument for a value that is not finite, or not in the domain.
        """
        points = as_floats(as_points(x))
        inside = self._inside(points)
        if not inside.all():
            raise InvalidArgument(
                f"a point must be one of the {len(self.points)} points of the domain "
                f"from {self.points[0]:g} to {self.points[-1]:g}",
                value=points[~inside].flat[0].item(),
                remedy="Choose a point of the domain.",
            )
        return points

    def domain_indices(self, points: np.ndarray) -> np.ndarray:
        """The indices of points of the domain, from 0."""
        if self._consecutive:
            return np.asarray((points - self.grid[0]).astype(np.intp))
        return np.asarray(np.searchsorted(self.grid, points))

    def _inside(self, points: np.ndarray) -> np.ndarray:
        grid = self.grid
        # Every example of a batch is checked here, and the binary search below is several times slower.
        if self._consecutive:
            return np.asarray((points >= grid[0]) & (points <= grid[-1]) & (points == np.rint(points)))
        if len(grid) <= MAX_FOR_COMPARISONS:
            return np.asarray(np.logical_or.reduce([points == value for value in grid]))
        place = np.minimum(np.searchsorted(grid, points), len(grid) - 1)
        return np.asarray(grid[place] == points)
