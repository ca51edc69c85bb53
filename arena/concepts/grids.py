"""Finite domains on the line, and classes with a boolean matrix over a line or a grid."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.finite import MatrixClass, check_matrix_size
from arena.errors import InvalidArgument
from arena.sample import as_floats, as_points, check_each, freeze
from arena.settings import at_least, check_value, whole

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
    """A domain as short text, such as "3 points from 1 to 4"."""
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
        return freeze(np.array(self.points, np.float64))

    @cached_property
    def _consecutive(self) -> bool:
        is_integer = self.grid[0] == np.rint(self.grid[0])
        return bool(is_integer and (np.diff(self.grid) == 1).all())

    def check(self, x: Any) -> np.ndarray:
        """The points as floats. Raises: InvalidArgument for a value that is not in the domain."""
        points = as_floats(as_points(x))
        ends = f"from {self.points[0]:g} to {self.points[-1]:g}"
        rule = f"a point must be one of the {len(self.points)} points of the domain {ends}"
        check_each(self._inside(points), points, rule, "Choose a point of the domain.")
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


@attrs.frozen(repr=False)
class LineClass(MatrixClass):
    """Base of the classes on a finite ordered domain. A new class implements `name`, `size` and `matrix`."""

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
        return self._line.check(x)

    def domain_indices(self, points: np.ndarray) -> np.ndarray:
        return self._line.domain_indices(points)

    @cached_property
    def _line(self) -> LineDomain:
        return LineDomain(self.domain)


@attrs.frozen(repr=False)
class Points(LineClass):
    """The concepts c_z(x) = 1[x = z]; a concept is the index of z in the domain, from 0.

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
        return min(points + 1, self.size)


@attrs.frozen(repr=False)
class Intervals(LineClass):
    """The concepts 1[a <= x <= b] for points a <= b of the domain, and the empty interval. A concept is an
    index: 0 is the empty interval, the others follow in the order of (a, b), as in `ends`.

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
        return min(points * (points + 1) // 2 + 1, self.size)


def _convert_sides(values: Iterable[Any]) -> tuple[int, ...]:
    if not isinstance(values, Iterable):
        raise InvalidArgument("the sides of a grid must be a list", value=values)
    sides = tuple(values)
    for side in sides:
        check_value("a side of a grid", side, whole, at_least(1))
    return tuple(int(side) for side in sides)


@attrs.frozen(repr=False)
class Rectangles(MatrixClass):
    """The concepts 1[a_i <= x_i <= b_i for every axis i] on a grid, and the empty rectangle.

    A point is a vector of integers, from 0 to side - 1 on every axis. A concept is an index: 0 is the empty
    rectangle, the others follow in the order of (a_1, b_1, a_2, b_2, ...).

    >>> Rectangles((4, 4)), Rectangles((4, 4)).vc_dimension
    (Rectangles(4 x 4 points), 4)
    """

    name: ClassVar[str] = "rectangles"

    sides: tuple[int, ...] = attrs.field(converter=_convert_sides)

    @sides.validator
    def _check_sides(self, attribute: object, sides: tuple[int, ...]) -> None:
        if not sides:
            raise InvalidArgument("a grid must have at least one axis", value=sides)
        boxes = prod(side * (side + 1) // 2 for side in sides)
        check_matrix_size(1 + boxes, prod(sides), " x ".join(map(str, sides)))

    def __repr__(self) -> str:
        return f"Rectangles({self._size})"

    @property
    def _size(self) -> str:
        return f"{' x '.join(map(str, self.sides))} points"

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (len(self.sides),)

    @cached_property
    def domain(self) -> tuple[tuple[float, ...], ...]:
        """The points, with the last axis varying fastest."""
        return tuple(tuple(map(float, point)) for point in np.ndindex(self.sides))

    @cached_property
    def matrix(self) -> np.ndarray:
        inside = np.ones((1, 1), bool)
        for side in self.sides:
            low, high = np.triu_indices(side)
            x = np.arange(side)
            along = (low[:, None] <= x) & (x <= high[:, None])
            inside = np.logical_and(inside[:, None, :, None], along[None, :, None, :])
            inside = inside.reshape(inside.shape[0] * inside.shape[1], -1)
        return freeze(np.concatenate([np.zeros((1, inside.shape[1]), bool), inside]))

    def check(self, x: Any) -> np.ndarray:
        points = as_points(x, self.point_shape)
        inside = ((points >= 0) & (points < np.array(self.sides)) & (points == np.rint(points))).all(axis=-1)
        rule = f"a point must lie on the grid of {self._size}, from 0 on each axis"
        check_each(inside, points, rule, "Choose a point of the grid.")
        return points.astype(np.intp)

    def domain_indices(self, points: np.ndarray) -> np.ndarray:
        return np.asarray(np.ravel_multi_index(np.moveaxis(points, -1, 0), self.sides))
