"""Axis-parallel rectangles on a finite grid."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.concepts.finite.matrix import MatrixClass, check_matrix_size
from arena.errors import InvalidArgument
from arena.points import as_points, freeze
from arena.settings import at_least, check_value, whole


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

    sides: the number of points on each axis.

    >>> Rectangles((4, 4))
    Rectangles(4 x 4 points)
    >>> Rectangles((4, 4)).vc_dimension
    4
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
        """The points as integers (..., axes)."""
        points = as_points(x)
        if points.shape[-1:] != self.point_shape:
            raise InvalidArgument(f"a point must have shape {self.point_shape}", value=points.shape)
        inside = ((points >= 0) & (points < np.array(self.sides)) & (points == np.rint(points))).all(axis=-1)
        if not inside.all():
            raise InvalidArgument(
                f"a point must lie on the grid of {self._size}, from 0 on each axis",
                value=points[~inside][0].tolist(),
                remedy="Choose a point of the grid.",
            )
        return points.astype(np.intp)

    def domain_indices(self, points: np.ndarray) -> np.ndarray:
        return np.asarray(np.ravel_multi_index(np.moveaxis(points, -1, 0), self.sides))
