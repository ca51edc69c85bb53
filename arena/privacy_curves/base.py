"""Privacy curves: claims that say δ for every ε at once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np

from arena.errors import Unsupported
from arena.privacy_curves.loss_distribution import LossDistribution
from arena.settings import at_least, check_value, less_than

_LARGEST_EPSILON = 1e6  # nats, above which none is looked for
_TABLE_END = 12.0  # nats: the last of the points by which a curve is composed with others
_TABLE_POINTS = 512
_BISECTIONS = 60  # after which an ε is known to the last digits


class PrivacyCurve(ABC):
    """δ(ε) of a mechanism: it is (ε, δ(ε))-DP for every ε ≥ 0, in both directions.

    Such a claim says as much as a trade-off function, and far more than one of its points. A subclass is a
    frozen attrs class whose fields are numbers and yes or no, since ledgers store them. It has a family: for
    each scale the curve of the same mechanism with its noise divided by the scale, which grows with the
    scale. Audits report which members of the family are refuted.
    """

    name: ClassVar[str]

    @abstractmethod
    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        """(k,): δ at each ε ≥ 0 (k,) in nats, never below the true value.

        Raises: Unsupported if it cannot be computed.
        """

    @abstractmethod
    def rescale(self, scale: float) -> Self:
        """The member of its family with this scale, relative to this curve."""

    def loss_distributions(self, step: float) -> tuple[LossDistribution, ...]:
        """Privacy losses on a grid with this step in nats that dominate the claim: one for each direction, or
        one that serves both."""
        epsilons = _TABLE_END * np.linspace(0, 1, _TABLE_POINTS) ** 2
        deltas, odds = self.deltas(epsilons), np.exp(epsilons)
        # Chords of δ over e^ε are the δ of losses at their ends; negative losses mirror the positive ones.
        slopes = np.append(np.diff(deltas) / np.diff(odds), 0.0)
        under_q = np.maximum(np.diff(slopes), 0.0)
        under_p = odds[1:] * under_q
        rest = max(0.0, 1.0 - float(under_p.sum() + under_q.sum() + deltas[-1]))
        losses = np.concatenate([-epsilons[:0:-1], [0.0], epsilons[1:]])
        masses = np.concatenate([under_q[::-1], [rest], under_p])
        return (LossDistribution.from_atoms(losses, masses, step, float(deltas[-1])),)

    @property
    def orders(self) -> tuple[float, ...]:
        """The orders α > 1 at which the claim bounds the Rényi divergence of the worlds; usually none."""
        return ()

    def divergence(self, order: float) -> float:
        """The bound on D_α in nats at one of its orders, in both directions."""
        raise Unsupported("the claim bounds no Rényi divergence", value=self)

    def epsilon(self, delta: float) -> float:
        """The least ε in nats with δ(ε) ≤ delta, rounded up; infinity if there is none. 0 ≤ delta < 1."""
        return _invert(self, delta)


@lru_cache(maxsize=1_024)
def _invert(curve: PrivacyCurve, delta: float) -> float:
    check_value("delta", delta, at_least(0), less_than(1))

    def suffices(epsilon: float) -> bool:
        return bool(curve.deltas(np.array([epsilon]))[0] <= delta)

    if suffices(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not suffices(high):
        low, high = high, 2 * high
        if high > _LARGEST_EPSILON:
            return math.inf
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high
