"""Boolean features of points of 0 and 1, which the rules of decision lists test."""

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
from arena.sample import as_points, freeze
from arena.settings import at_least, whole

MAX_FEATURES = 1_000_000


@attrs.frozen
class BooleanFeatures(ABC):
    """Boolean functions of points x in {0, 1}^d, numbered from 0. The constant "true" is not among them."""

    d: int = attrs.field(validator=[whole, at_least(1)])

    def __attrs_post_init__(self) -> None:
        if self.count > MAX_FEATURES:
            raise InvalidArgument(
                f"{self} has {self.count:,} features, more than {MAX_FEATURES:,}",
                remedy="Use fewer variables, or shorter conjunctions.",
            )

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of features."""

    @abstractmethod
    def names(self, variables: Sequence[str] | None = None) -> list[str]:
        """The names of the features, given the names of the coordinates (default: x0, x1, …)."""

    def evaluate(self, points: Any) -> np.ndarray:
        """(..., count) bool: which features hold at points (..., d). Raises: InvalidArgument as `check`."""
        return self.evaluate_bits(self.check(points).astype(bool))

    @abstractmethod
    def evaluate_bits(self, bits: np.ndarray) -> np.ndarray:
        """`evaluate` of checked points, given as bool."""

    def check(self, x: Any) -> np.ndarray:
        """The points (..., d) as int8. Raises: InvalidArgument with the place of the first other value."""
        points = as_points(x, (self.d,))
        good = (points == 0) | (points == 1)
        if not good.all():
            place = tuple(int(i) for i in np.argwhere(~good)[0])
            of_point = f" of point {', '.join(map(str, place[:-1]))}" if len(place) > 1 else ""
            raise InvalidArgument(
                f"coordinates must be 0 or 1; coordinate {place[-1]}{of_point} is neither",
                value=points[place].item(),
                remedy="Encode each value of a column as a coordinate of its own.",
            )
        return points.astype(np.int8)

    def _coordinate_names(self, variables: Sequence[str] | None) -> list[str]:
        if variables is None:
            return [f"x{i}" for i in range(self.d)]
        if len(variables) != self.d:
            raise InvalidArgument(f"{self.d} coordinates need as many names", value=len(variables))
        return list(variables)


@attrs.frozen
class Variables(BooleanFeatures):
    """The coordinates themselves."""

    @property
    def count(self) -> int:
        return self.d

    def names(self, variables: Sequence[str] | None = None) -> list[str]:
        return self._coordinate_names(variables)

    def evaluate_bits(self, bits: np.ndarray) -> np.ndarray:
        return bits


@attrs.frozen
class Literals(BooleanFeatures):
    """The coordinates, followed by their negations."""

    @property
    def count(self) -> int:
        return 2 * self.d

    def names(self, variables: Sequence[str] | None = None) -> list[str]:
        names = self._coordinate_names(variables)
        return [*names, *(f"not {name}" for name in names)]

    def evaluate_bits(self, bits: np.ndarray) -> np.ndarray:
        return np.concatenate([bits, ~bits], axis=-1)


@attrs.frozen
class Conjunctions(BooleanFeatures):
    """Conjunctions of 1 to k literals of different coordinates, shorter ones first. There are C(d, j)·2^j of
    exactly j literals (Proposition A.9 of Bun and Fang). With k = 1 these are the features of `Literals`.

    >>> Conjunctions(2, 2).names(["red", "big"])[4:]
    ['red and big', 'red and not big', 'big and not red', 'not red and not big']
    """

    k: int = attrs.field(validator=[whole, at_least(1)])

    @property
    def count(self) -> int:
        return sum(comb(self.d, j) * 2**j for j in range(1, self.k + 1))

    def names(self, variables: Sequence[str] | None = None) -> list[str]:
        literals = Literals(self.d).names(self._coordinate_names(variables))
        return [" and ".join(literals[i] for i in row if i < 2 * self.d) for row in self._literals]

    def evaluate_bits(self, bits: np.ndarray) -> np.ndarray:
        true = np.ones((*bits.shape[:-1], 1), bool)
        literals = np.concatenate([bits, ~bits, true], axis=-1)
        holds = literals[..., self._literals[:, 0]]
        for column in self._literals.T[1:]:
            holds &= literals[..., column]
        return holds

    @cached_property
    def _literals(self) -> np.ndarray:
        """(count, k): the literals of each conjunction, padded with 2d, which stands for "true"."""
        rows = [
            row + (2 * self.d,) * (self.k - j)
            for j in range(1, self.k + 1)
            for row in combinations(range(2 * self.d), j)
            if len({i % self.d for i in row}) == j
        ]
        return freeze(np.array(rows).reshape(-1, self.k))
