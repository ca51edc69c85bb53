"""Privacy loss between two distributions of one view, with δ(ε), ε(δ) and the trade-off curve.

Derivations: docs/proofs/exact_privacy_loss.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import attrs
import numpy as np

from arena import Claim, InvalidArgument
from arena.sample import freeze
from arena.settings import at_least, at_most, check_value, less_than

ROUNDING = 1e-13  # error of a sum of masses, each of which is correct to its last bits
_STEPS = 100  # of a bisection, down to the last bits
_REACH_SLACK = 1e-9  # relative; a pure ε further above a pure claim refutes it


@attrs.frozen
class Bracket:
    """Lower and upper bounds on a number."""

    lower: float
    upper: float

    @property
    def middle(self) -> float:
        """The midpoint; infinity if the upper bound is infinite."""
        return self.upper if math.isinf(self.upper) else (self.lower + self.upper) / 2


def _freeze_copy(values: Any) -> np.ndarray:
    return freeze(np.array(values, dtype=np.float64))


@attrs.frozen(eq=False, kw_only=True, slots=False)
class PrivacyLoss:
    """The distributions of a view in world 0 and in world 1, cut into cells.

    Shapes, all (k,): p0, p1, the masses of the cells; low, high, bounds on the privacy loss log(P₁/P₀), nats,
    within each cell, equal for a single view.

    unlisted: the mass, in either world, of views in no cell.
    error: by how much the mass of a set of cells may be off, beyond rounding.
    reach: the least and greatest privacy loss of any view, if known; otherwise they are taken from the cells.
    complete: whether the cells hold every view.
    """

    p0: np.ndarray = attrs.field(converter=_freeze_copy)
    p1: np.ndarray = attrs.field(converter=_freeze_copy)
    low: np.ndarray = attrs.field(converter=_freeze_copy)
    high: np.ndarray = attrs.field(converter=_freeze_copy)
    unlisted: float = 0.0
    error: float = 0.0
    reach: tuple[float, float] | None = None
    complete: bool = True

    @classmethod
    def of_views(cls, p0: Any, p1: Any, **rest: Any) -> Self:
        """From the probabilities (k,) of single views; views impossible in both worlds are left out."""
        first, second = np.array(p0, float), np.array(p1, float)
        possible = (first != 0) | (second != 0)
        first, second = first[possible], second[possible]
        loss = log_ratio(first, second)
        return cls(p0=first, p1=second, low=loss, high=loss, **rest)

    def __attrs_post_init__(self) -> None:
        cells = (self.p0, self.p1, self.low, self.high)
        if any(array.shape != self.p0.shape or array.ndim != 1 for array in cells):
            raise InvalidArgument("p0, p1, low and high must be (k,)", value=[a.shape for a in cells])
        if any(np.isnan(array).any() for array in cells) or not (self.error >= 0 and self.unlisted >= 0):
            raise InvalidArgument(
                "masses and bounds of a privacy loss must be numbers, and its errors at least 0"
            )
        if not ((self.p0 >= 0).all() and (self.p1 >= 0).all() and np.isfinite(self.p0 + self.p1).all()):
            raise InvalidArgument("the masses of cells must be finite and at least 0")
        mean = log_ratio(self.p0, self.p1)
        finite = ~np.isnan(mean) & (self.p0 > 0) & (self.p1 > 0)
        with np.errstate(invalid="ignore"):
            off = np.maximum(self.low - mean, mean - self.high)[finite]
        off *= np.maximum(self.p0, self.p1)[finite]
        if (self.low > self.high).any() or (off > 1e-9 + self.error).any():
            raise InvalidArgument("the mean ratio of a cell must lie within the bounds of the cell")

    @cached_property
    def reversed(self) -> PrivacyLoss:
        """The same with the worlds exchanged."""
        reach = None if self.reach is None else (-self.reach[1], -self.reach[0])
        return attrs.evolve(self, p0=self.p1, p1=self.p0, low=-self.high, high=-self.low, reach=reach)

    @cached_property
    def mean(self) -> np.ndarray:
        """(k,): the logarithm of each cell's mean ratio in nats; a bound where masses underflow."""
        mean = log_ratio(self.p0, self.p1)
        mean = np.where(self.p0 == 0, self.low, np.where(self.p1 == 0, self.high, mean))
        return np.asarray(np.where(self.low == self.high, self.low, mean))

    @property
    def stated_error(self) -> float:
        """How much a δ at ε = 0 may be off, apart from the width of cells."""
        return self.unlisted + 2 * self.error + ROUNDING

    @property
    def epsilon(self) -> float:
        """The pure ε in nats: the largest absolute loss of any view; of any listed one if not `complete`."""
        if self.reach is not None:
            return max(-self.reach[0], self.reach[1], 0.0)
        return max(-float(self.low.min()), float(self.high.max()), 0.0) if len(self.low) else 0.0

    def delta(self, epsilon: float) -> Bracket:
        """Bounds on the least δ for which the worlds are (ε, δ)-indistinguishable both ways; ε in nats.
        Raises: InvalidArgument unless 0 ≤ ε < ∞."""
        forward, backward = self.one_sided_delta(epsilon), self.reversed.one_sided_delta(epsilon)
        return Bracket(max(forward.lower, backward.lower), max(forward.upper, backward.upper))

    def one_sided_delta(self, epsilon: float) -> Bracket:
        """Bounds on the largest P₁(S) − e^ε P₀(S) over sets S of views; the upper one adds what cells with
        losses on both sides of ε could hide."""
        check_value("epsilon", epsilon, at_least(0), less_than(math.inf))
        lower, upper = self._raw_delta(epsilon)
        return Bracket(max(lower, 0.0), min(upper, 1.0))

    def epsilon_at(self, delta: float) -> Bracket:
        """Bounds on the least ε ≥ 0 in nats for which the worlds are (ε, δ)-indistinguishable both ways.
        Raises: InvalidArgument unless 0 ≤ δ ≤ 1."""
        check_value("delta", delta, at_least(0), at_most(1))
        if delta == 0 and self.reach is not None and self.complete:
            return Bracket(self.epsilon, self.epsilon)
        # An ε beyond which nothing changes: only infinite losses remain, and errors of mass hide those.
        losses = np.abs(np.concatenate([self.low, self.high]))
        far = float(losses[np.isfinite(losses)].max(initial=0.0)) + 1.0
        far = max(far, 1.0 - math.log(self.error)) if self.error else far
        lower = _least_epsilon(lambda epsilon: self.delta(epsilon).lower <= delta, far)
        upper = _least_epsilon(lambda epsilon: self.delta(epsilon).upper <= delta, self._turning_point(far))
        if self.complete and (self.reach is not None or not self.error):
            # At the pure ε the δ of every set of views is 0.
            lower, upper = min(lower, self.epsilon), min(upper, self.epsilon)
        return Bracket(lower, upper)

    def refutes(self, claim: Claim) -> bool:
        """Whether the claim is false by more than all stated errors."""
        if claim.empty:
            return False
        above = self.epsilon - claim.epsilon > _REACH_SLACK * max(1.0, claim.epsilon)
        pure = claim.delta == 0 and self.reach is not None and self.complete and above
        return pure or self.delta(claim.epsilon).lower > claim.delta

    @property
    def order(self) -> np.ndarray:
        """(k,): the cells from the largest mean privacy loss to the smallest."""
        return np.argsort(-self.mean, kind="stable")

    def tradeoff(self) -> tuple[np.ndarray, np.ndarray]:
        """The type I errors α and type II errors β, (k + 1,) each, of the tests that decide for world 1 on
        the first cells in `order`, the most powerful ones. Randomised tests interpolate linearly."""
        order = self.order
        alpha = np.concatenate([[0.0], np.cumsum(self.p0[order])])
        beta = np.concatenate([np.cumsum(self.p1[order][::-1])[::-1], [0.0]])
        return alpha, beta

    def _largest_hidden_delta(self, epsilon: float) -> float:
        """How much δ cells with losses around ε could hide: their two-point extreme less their mean."""
        around = np.flatnonzero((self.low < epsilon) & (epsilon < self.high))
        if not len(around):
            return 0.0
        low, high, mass = self.low[around], self.high[around], self.p1[around]
        middle = np.clip(self.mean[around], low, high)
        # In units of the mean ratio, so that nothing overflows; the limit at an infinite upper bound.
        with np.errstate(over="ignore", invalid="ignore"):
            ratio, bottom, top = (np.exp(loss - middle) for loss in (epsilon, low, high))
            excess = np.where(np.isinf(top), 1 - bottom, (top - ratio) * (1 - bottom) / (top - bottom))
        return float((mass * np.maximum(excess - np.maximum(1 - ratio, 0), 0)).sum())

    def _raw_delta(self, epsilon: float) -> tuple[float, float]:
        """Bounds on the one-sided δ before they are clipped to [0, 1]."""
        delta = float((self.p1 * -np.expm1(np.minimum(epsilon - self.mean, 0.0))).sum())
        with np.errstate(over="ignore"):
            off = ROUNDING + (float(self.error * (1 + np.exp(epsilon))) if self.error else 0.0)
        return delta - off, delta + self._largest_hidden_delta(epsilon) + off + self.unlisted

    def _turning_point(self, far: float) -> float:
        """Where the upper bound on δ(ε) is least: it is convex in e^ε, and errors of mass grow with e^ε."""
        if not self.error:
            return far
        left, right = 0.0, far
        for _ in range(_STEPS):
            first, second = left + (right - left) / 3, right - (right - left) / 3
            if self._upper_delta(first) <= self._upper_delta(second):
                right = second
            else:
                left = first
        return (left + right) / 2

    def _upper_delta(self, epsilon: float) -> float:
        return max(self._raw_delta(epsilon)[1], self.reversed._raw_delta(epsilon)[1])


def log_ratio(p0: np.ndarray, p1: np.ndarray) -> np.ndarray:
    """(k,): log(p1/p0) of masses; ±∞ where one is 0, NaN where both are."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(p1) - np.log(p0))


def _least_epsilon(holds: Callable[[float], bool], high: float) -> float:
    """The least ε in [0, high] from which on `holds`, to the last bits; ∞ if it does not hold at high."""
    low = 0.0
    if holds(low):
        return low
    if not holds(high):
        return math.inf
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
