"""Privacy curves, which say δ for every ε at once, and privacy-loss distributions, which add up."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar, Self

import attrs
import numpy as np
from numpy.typing import ArrayLike

from arena.errors import Unsupported
from arena.settings import at_least, check_value, less_than

# Probabilities that are given up, all on the safe side. Each bounds a part of δ.
TAIL = 1e-16  # of a single step's largest losses, and of the composed loss outside of the window
_ROUNDING = 1e-14  # of the Fourier transform, whose errors are about 1e-16 for each entry of the largest
_MOST_CELLS = 2**22  # of a grid
_MOMENTS = np.geomspace(0.1, 100, 30)  # that bound the composed loss, over its standard deviation

Losses = tuple["LossDistribution", ...]  # of one direction, or of both
MassesOf = Callable[[np.ndarray], "tuple[np.ndarray, np.ndarray]"]

_LARGEST_EPSILON = 1e6  # nats, above which none is looked for
_TABLE_END = 12.0  # nats: the last of the points by which a curve is composed with others
_TABLE_POINTS = 512
_BISECTIONS = 60  # after which an ε is known to the last digits


@attrs.frozen(eq=False)
class LossDistribution:
    """A pair of distributions P and Q that dominates a mechanism, by the law of ln(P/Q) under P. Entry i of
    `masses` is the probability of the loss (first + i)·step; `infinite` that of an infinite loss, with all
    that rounding gave up."""

    step: float
    first: int
    masses: np.ndarray
    infinite: float

    @property
    def losses(self) -> np.ndarray:
        return self.step * (self.first + np.arange(len(self.masses)))

    @classmethod
    def from_cells(cls, masses_of: MassesOf, low: float, high: float, step: float) -> LossDistribution:
        """Discretise a pair of distributions.

        masses_of: of increasing losses ℓ (k,), the probabilities (k + 1,) under P and under Q of the cells
        between them. Each cell is replaced by its two ends, with the same mass under P and under Q. That
        dominates the given pair: δ(ε) becomes its chords over e^ε, which lie above it since it is convex.
        Mass below `low` is moved up to it, and mass above `high` to infinity; P has hardly any there.
        """
        first, last = math.floor(low / step), math.ceil(high / step)
        if last - first > _MOST_CELLS:
            raise Unsupported("the privacy loss varies too much for a grid", value=f"{low:.3g} to {high:.3g}")
        grid = step * np.arange(first, last + 1)
        p, q = masses_of(grid)
        inside_p, inside_q = p[1:-1], q[1:-1]
        with np.errstate(over="ignore", invalid="ignore"):
            # a + b = p and a·e^-ℓ + b·e^-(ℓ+step) = q, for a at the lower end ℓ and b at the upper end.
            upper = (inside_p - inside_q * np.exp(grid[:-1])) / -np.expm1(-step)
        upper = np.where(np.isfinite(upper), np.clip(upper, 0.0, inside_p), inside_p)
        masses = np.zeros(len(grid))
        masses[:-1] += inside_p - upper
        masses[1:] += upper
        masses[0] += p[0]
        return cls(step, first, masses, float(p[-1]))

    @classmethod
    def from_atoms(
        cls, losses: ArrayLike, masses: ArrayLike, step: float, infinite: float = 0.0
    ) -> LossDistribution:
        """Discretise losses (k,) with these probabilities under P; `infinite`: of an infinite loss."""
        places = np.asarray(losses) / step
        below = np.floor(places).astype(int)
        first = int(below.min())
        if below.max() - first > _MOST_CELLS:
            raise Unsupported("the privacy loss varies too much for a grid", value=float(below.max() * step))
        p = np.asarray(masses, float)
        # a + b = p and a + b·e^-step = p·e^-part, for a at the lower end, b at the upper end, part between.
        upper = np.clip(p * -np.expm1(-(places - below) * step) / -math.expm1(-step), 0.0, p)
        on_grid = np.zeros(int(below.max()) - first + 2)
        np.add.at(on_grid, below - first, p - upper)
        np.add.at(on_grid, below - first + 1, upper)
        return cls(step, first, on_grid, infinite)

    def convolve(self, other: LossDistribution) -> LossDistribution:
        """The distribution of the sum of this loss and an independent one on the same grid."""
        from scipy.signal import fftconvolve  # slow to import

        if len(self.masses) + len(other.masses) > _MOST_CELLS:
            raise Unsupported("the composed privacy loss varies too much for a grid", value=len(self.masses))
        masses = np.maximum(fftconvolve(self.masses, other.masses), 0.0)
        infinite = self.infinite + other.infinite - self.infinite * other.infinite + _ROUNDING
        return LossDistribution(self.step, self.first + other.first, masses, infinite)

    def compose(self, times: int) -> LossDistribution:
        """The distribution of the sum of so many independent losses, by a Fourier transform on a window,
        outside of which it lies with a probability of at most 1e-16 (Chernoff); this and rounding become
        infinite loss."""
        if times == 1:
            return self
        low, high = self._find_window(times)
        first = math.floor(low / self.step)
        cells = max(math.ceil(high / self.step) - first + 1, len(self.masses))
        if cells > _MOST_CELLS:
            raise Unsupported(
                "the composed privacy loss varies too much for a grid", value=f"{high - low:.3g}"
            )
        from scipy import fft  # slow to import

        size = fft.next_fast_len(cells, real=True)
        wrapped = np.zeros(size)
        np.add.at(wrapped, (self.first + np.arange(len(self.masses))) % size, self.masses)
        composed = fft.irfft(fft.rfft(wrapped) ** times, size)
        composed = np.maximum(np.roll(composed, -(first % size)), 0.0)
        infinite = -math.expm1(times * math.log1p(-self.infinite)) + 2 * TAIL + _ROUNDING
        return LossDistribution(self.step, first, composed, infinite)

    def _find_window(self, times: int) -> tuple[float, float]:
        present = self.masses > 0
        logs, losses = np.log(self.masses[present]), self.losses[present]
        mean = float(self.masses @ self.losses)
        spread = math.sqrt(times * max(float(self.masses @ (self.losses - mean) ** 2), self.step**2))
        bounds = []
        for sign in (1.0, -1.0):
            best = times * float((sign * losses).max())
            for moment in _MOMENTS / spread:
                exponents = sign * moment * losses + logs
                peak = float(exponents.max())
                growth = peak + math.log(np.exp(exponents - peak).sum())
                best = min(best, (times * growth - math.log(TAIL)) / moment)
            bounds.append(sign * best)
        return bounds[1], bounds[0]

    def delta(self, epsilon: float) -> float:
        """An upper bound on δ(ε) = sup over events of P − e^ε·Q."""
        start = max(0, math.floor(epsilon / self.step) - self.first)
        losses = self.step * (self.first + np.arange(start, len(self.masses)))
        gains = np.maximum(-np.expm1(epsilon - losses), 0.0)
        return min(1.0, float(self.masses[start:] @ gains) + self.infinite)

    def epsilon(self, delta: float) -> float:
        """The least ε ≥ 0 with δ(ε) ≤ delta, rounded up; infinity if there is none."""
        if self.delta(0.0) <= delta:
            return 0.0
        if self.infinite > delta:
            return math.inf
        low, high = 0.0, max(0.0, float(self.losses[-1]))
        while high - low > 1e-12 * max(1.0, high):
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high


def refine_grid(
    make: Callable[[float], Losses],
    step: float,
    figure: Callable[[LossDistribution], float],
    tolerance: float,
) -> tuple[float, Losses]:
    """Halve the step of a grid until a figure hardly changes, or the grid is too large.

    make: the losses on a grid with this step in nats. figure: of the losses of one direction; the larger one
    counts. tolerance: the relative change that ends it. Returns: the least figure, and the losses on the last
    grid. Raises: Unsupported if the first is too large.
    """
    best, losses = math.inf, make(step)
    while True:
        found = max(map(figure, losses))
        if found >= best * (1 - tolerance):
            return min(best, found), losses
        best, step = found, step / 2
        try:
            losses = make(step)
        except Unsupported:
            return best, losses


class PrivacyCurve(ABC):
    """δ(ε) of a mechanism: it is (ε, δ(ε))-DP for every ε ≥ 0, in both directions.

    A subclass is a frozen attrs class whose fields are numbers and yes or no, since ledgers store them. Its
    family has for each scale the curve with the noise divided by it; audits report which of them are refuted.
    """

    name: ClassVar[str]
    scaled: ClassVar[str]  # the field in proportion to which the curve is rescaled

    @abstractmethod
    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        """(k,): δ at each ε ≥ 0 (k,) in nats, never below the true value. Raises: Unsupported."""

    def rescale(self, scale: float) -> Self:
        return attrs.evolve(self, **{self.scaled: getattr(self, self.scaled) * scale})  # type: ignore[misc]

    def loss_distributions(self, step: float) -> tuple[LossDistribution, ...]:
        """Privacy losses on a grid with this step (nats) that dominate the claim: one a direction, or one."""
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
