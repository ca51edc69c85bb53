"""Claims that bound Rényi divergences: zero-concentrated privacy, and Rényi privacy at one order.

What δ they imply: docs/proofs/renyi_curves.md.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Self

import attrs
import numpy as np

from arena.points import freeze
from arena.privacy_curves.base import PrivacyCurve
from arena.settings import less_than, more_than, number

# Orders at which a claim for all orders is used. Fewer orders imply less, so that δ is never too small.
_ORDERS = tuple(map(float, 1 + np.geomspace(0.02, 500, 201)))
_EVERY = 16  # of these orders, one is used for common events
_PROBABILITIES = 144  # at which the boundary for common events is computed
_FARTHEST = 14.0  # logit of the smallest of these probabilities: about 1e-6
_BISECTIONS = 22  # after which the logit of q is known to five digits, and too small


class DivergenceCurve(PrivacyCurve):
    """A claim that bounds Rényi divergences, with the δ(ε) that it implies."""

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

    rho: float = attrs.field(validator=[number, more_than(0), less_than(math.inf)])

    @property
    def orders(self) -> tuple[float, ...]:
        return _ORDERS

    def divergence(self, order: float) -> float:
        return self.rho * order

    def rescale(self, scale: float) -> Self:
        return attrs.evolve(self, rho=self.rho * scale)

    def __str__(self) -> str:
        return f"zero-concentrated privacy with ρ = {self.rho:.4g}"


@attrs.frozen
class RenyiCurve(DivergenceCurve):
    """(α, ε)-RDP: D_α ≤ ε at one order α > 1 (Mironov 2017). order: α; bound: ε in nats."""

    name = "RDP"

    order: float = attrs.field(validator=[number, more_than(1), less_than(math.inf)])
    bound: float = attrs.field(validator=[number, more_than(0), less_than(math.inf)])

    @property
    def orders(self) -> tuple[float, ...]:
        return (self.order,)

    def divergence(self, order: float) -> float:
        return self.bound

    def rescale(self, scale: float) -> Self:
        return attrs.evolve(self, bound=self.bound * scale)

    def __str__(self) -> str:
        return f"Rényi privacy of order {self.order:.4g} with ε = {self.bound:.4g}"


@lru_cache(maxsize=1_024)
def _list_corners(curve: DivergenceCurve) -> tuple[np.ndarray, np.ndarray]:
    """Corners of a polygon around the probabilities (p, q) that an event may have in the two worlds.

    By the data-processing inequality an event satisfies
    p^α·q^(1 − α) + (1 − p)^α·(1 − q)^(1 − α) ≤ e^((α − 1)·D_α). The set of these is convex, so that it lies
    within the polygon of its tangents.
    """
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
