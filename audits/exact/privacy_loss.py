"""The privacy loss between two laws of one view, and what follows: δ(ε), ε(δ), the trade-off curve."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import attrs
import numpy as np

from arena import Claim, InvalidArgument
from arena.points import freeze

ROUNDING = 1e-13  # what sums of masses, each right to its last bits, may be off by
_STEPS = 100  # of a bisection: down to the last bits
_REACH_SLACK = 1e-9  # nats; a told reach that is further above a claim refutes it


@attrs.frozen
class Bracket:
    """Two numbers between which a third lies."""

    lower: float
    upper: float

    @property
    def middle(self) -> float:
        """Half way; infinity where the upper number is."""
        return self.upper if math.isinf(self.upper) else (self.lower + self.upper) / 2


def _own(values: Any) -> np.ndarray:
    return freeze(np.array(values, dtype=np.float64))


@attrs.frozen(eq=False, kw_only=True, slots=False)
class PrivacyLoss:
    """The laws of a view in world 0 and in world 1, cut into cells.

    The privacy loss of a view is log(P₁/P₀), in nats: ∞ where it is possible in world 1 only, −∞ where in
    world 0 only.

    Shapes, all (k,): p0, p1 the masses of the cells, at least one of them positive; low, high bounds on the
    privacy loss within each, equal for a single view. Logs, since ratios leave the range of floating point
    long before they cease to matter.

    unlisted: the mass, in either world, of views that no cell holds.
    error: by how much the mass of a set of cells may be off, beyond rounding.
    reach: the least and the greatest privacy loss of any view, where that is known; else it is read off the
        cells, and `complete` says whether they hold every view.
    """

    p0: np.ndarray = attrs.field(converter=_own)
    p1: np.ndarray = attrs.field(converter=_own)
    low: np.ndarray = attrs.field(converter=_own)
    high: np.ndarray = attrs.field(converter=_own)
    unlisted: float = 0.0
    error: float = 0.0
    reach: tuple[float, float] | None = None
    complete: bool = True

    @classmethod
    def of_views(cls, p0: Any, p1: Any, **rest: Any) -> Self:
        """From the probabilities (k,) of single views; those impossible in both worlds are left out."""
        first, second = np.array(p0, float), np.array(p1, float)
        held = (first != 0) | (second != 0)
        first, second = first[held], second[held]
        loss = log_ratio(first, second)
        return cls(p0=first, p1=second, low=loss, high=loss, **rest)

    def __attrs_post_init__(self) -> None:
        cells = (self.p0, self.p1, self.low, self.high)
        if any(array.shape != self.p0.shape or array.ndim != 1 for array in cells):
            raise InvalidArgument("cells have two masses and two bounds each", value=[a.shape for a in cells])
        if any(np.isnan(array).any() for array in cells) or not (self.error >= 0 and self.unlisted >= 0):
            raise InvalidArgument(
                "masses and bounds of a privacy loss are numbers, and its errors at least 0"
            )
        if not ((self.p0 >= 0).all() and (self.p1 >= 0).all() and np.isfinite(self.p0 + self.p1).all()):
            raise InvalidArgument("the masses of cells are finite and at least 0")
        self._check_bounds()

    def _check_bounds(self) -> None:
        mean = log_ratio(self.p0, self.p1)
        told = ~np.isnan(mean) & (self.p0 > 0) & (self.p1 > 0)
        with np.errstate(invalid="ignore"):
            off = np.maximum(self.low - mean, mean - self.high)[told]
        if (self.low > self.high).any() or (
            off * np.maximum(self.p0, self.p1)[told] > 1e-9 + self.error
        ).any():
            raise InvalidArgument("the mean ratio of a cell lies within the cell's bounds")

    # --- the worlds exchanged -----------------------------------------------------------------------

    @cached_property
    def reversed(self) -> PrivacyLoss:
        """The same with the worlds exchanged."""
        return attrs.evolve(
            self,
            p0=self.p1,
            p1=self.p0,
            low=-self.high,
            high=-self.low,
            reach=None if self.reach is None else (-self.reach[1], -self.reach[0]),
        )

    @cached_property
    def mean(self) -> np.ndarray:
        """(k,): the log of each cell's mean ratio, nats; a bound where masses underflow and tell none."""
        mean = log_ratio(self.p0, self.p1)
        mean = np.where(self.p0 == 0, self.low, np.where(self.p1 == 0, self.high, mean))
        return np.asarray(np.where(self.low == self.high, self.low, mean))

    # --- ε and δ ------------------------------------------------------------------------------------

    @property
    def stated_error(self) -> float:
        """All that a δ at ε = 0 may be off by, the width of cells apart."""
        return self.unlisted + 2 * self.error + ROUNDING

    @property
    def epsilon(self) -> float:
        """The pure ε, nats: the greatest absolute privacy loss of any view. Where the views are not
        `complete`, the greatest of those listed, which the truth may exceed.
        """
        least, greatest = self._reach()
        return max(-least, greatest, 0.0)

    def delta(self, epsilon: float) -> Bracket:
        """The least δ with which the worlds are (ε, δ)-indistinguishable, ε in nats; both directions.

        Raises: InvalidArgument unless 0 ≤ ε < ∞.
        """
        one, other = self.one_sided_delta(epsilon), self.reversed.one_sided_delta(epsilon)
        return Bracket(max(one.lower, other.lower), max(one.upper, other.upper))

    def one_sided_delta(self, epsilon: float) -> Bracket:
        """The greatest P₁(S) − e^ε P₀(S) of any set S of views.

        The lower end takes every cell as one view. The upper one adds what cells that hold losses on both
        sides of ε could hide: at most, a cell of mean ratio r has its mass at its two bounds.
        """
        if not 0 <= epsilon < np.inf:
            raise InvalidArgument("δ is asked for at an ε of at least 0 nats and finite", value=epsilon)
        lower, upper = self._ends(epsilon)
        return Bracket(max(lower, 0.0), min(upper, 1.0))  # δ is a probability, whatever the error

    def epsilon_at(self, delta: float) -> Bracket:
        """The least ε ≥ 0, in nats, with which the worlds are (ε, δ)-indistinguishable; both directions.

        Raises: InvalidArgument unless 0 ≤ δ ≤ 1.
        """
        if not 0 <= delta <= 1:
            raise InvalidArgument("δ is a probability", value=delta)
        if delta == 0 and self.reach is not None and self.complete:
            return Bracket(self.epsilon, self.epsilon)
        far = self._far
        lower = _least(lambda epsilon: self.delta(epsilon).lower <= delta, far)
        upper = _least(lambda epsilon: self.delta(epsilon).upper <= delta, self._turn(far))
        if self.complete and (self.reach is not None or not self.error):
            # No set of views has any δ left at the pure ε.
            lower, upper = min(lower, self.epsilon), min(upper, self.epsilon)
        return Bracket(lower, upper)

    def refutes(self, claim: Claim) -> bool:
        """Whether the claim is false beyond all that is stated as error."""
        if claim.empty:
            return False
        above = self.epsilon - claim.epsilon > _REACH_SLACK * max(1.0, claim.epsilon)
        pure = claim.delta == 0 and self.reach is not None and self.complete and above
        return pure or self.delta(claim.epsilon).lower > claim.delta

    # --- tests --------------------------------------------------------------------------------------

    @property
    def order(self) -> np.ndarray:
        """(k,): the cells from the greatest mean privacy loss to the least."""
        return np.argsort(-self.mean, kind="stable")

    def tradeoff(self) -> tuple[np.ndarray, np.ndarray]:
        """The trade-off curve of the most powerful tests of world 0 against world 1.

        Shapes: two of (k + 1,): the rates α of type I errors, rising from 0, and β of type II errors,
        falling to 0, of the tests that hold the first cells in `order` for world 1. Between neighbours, tests
        with a coin are on the chord: the curve is convex.
        """
        order = self.order
        alpha = np.concatenate([[0.0], np.cumsum(self.p0[order])])
        beta = np.concatenate([np.cumsum(self.p1[order][::-1])[::-1], [0.0]])
        return alpha, beta

    # --- inside -------------------------------------------------------------------------------------

    def _reach(self) -> tuple[float, float]:
        if self.reach is not None:
            return self.reach
        return (float(self.low.min()), float(self.high.max())) if len(self.low) else (0.0, 0.0)

    def _hidden(self, epsilon: float) -> float:
        """What cells of losses on both sides of ε could hide: their two-point extreme, less their mean."""
        mean = self.mean
        at = np.flatnonzero((self.low < epsilon) & (epsilon < self.high))
        if not len(at):
            return 0.0
        low, high, mass = self.low[at], self.high[at], self.p1[at]
        middle = np.clip(mean[at], low, high)
        # In units of the mean ratio, so that nothing overflows; at an infinite upper bound the limit.
        with np.errstate(over="ignore", invalid="ignore"):
            ratio, bottom, top = (np.exp(loss - middle) for loss in (epsilon, low, high))
            most = np.where(np.isinf(top), 1 - bottom, (top - ratio) * (1 - bottom) / (top - bottom))
        return float((mass * np.maximum(most - np.maximum(1 - ratio, 0), 0)).sum())

    def _ends(self, epsilon: float) -> tuple[float, float]:
        """The ends of the bracket of the one-sided δ, before they are held to be probabilities."""
        found = float((self.p1 * -np.expm1(np.minimum(epsilon - self.mean, 0.0))).sum())
        with np.errstate(over="ignore"):
            off = ROUNDING + (float(self.error * (1 + np.exp(epsilon))) if self.error else 0.0)
        return found - off, found + self._hidden(epsilon) + off + self.unlisted

    @property
    def _far(self) -> float:
        """An ε beyond which nothing happens: only infinite losses are left, and errors of mass hide those."""
        losses = np.abs(np.concatenate([self.low, self.high]))
        far = float(losses[np.isfinite(losses)].max(initial=0.0)) + 1.0
        return max(far, 1.0 - math.log(self.error)) if self.error else far

    def _turn(self, far: float) -> float:
        """Where the upper end of δ(ε) is least: it is convex in e^ε, and errors of mass grow with e^ε."""
        if not self.error:
            return far
        left, right = 0.0, far
        for _ in range(_STEPS):
            first, second = left + (right - left) / 3, right - (right - left) / 3
            if self._upper(first) <= self._upper(second):
                right = second
            else:
                left = first
        return (left + right) / 2

    def _upper(self, epsilon: float) -> float:
        return max(self._ends(epsilon)[1], self.reversed._ends(epsilon)[1])


def log_ratio(p0: np.ndarray, p1: np.ndarray) -> np.ndarray:
    """(k,): log(p1/p0) of masses, ±∞ where one is 0. Where both are, NaN."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.log(p1) - np.log(p0))


def _least(holds: Callable[[float], bool], high: float) -> float:
    """The least ε in [0, high] from which on `holds`, as far as bits go; ∞ if it does not even at high."""
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
