"""Finite domains on the line: what is accepted as one, and where a point lies in it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.points import as_points, freeze

# Up to here comparing with every point beats searching.
MOST_FOR_EQUALITIES = 64
LARGEST_WHOLE = 2**53


def as_domain(values: Iterable[Any]) -> tuple[float, ...]:
    """The points of a domain as floats, or a refusal."""
    if not isinstance(values, Iterable):
        raise InvalidArgument("a domain is a list of numbers", value=values)
    array = as_points(values if isinstance(values, np.ndarray) else list(values))
    if array.ndim != 1:
        raise InvalidArgument("a domain is a list of numbers", value=array.tolist())
    return tuple(as_floats(array).tolist())


def as_floats(array: np.ndarray) -> np.ndarray:
    """Numbers as floats: float32 stays, other types become float64.

    Raises: InvalidArgument for a whole number beyond ±2^53.
    """
    if array.dtype.kind in "iu":
        low, high = int(array.min(initial=0)), int(array.max(initial=0))
        if max(high, -low) > LARGEST_WHOLE:
            raise InvalidArgument(
                "whole numbers must lie within ±2^53, which float64 holds exactly",
                value=high if high > LARGEST_WHOLE else low,
                remedy="Scale them down.",
            )
    return array if array.dtype == np.float32 else array.astype(np.float64, copy=False)


def as_vectors(x: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Points of R^d as float64 (..., d), `shape` being (d,).

    Raises: InvalidArgument for a value that is not finite, or a vector of another length.
    """
    points = as_floats(as_points(x)).astype(np.float64, copy=False)
    if points.shape[-1:] != shape:
        raise InvalidArgument(f"a point has shape {shape}", value=points.shape)
    return points


def at_least_one(instance: Any, attribute: Any, value: int) -> None:
    """A validator: a class has a whole number of dimensions, or features, of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        what = attribute.name.removesuffix("s")
        raise InvalidArgument(f"{instance.name} have a whole number of at least 1 {what}s", value=value)


def increasing(instance: object, attribute: object, domain: tuple[float, ...] | None) -> None:
    """A validator: a domain has a point, and its points increase strictly."""
    if domain is None:
        return
    if not domain:
        raise InvalidArgument("a domain has at least one point", value=domain)
    for low, high in pairwise(domain):
        if not low < high:
            raise InvalidArgument(
                "a domain is strictly increasing", value=(low, high), remedy="Sort it and drop repeats."
            )


def line_text(domain: tuple[float, ...]) -> str:
    """A domain for people.

    >>> line_text((1.0, 2.0, 4.0))
    '3 points from 1 to 4'
    """
    points = f"{len(domain)} point{'s' if len(domain) > 1 else ''}"
    return f"{points} from {domain[0]:.12g} to {domain[-1]:.12g}"


def middle_place(rng: np.random.Generator, points: int) -> int:
    """A place of so many in a row, from 0, uniform among those of the middle half, or a middle one."""
    quarter = points / 4
    low, high = math.ceil(quarter), math.floor(points - quarter)
    return int(rng.integers(low, max(low, high) + 1)) if low < points else points // 2


@attrs.frozen
class Line:
    """A finite domain on the line.

    points: in increasing order.
    """

    points: tuple[float, ...]

    @cached_property
    def grid(self) -> np.ndarray:
        """The points as an array."""
        return freeze(np.array(self.points, np.float64))

    @cached_property
    def _consecutive(self) -> bool:
        """Whether the domain is a run of whole numbers, low to high."""
        whole = self.grid[0] == np.rint(self.grid[0])
        return bool(whole and (np.diff(self.grid) == 1).all())

    def check(self, x: Any) -> np.ndarray:
        """The points as floats.

        Raises: InvalidArgument for a value that is not finite, or no point of the domain.
        """
        points = as_floats(as_points(x))
        inside = self._inside(points)
        if not inside.all():
            raise InvalidArgument(
                f"a point must be one of the {len(self.points)} points of the domain "
                f"from {self.points[0]:g} to {self.points[-1]:g}",
                value=points[~inside].flat[0].item(),
                remedy="Query a point of the domain.",
            )
        return points

    def place(self, points: np.ndarray) -> np.ndarray:
        """The places of points of the domain among its points, from 0."""
        if self._consecutive:
            return np.asarray((points - self.grid[0]).astype(np.intp))
        return np.asarray(np.searchsorted(self.grid, points))

    def _inside(self, points: np.ndarray) -> np.ndarray:
        """Which points are in the domain, bool."""
        grid = self.grid
        # Every example of a table passes here; the search below costs several times what the others do.
        if self._consecutive:
            return np.asarray((points >= grid[0]) & (points <= grid[-1]) & (points == np.rint(points)))
        if len(grid) <= MOST_FOR_EQUALITIES:
            return np.asarray(np.logical_or.reduce([points == value for value in grid]))
        place = np.minimum(np.searchsorted(grid, points), len(grid) - 1)
        return np.asarray(grid[place] == points)
