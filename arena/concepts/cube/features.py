"""Features of points of 0 and 1: what the rules of a decision list may ask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.points import as_points, freeze

MOST_FEATURES = 1_000_000


def _size(instance: object, attribute: attrs.Attribute[int], value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InvalidArgument(f"{attribute.name} must be a whole number of at least 1", value=value)


@attrs.frozen
class Features(ABC):
    """Boolean functions of points x in {0, 1}^d, numbered from 0. The constant "true" is none of them.

    d: the number of coordinates.
    """

    d: int = attrs.field(validator=_size)

    def __attrs_post_init__(self) -> None:
        if self.count > MOST_FEATURES:
            raise InvalidArgument(
                f"{self} are {self.count:,} features, more than {MOST_FEATURES:,}",
                remedy="Take fewer variables, or shorter conjunctions.",
            )

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of features."""

    @abstractmethod
    def names(self, variables: Sequence[str] | None = None) -> list[str]:
        """What each feature is called, given the names of the coordinates (default: x0, x1, …)."""

    def evaluate(self, points: Any) -> np.ndarray:
        """Which features hold at which points.

        Shapes: points (..., d) of 0 and 1; result (..., count) bool.

        Raises: InvalidArgument as `check`.
        """
        return self.of_bits(self.check(points).astype(bool))

    @abstractmethod
    def of_bits(self, bits: np.ndarray) -> np.ndarray:
        """`evaluate` of checked points, as bool."""

    def check(self, x: Any) -> np.ndarray:
        """The points `x` (..., d) as int8.

        Raises: InvalidArgument naming the first coordinate that is not 0 or 1, and where it is.
        """
        points = as_points(x)
        if points.shape[-1:] != (self.d,):
            raise InvalidArgument(f"a point has shape {(self.d,)}", value=points.shape)
        good = (points == 0) | (points == 1)
        if not good.all():
            place = tuple(int(i) for i in np.argwhere(~good)[0])
            of = f" of point {', '.join(map(str, place[:-1]))}" if len(place) > 1 else ""
            raise InvalidArgument(
                f"coordinates must be 0 or 1; coordinate {place[-1]}{of} is neither",
                value=points[place].item(),
                remedy="Encode each value of a column as a coordinate of its own.",
            )
        return points.astype(np.int8)

    def _named(self, variables: Sequence[str] | None) -> list[str]:
        if variables is None:
            return [f"x{i}" for i in range(self.d)]
        if len(variables) != self.d:
            raise InvalidArgument(f"{self.d} coordinates need as many names", value=len(variables))
        return list(variables)


@attrs.frozen
class Variables(Features):
    """The coordinates themselves.

    >>> Variables(2).evaluate([0, 1]).tolist()
    [False, True]
    """

    @property
    def count(self) -> int:
        return self.d

    def names(self, variables: Sequence[str] | None = None) -> list[str]:
        return self._named(variables)

    def of_bits(self, bits: np.ndarray) -> np.ndarray:
        return bits


@attrs.frozen
class Literals(Features):
    """The coordinates, then their negations.

    >>> Literals(2).names(["red", "big"])
    ['red', 'big', 'not red', 'not big']
    """

    @property
    def count(self) -> int:
        return 2 * self.d

    def names(self, variables: Sequence[str] | None = None) -> list[str]:
        named = self._named(variables)
        return [*named, *(f"not {name}" for name in named)]

    def of_bits(self, bits: np.ndarray) -> np.ndarray:
        return np.concatenate([bits, ~bits], axis=-1)


@attrs.frozen
class Conjunctions(Features):
    """Conjunctions of 1 to k literals of different coordinates, the shorter ones first.

    Proposition A.9 of Bun and Fang counts conjunctions of exactly j literals: C(d, j)·2^j. That of no literal
    is "true", which every decision list may use anyway. k = 1 makes the features of `Literals`, in order.

    >>> Conjunctions(2, 2).names(["red", "big"])[4:]
    ['red and big', 'red and not big', 'big and not red', 'not red and not big']
    """

    k: int = attrs.field(validator=_size)

    @property
    def count(self) -> int:
        return sum(comb(self.d, j) * 2**j for j in range(1, self.k + 1))

    def names(self, variables: Sequence[str] | None = None) -> list[str]:
        literals = Literals(self.d).names(self._named(variables))
        return [" and ".join(literals[i] for i in row if i < 2 * self.d) for row in self._literals]

    def of_bits(self, bits: np.ndarray) -> np.ndarray:
        always = np.ones((*bits.shape[:-1], 1), bool)
        literals = np.concatenate([bits, ~bits, always], axis=-1)
        held = literals[..., self._literals[:, 0]]
        for column in self._literals.T[1:]:
            held &= literals[..., column]
        return held

    @cached_property
    def _literals(self) -> np.ndarray:
        """(count, k): the literals of each, filled up with 2d, which always holds."""
        rows = [
            row + (2 * self.d,) * (self.k - j)
            for j in range(1, self.k + 1)
            for row in combinations(range(2 * self.d), j)
            if len({i % self.d for i in row}) == j
        ]
        return freeze(np.array(rows).reshape(-1, self.k))
