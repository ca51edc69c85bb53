"""Privacy curves that are given by points: a function δ(ε), or a trade-off function."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Self

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.privacy_curves.base import PrivacyCurve
from arena.settings import less_than, more_than, number

_LARGEST_EPSILON = 50.0  # nats, of a table
_POINTS = 256  # of a function δ(ε)
_TOLERANCE = 1e-9  # of errors, for tables that were written with nine digits
_FORM = "Give increasing ε ≥ 0 in nats, and for each a δ that does not increase and is convex in e^ε."
_TRADE_OFF_FORM = (
    "Give increasing type I errors from 0 to 1 and for each the least type II error, at most 1 minus it, "
    "which does not increase and is convex."
)


def _read_numbers(values: Iterable[float]) -> tuple[float, ...]:
    try:
        return tuple(map(float, values))
    except (TypeError, ValueError) as error:
        raise InvalidArgument("a privacy curve needs numbers", value=values, remedy=_FORM) from error


@attrs.frozen
class TabulatedCurve(PrivacyCurve):
    """δ(ε) through given points, linear in e^ε between them and constant after the last.

    epsilons: (k,), nats. values: (k,), δ at each. scale: by which every ε is multiplied, for its family.

    Raises: InvalidArgument if this is no privacy curve.
    """

    name = "table"

    epsilons: tuple[float, ...] = attrs.field(converter=_read_numbers)
    values: tuple[float, ...] = attrs.field(converter=_read_numbers)
    scale: float = attrs.field(default=1.0, validator=[number, more_than(0), less_than(math.inf)])

    def __attrs_post_init__(self) -> None:
        x, y = np.array(self.epsilons), np.array(self.values)
        _check(len(x) == len(y) and len(x) > 0, "a privacy curve needs as many δ as ε", (len(x), len(y)))
        _check(bool(((x >= 0) & (x <= _LARGEST_EPSILON)).all()), "an ε must lie between 0 and 50 nats", x)
        _check(bool(((y >= 0) & (y <= 1)).all()), "δ must be a probability", y)
        _check(bool((np.diff(x) > 0).all()), "the ε of a privacy curve must increase", x)
        _check(bool((np.diff(y) <= _TOLERANCE).all()), "δ must not increase with ε", y)
        bend = np.diff(np.exp(x)), np.diff(y)
        turns = bend[1][1:] * bend[0][:-1] - bend[1][:-1] * bend[0][1:]
        limit = -_TOLERANCE * (bend[0][1:] + bend[0][:-1])
        _check(bool((turns >= limit).all()), "no mechanism has this δ(ε), since it is not convex in e^ε", y)

    @classmethod
    def from_function(cls, delta: Callable[[float], float], *, largest: float = 10.0) -> Self:
        """A table of a function δ(ε) from 0 to `largest` nats, such as that of a loss distribution."""
        epsilons = largest * np.linspace(0, 1, _POINTS) ** 2
        return cls(epsilons, [delta(float(epsilon)) for epsilon in epsilons])

    @classmethod
    def from_trade_off(cls, type_1: Sequence[float], type_2: Sequence[float]) -> Self:
        """The privacy curve of a trade-off function, linear between the given points.

        type_1: (k,), the error of tests in world 0, from 0 to 1. type_2: (k,), the least error in world 1
            that the claim allows. If the function is not symmetric, the curve is that of the worse direction.

        Raises: InvalidArgument if it is no trade-off function.
        """
        a, b = np.array(_read_numbers(type_1)), np.array(_read_numbers(type_2))
        _check(
            len(a) == len(b) > 1, "a trade-off function needs two points at least", len(a), _TRADE_OFF_FORM
        )
        right = np.diff(a, append=2) > 0
        good = right.all() and a[0] == 0 and a[-1] == 1 and (b >= 0).all() and (b <= 1 - a + _TOLERANCE).all()
        _check(bool(good), "these errors are no trade-off function", b, _TRADE_OFF_FORM)
        slopes = -np.diff(b) / np.diff(a)
        convex = (slopes >= -_TOLERANCE).all() and (np.diff(slopes) <= _TOLERANCE * (1 + slopes[:-1])).all()
        _check(bool(convex), "a trade-off function is convex and does not increase", b, _TRADE_OFF_FORM)
        steep = np.log(slopes[slopes > 0])
        kinks = np.unique(
            np.concatenate([[0.0], np.clip(np.concatenate([steep, -steep]), 0, _LARGEST_EPSILON)])
        )
        odds = np.exp(kinks)[:, None]
        gains = np.concatenate([1 - b - odds * a, 1 - a - odds * b], axis=1)
        return cls(kinks, np.clip(gains.max(axis=1), 0, 1))

    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        at, x, y = np.asarray(epsilons, float), self.scale * np.array(self.epsilons), np.array(self.values)
        first, delta = x[0], y[0]
        # What (first, delta) implies for a smaller ε.
        before = (np.exp(np.minimum(at - first, 0)) * (delta - 1) + 1 + delta * math.exp(-first)) / (
            1 + math.exp(-first)
        )
        with np.errstate(over="ignore"):
            after = np.interp(np.exp(np.minimum(at, 700.0)), np.exp(np.minimum(x, 700.0)), y)
        return np.asarray(np.where(at < first, np.maximum(before, delta), after))

    def rescale(self, scale: float) -> Self:
        return attrs.evolve(self, scale=self.scale * scale)

    def __str__(self) -> str:
        text = f"a table of {len(self.epsilons):,} points"
        return text if self.scale == 1 else f"{text} with every ε multiplied by {self.scale:.4g}"


def _check(holds: bool, rule: str, value: object, remedy: str = _FORM) -> None:
    if not holds:
        if isinstance(value, np.ndarray):
            value = np.array2string(value, max_line_width=1_000, precision=6, separator=", ", threshold=8)
        raise InvalidArgument(rule, value=value, remedy=remedy)
