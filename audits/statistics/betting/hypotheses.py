"""The ordered families of null hypotheses that the betting test bets against.

Each hypothesis implies the next one, so a bet against one is a bet against all before it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Protocol

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.privacy_curves import PrivacyCurve
from arena.sample import freeze

EPSILON_MAX = 20.0  # nats: a billion pairs certify at most about that much
_FINEST_STEP = 1e-3  # nats; the smallest positive ε of the grid
_STEP = 1e-3  # by which an ε of the grid exceeds the one before it, relative to it
_PROBE_SPACING = 100  # of the ε of the grid at which it is seen whether any event pays
_MAX_POINTS = 256  # values of ε for which stakes are set

_SCALE_STEP = 0.01  # by which a scale exceeds the one before it, relative to it
_SCALES_BELOW, _SCALES_ABOVE = 448, 160  # numbers of scales: down to a hundredth, up to five times
_CURVE_SPACING = 32  # as `_PROBE_SPACING`, for scales
_MAX_CURVES = 16  # scales for which stakes are set, since each needs its curve
_CONDITIONS = 16  # points of a curve
_SMALLEST_DELTA = 1e-9  # of these points
_EVERY_ORDER = 16
_LARGEST_ORDER = 32.0


class Hypotheses(Protocol):
    """Null hypotheses H(0), H(1), …, each of which implies the next.

    H(i) says that P₁(E) ≤ e^ε·P₀(E) + δ, and the same with the worlds exchanged, for every event E and some
    pairs (ε, δ), the conditions of H(i); and perhaps that the Rényi divergences of some orders are bounded.
    claim: the index of the claim under test, if it is among them. orders: α > 1 of these A divergences.
    """

    @property
    def claim(self) -> int | None: ...

    @property
    def orders(self) -> tuple[float, ...]: ...

    def __len__(self) -> int: ...

    def read_bound(self, index: int) -> float:
        """The ε in nats that is certified if the hypotheses up to this one are rejected."""

    def read_curve(self, index: int) -> PrivacyCurve | None:
        """The privacy curve that a hypothesis is, if it is one."""

    def choose_probes(self, rejected: int) -> np.ndarray:
        """Indices from `rejected` on, increasing, at which it is seen whether any event pays."""

    def choose_points(self, start: int, stop: int) -> np.ndarray:
        """Indices in [start, stop), increasing and with the last one, for which stakes are set."""

    def list_conditions(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """ε and δ of M conditions of each hypothesis: (p, M) and (p, M)."""

    def list_log_moments(self, indices: np.ndarray) -> np.ndarray:
        """(p, A): the largest (α − 1)·D_α in nats that each hypothesis allows."""


@attrs.frozen(eq=False)
class EpsilonGrid:
    """(ε, δ)-DP for each ε of a grid (G,), in nats, and one δ."""

    epsilons: np.ndarray
    delta: float
    claim: int | None = None
    orders: tuple[float, ...] = attrs.field(default=(), init=False)

    @classmethod
    def make(cls, delta: float, epsilon_max: float = EPSILON_MAX, claim: float | None = None) -> EpsilonGrid:
        """The grid from 0 to epsilon_max, with the ε of the claim."""
        grid = _epsilon_grid(epsilon_max)
        if claim is None:
            return cls(grid, delta)
        grid = np.union1d(grid, [claim])
        return cls(grid, delta, int(np.searchsorted(grid, claim)))

    def __len__(self) -> int:
        return len(self.epsilons)

    def read_bound(self, index: int) -> float:
        return float(self.epsilons[index])

    def read_curve(self, index: int) -> None:
        return None

    def choose_probes(self, rejected: int) -> np.ndarray:
        return np.arange(rejected, len(self), _PROBE_SPACING)

    def choose_points(self, start: int, stop: int) -> np.ndarray:
        step = -(-(stop - start) // _MAX_POINTS)
        points = np.arange(stop - 1, start - 1, -step)
        if self.claim is not None and start <= self.claim < stop:
            points = np.append(points, self.claim)
        return np.unique(points)

    def list_conditions(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        epsilons = self.epsilons[indices][:, None]
        return epsilons, np.full_like(epsilons, self.delta)

    def list_log_moments(self, indices: np.ndarray) -> np.ndarray:
        return np.empty((len(indices), 0))


@attrs.frozen(eq=False)
class CurveFamily:
    """The family of a privacy curve, by increasing scale; the claim is the curve itself, with scale 1.

    delta: at which bounds are expressed, at least 0 and below 1. claim_only: leave out what the claim does
    not depend on.
    """

    curve: PrivacyCurve
    delta: float
    claim_only: bool = False
    claim: int = attrs.field(default=_SCALES_BELOW, init=False)

    def __len__(self) -> int:
        return _SCALES_BELOW + 1 + (0 if self.claim_only else _SCALES_ABOVE)

    def read_bound(self, index: int) -> float:
        return self.read_curve(index).epsilon(self.delta)

    def choose_probes(self, rejected: int) -> np.ndarray:
        if self.claim_only:
            return np.array([self.claim])
        aligned = np.arange(-(-rejected // _CURVE_SPACING) * _CURVE_SPACING, len(self), _CURVE_SPACING)
        return np.union1d([rejected], aligned)

    def choose_points(self, start: int, stop: int) -> np.ndarray:
        if self.claim_only:
            return np.array([self.claim])
        # Multiples of a power of two, so that the same curves are used again when the span has shrunk.
        step = 2 ** math.ceil(math.log2(max(1.0, (stop - start) / _MAX_CURVES)))
        points = np.append(np.arange(-(-start // step) * step, stop, step), stop - 1)
        if start <= self.claim < stop:
            points = np.append(points, self.claim)
        return np.unique(points)

    def list_conditions(self, indices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        listed = [list_curve_points(self.read_curve(int(index))) for index in indices]
        return np.array([epsilons for epsilons, _ in listed]), np.array([deltas for _, deltas in listed])

    @property
    def orders(self) -> tuple[float, ...]:
        orders = self.curve.orders
        # Those of a claim for all orders that bets can use: large ones depend on too rare scores.
        return orders if len(orders) == 1 else tuple(a for a in orders[::_EVERY_ORDER] if a <= _LARGEST_ORDER)

    def list_log_moments(self, indices: np.ndarray) -> np.ndarray:
        members = [self.read_curve(int(index)) for index in indices]
        return np.array([[(a - 1) * member.divergence(a) for a in self.orders] for member in members])

    def read_curve(self, index: int) -> PrivacyCurve:
        scale = (1 + _SCALE_STEP) ** (index - _SCALES_BELOW)
        return self.curve.rescale(scale) if index != self.claim else self.curve


@lru_cache(maxsize=1_024)
def list_curve_points(curve: PrivacyCurve) -> tuple[np.ndarray, np.ndarray]:
    """Points of a curve, ε and δ (M,) each; δ = 1, which says nothing, where they are not known."""
    try:
        last = 1.0
        while last < EPSILON_MAX and curve.deltas(np.array([last]))[0] > _SMALLEST_DELTA:
            last *= 2
        epsilons = last * np.linspace(0, 1, _CONDITIONS) ** 2
        return freeze(epsilons), freeze(np.minimum(curve.deltas(epsilons), 1.0))
    except Unsupported:
        return freeze(np.zeros(_CONDITIONS)), freeze(np.ones(_CONDITIONS))


@lru_cache(maxsize=8)
def _epsilon_grid(epsilon_max: float) -> np.ndarray:
    """The grid of ε in nats: 0, then steps of 0.1 %."""
    steps = math.ceil(math.log(max(epsilon_max, _FINEST_STEP) / _FINEST_STEP) / math.log1p(_STEP))
    grid = np.append(0.0, np.geomspace(_FINEST_STEP, max(epsilon_max, _FINEST_STEP), steps + 1))
    return freeze(grid[grid <= epsilon_max])
