"""Curves of claims that papers state (docs/proofs/renyi_curves.md): pure, concentrated, Rényi privacy,
tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Self

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.privacy_curves.base import LossDistribution, PrivacyCurve
from arena.sample import freeze
from arena.settings import at_least, less_than, more_than, number, whole

# Orders at which a claim for all orders is used. Fewer orders imply less, so that δ is never too small.
_ORDERS = tuple(map(float, 1 + np.geomspace(0.02, 500, 201)))
_EVERY = 16  # of these orders, one is used for common events
_PROBABILITIES = 144  # at which the boundary for common events is computed
_FARTHEST = 14.0  # logit of the smallest of these probabilities: about 1e-6
_BISECTIONS = 22  # after which the logit of q is known to five digits, and too small
_LARGEST_EPSILON = 50.0  # nats, of a table
_TOLERANCE = 1e-9  # of errors, for tables that were written with nine digits
_FORM = "Give increasing ε ≥ 0 in nats, and for each a δ that does not increase and is convex in e^ε."
_TRADE_OFF_FORM = (
    "Give increasing type I errors from 0 to 1 and for each the least type II error, at most 1 minus it, "
    "which does not increase and is convex."
)


@attrs.frozen
class PureCurve(PrivacyCurve):
    """(ε, 0)-DP: no easier to tell the worlds apart than by randomised response. bound: ε in nats. times: how
    many mechanisms with this claim are used on the same data, adaptively: docs/proofs/composition.md."""

    name = "pure"
    scaled = "bound"

    bound: float = attrs.field(validator=[number, more_than(0), less_than(math.inf)])
    times: int = attrs.field(default=1, validator=[whole, at_least(1)])

    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        from scipy.special import betainc, expit  # slow to import

        epsilons = np.asarray(epsilons, float)
        # The loss (times − 2·lies)·bound exceeds ε for at most so many lies of randomised response.
        lies = np.ceil((self.times - epsilons / self.bound) / 2) - 1
        most = np.maximum(lies, 0)
        first, second = (
            betainc(self.times - most, most + 1, expit(bound)) for bound in (self.bound, -self.bound)
        )
        with np.errstate(divide="ignore", over="ignore"):
            gains = first - np.exp(epsilons + np.log(second))
        return np.asarray(np.where(lies < 0, 0.0, np.maximum(gains, math.ulp(0.0))))

    def loss_distributions(self, step: float) -> tuple[LossDistribution, ...]:
        truth = 1 / (1 + math.exp(-self.bound))
        losses = LossDistribution.from_atoms([-self.bound, self.bound], [1 - truth, truth], step)
        return (losses.compose(self.times),)

    def __str__(self) -> str:
        text = f"pure privacy with ε = {self.bound:.4g}"
        return text if self.times == 1 else f"{self.times:,} times {text}"


class DivergenceCurve(PrivacyCurve):
    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        p, q = _list_corners(self)
        common = (p - np.exp(np.minimum(epsilons, 700.0))[:, None] * q).max(axis=1)
        orders = np.array(self.orders)
        above = np.array([self.divergence(order) for order in self.orders]) - np.asarray(epsilons)[:, None]
        rare = (orders - 1) * (above + np.log1p(-1 / orders)) - np.log(orders)
        rarest = np.exp(np.minimum(rare, 0.0).min(axis=1))
        return np.asarray(np.clip(np.minimum(common, rarest), 0.0, 1.0))


@attrs.frozen
class ConcentratedCurve(DivergenceCurve):
    """ρ-zCDP: D_α ≤ ρα at every order α > 1 (Bun and Steinke 2016). rho: in nats."""

    name = "zCDP"
    scaled = "rho"

    rho: float = attrs.field(validator=[number, more_than(0), less_than(math.inf)])

    @property
    def orders(self) -> tuple[float, ...]:
        return _ORDERS

    def divergence(self, order: float) -> float:
        return self.rho * order

    def __str__(self) -> str:
        return f"zero-concentrated privacy with ρ = {self.rho:.4g}"


@attrs.frozen
class RenyiCurve(DivergenceCurve):
    """(α, ε)-RDP: D_α ≤ ε at one order α > 1 (Mironov 2017). order: α; bound: ε in nats."""

    name = "RDP"
    scaled = "bound"

    order: float = attrs.field(validator=[number, more_than(1), less_than(math.inf)])
    bound: float = attrs.field(validator=[number, more_than(0), less_than(math.inf)])

    @property
    def orders(self) -> tuple[float, ...]:
        return (self.order,)

    def divergence(self, order: float) -> float:
        return self.bound

    def __str__(self) -> str:
        return f"Rényi privacy of order {self.order:.4g} with ε = {self.bound:.4g}"


@lru_cache(maxsize=1_024)
def _list_corners(curve: DivergenceCurve) -> tuple[np.ndarray, np.ndarray]:
    """Corners of a polygon around the probabilities (p, q) that an event may have in the two worlds. By the
    data-processing inequality p^α·q^(1 − α) + (1 − p)^α·(1 − q)^(1 − α) ≤ e^((α − 1)·D_α), a convex set,
    which lies within the polygon of its tangents."""
    logit = np.linspace(-_FARTHEST, _FARTHEST, _PROBABILITIES)
    lower, slope = np.zeros(len(logit)), np.zeros(len(logit))
    for order in curve.orders[::_EVERY]:
        found, steepness = _find_boundary(logit, order, (order - 1) * curve.divergence(order))
        lower, slope = np.where(found > lower, (found, steepness), (lower, slope))
    p = 1 / (1 + np.exp(-logit))
    # Tangents q = lower + slope·(x − p) of neighbours meet between them.
    rise, change = np.diff(lower), np.diff(slope)
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (slope[1:] * p[1:] - slope[:-1] * p[:-1] - rise) / change
    x = np.clip(np.where(np.isfinite(x), x, p[1:]), p[:-1], p[1:])
    y = np.maximum(lower[:-1] + slope[:-1] * (x - p[:-1]), 0.0)
    return freeze(np.concatenate([p[:1], x, [1.0]])), freeze(np.concatenate([[0.0], y, lower[-1:]]))


def _find_boundary(logit: np.ndarray, order: float, log_bound: float) -> tuple[np.ndarray, np.ndarray]:
    """The least q for each p that the bound of one order allows, and dq/dp there."""
    log_p, log_rest = -np.logaddexp(0, -logit), -np.logaddexp(0, logit)

    def compute_excess(at: np.ndarray) -> np.ndarray:
        log_q, log_other = -np.logaddexp(0, -at), -np.logaddexp(0, at)
        return np.asarray(
            np.logaddexp(order * log_p + (1 - order) * log_q, order * log_rest + (1 - order) * log_other)
            - log_bound
        )

    # The larger q <= p, the smaller the sum. The first of its terms alone bounds q from below.
    least = (order * log_p - log_bound) / (order - 1)
    low = least - np.log(-np.expm1(np.minimum(least, -1e-300)))
    high = logit.copy()
    low = np.minimum(np.where(np.isfinite(low), low, high), high)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        outside = compute_excess(middle) > 0
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    log_q, log_other = -np.logaddexp(0, -low), -np.logaddexp(0, low)
    # Derivatives of the sum by p and by q, both divided by its first term over p.
    turn = (order - 1) * ((log_rest - log_other) - (log_p - log_q))
    by_p = order * -np.expm1(turn)
    with np.errstate(over="ignore"):
        ratio, other = np.exp(log_p - log_q), np.exp(turn + log_rest - log_other)
        slope = by_p / ((order - 1) * np.maximum(ratio - other, 1e-300))
    return np.exp(log_q), slope


def _read_numbers(values: Iterable[float]) -> tuple[float, ...]:
    try:
        return tuple(map(float, values))
    except (TypeError, ValueError) as error:
        raise InvalidArgument("a privacy curve needs numbers", value=values, remedy=_FORM) from error


@attrs.frozen
class TabulatedCurve(PrivacyCurve):
    """δ(ε) through points: `values` (k,) at `epsilons` (k,) in nats, linear in e^ε between them and constant
    after the last. scale: by which every ε is multiplied. Raises: InvalidArgument if it is no curve."""

    name = "table"
    scaled = "scale"

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
    def from_trade_off(cls, type_1: Sequence[float], type_2: Sequence[float]) -> Self:
        """The curve of a trade-off function, linear between the given points; of its worse direction. type_1:
        (k,), errors of tests in world 0, from 0 to 1. type_2: (k,), the least error in world 1 that the claim
        allows. Raises: InvalidArgument if it is no trade-off function."""
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

    def __str__(self) -> str:
        text = f"a table of {len(self.epsilons):,} points"
        return text if self.scale == 1 else f"{text} with every ε multiplied by {self.scale:.4g}"


def _check(holds: bool, rule: str, value: object, remedy: str = _FORM) -> None:
    if not holds:
        if isinstance(value, np.ndarray):
            value = np.array2string(value, max_line_width=1_000, precision=6, separator=", ", threshold=8)
        raise InvalidArgument(rule, value=value, remedy=remedy)
