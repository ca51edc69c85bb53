"""Privacy-loss distributions on a grid: what many noisy sums of subsampled data cost together."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.settings import at_least, at_most, check_value, more_than, whole
from learners.mechanisms.parameter_checks import check_positive, check_probability

# Probabilities that are given up, all on the safe side. Each bounds a part of δ.
_TAIL = 1e-16  # of a single step's largest losses, and of the composed loss outside of the window
_ROUNDING = 1e-14  # of the Fourier transform, whose errors are about 1e-16 for each entry of the largest
_MOST_CELLS = 2**22  # of a grid
_TOLERANCE = 2e-5  # relative change of ε at which a finer grid is no longer tried
_FIRST_CELLS = 4_096  # of the grid from which the standard deviation of a step's loss is read
_MOMENTS = np.geomspace(0.1, 100, 30)  # that bound the composed loss, over its standard deviation

MassesOf = Callable[[np.ndarray], "tuple[np.ndarray, np.ndarray]"]


@attrs.frozen(eq=False)
class LossDistribution:
    """A pair of distributions P and Q that dominates a mechanism, by the law of ln(P/Q) under P.

    Entry i of `masses` is the probability of the loss (first + i)·step. infinite: that of an infinite loss,
    with all that rounding gave up.
    """

    step: float
    first: int
    masses: np.ndarray
    infinite: float

    @property
    def losses(self) -> np.ndarray:
        """The losses of the entries, increasing."""
        return self.step * (self.first + np.arange(len(self.masses)))

    @classmethod
    def from_cells(cls, masses_of: MassesOf, low: float, high: float, step: float) -> LossDistribution:
        """Discretise a pair of distributions.

        masses_of: of increasing losses ℓ (k,), the probabilities (k + 1,) under P and under Q that the loss
            lies below the first, between each and the next, and above the last.
        low, high: losses beyond which P has hardly any mass.

        Each cell is replaced by its two ends, with the same mass under P and under Q. A pair that is made
        coarser in this way dominates the given one: δ(ε) becomes its chords over e^ε, which lie above it
        since it is convex. Mass below `low` is moved up to it, and mass above `high` to infinity.
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

    def compose(self, times: int) -> LossDistribution:
        """The distribution of the sum of so many independent losses.

        The losses are added by a Fourier transform on a window, outside of which the sum lies with a
        probability of at most 1e-16 by Chernoff's bound; this and the rounding errors become infinite loss.
        """
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
        infinite = -math.expm1(times * math.log1p(-self.infinite)) + 2 * _TAIL + _ROUNDING
        return LossDistribution(self.step, first, composed, infinite)

    def _find_window(self, times: int) -> tuple[float, float]:
        """Losses below and above which the sum lies with a probability of at most 1e-16 each."""
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
                best = min(best, (times * growth - math.log(_TAIL)) / moment)
            bounds.append(sign * best)
        return bounds[1], bounds[0]

    def delta(self, epsilon: float) -> float:
        """An upper bound on δ(ε) = sup over events of P − e^ε·Q."""
        losses = self.losses
        above = losses > epsilon
        return min(1.0, float(self.masses[above] @ -np.expm1(epsilon - losses[above])) + self.infinite)

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


# --- the pairs that dominate a step -------------------------------------------------------------------------


def _tails(x: np.ndarray, sigma: float, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities (k + 1,) of the cells between increasing x (k,) under N(0, σ²) and N(shift, σ²)."""
    from scipy.special import ndtr  # slow to import

    ends = np.concatenate([[-np.inf], x, [np.inf]])
    found = []
    for mean in (0.0, shift):
        at = (ends - mean) / sigma
        # The difference of the smaller tails, since that of the larger ones has no digits far out.
        below, above = np.diff(ndtr(at)), -np.diff(ndtr(-at))
        found.append(np.where(at[:-1] > 0, above, below))
    return found[0], found[1]


def _outputs_at(losses: np.ndarray, rate: float, sigma: float, shift: float) -> np.ndarray:
    """The output x at which ln(1 − q + q·e^((x − shift/2)·shift/σ²)) is each of some losses; −∞ if none."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # ln((e^ℓ − 1 + q)/q), which for large ℓ is ℓ − ln q.
        large = losses > 50
        ratio = np.where(
            large, losses - math.log(rate), np.log1p(np.expm1(np.where(large, 0, losses)) / rate)
        )
    return np.where(np.isnan(ratio), -np.inf, sigma**2 / shift * ratio + shift / 2)


def _mixture(rate: float, zero: np.ndarray, one: np.ndarray) -> np.ndarray:
    return (1 - rate) * zero + rate * one


@attrs.frozen
class NoisyStep:
    """A step that publishes a Gaussian noisy sum over a random part of the data.

    rate: q, the chance of an example to be in the part. sigma: of the noise. shift: by how much a changed
    example that is in the part moves the sum.
    """

    rate: float
    sigma: float
    shift: float = 1.0

    def masses_if_removed(self, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P = (1 − q)·N(0, σ²) + q·N(shift, σ²) against Q = N(0, σ²)."""
        zero, one = _tails(_outputs_at(losses, self.rate, self.sigma, self.shift), self.sigma, self.shift)
        return _mixture(self.rate, zero, one), zero

    def masses_if_added(self, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P = N(0, σ²) against Q = (1 − q)·N(0, σ²) + q·N(shift, σ²): the losses above, with other signs."""
        p, q = self.masses_if_removed(-losses[::-1])
        return q[::-1], p[::-1]

    def masses_if_replaced(self, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The pair with δ(ε) = q·δ_G(ln(1 + (e^ε − 1)/q)) for ε ≥ 0 in both directions, where δ_G is that of
        the noisy sum: positive losses are those of `masses_if_removed`, negative ones mirror them, and the
        remaining mass has loss 0. Grids contain the loss 0."""
        p, q = self.masses_if_removed(losses)
        ends = np.concatenate([losses, [np.inf]])  # the upper end of each cell
        positive = np.concatenate([[-np.inf], losses]) >= 0
        negative = ends <= 0
        mirrored = self.masses_if_removed(-losses[::-1])
        found_p = np.where(positive, p, 0.0) + np.where(negative, mirrored[1][::-1], 0.0)
        found_q = np.where(positive, q, 0.0) + np.where(negative, mirrored[0][::-1], 0.0)
        zero = int(np.searchsorted(losses, 0.0))  # the cell that ends with loss 0
        above = self.masses_if_removed(np.zeros(1))
        rest = max(0.0, 1.0 - float(above[0][1] + above[1][1]))
        found_p[zero] += rest
        found_q[zero] += rest
        return found_p, found_q

    @property
    def largest_loss(self) -> float:
        """The loss of `masses_if_removed` above which P has a mass of at most 1e-16."""
        from scipy.special import ndtri  # slow to import

        far = self.shift - self.sigma * float(ndtri(_TAIL))
        return math.log1p(self.rate * math.expm1((far - self.shift / 2) * self.shift / self.sigma**2))


@lru_cache(maxsize=128)  # an audit asks for the claim in every block
def noisy_steps_epsilon(step: NoisyStep, times: int, delta: float, *, replaced: bool) -> float:
    """The ε of so many steps at δ, each over a new part of the data, when an example is changed.

    replaced: the example is replaced by another, and each part has a fixed size, of which `rate` is the share
    of the data; `shift` is by how much replacing an example moves the sum. Otherwise the example is added,
    removed or zeroed out, and is in each part independently with chance `rate`.

    Never below the true value, except for errors of rounding in the last digits. Dominating pairs: Theorem 11
    of Zhu, Dong, Wang, Optimal Accounting of Differential Privacy via Characteristic Function (2022), and for
    parts of a fixed size Theorem 9 of Balle, Barthe, Gaboardi, Privacy Amplification by Subsampling (2018).
    Proof of the grid: docs/proofs/loss_distribution.md.
    """
    check_probability(delta=delta)
    return _refine(step, times, replaced, lambda loss: loss.epsilon(delta))


def noisy_steps_delta(step: NoisyStep, times: int, epsilon: float, *, replaced: bool) -> float:
    """The δ of so many steps at ε; the rest is as in `noisy_steps_epsilon`."""
    check_value("epsilon", epsilon, at_least(0))
    return _refine(step, times, replaced, lambda loss: loss.delta(epsilon))


@lru_cache(maxsize=128)
def _compose(step: NoisyStep, times: int, replaced: bool, cell: float) -> tuple[LossDistribution, ...]:
    top = step.largest_loss
    bottom = min(top, -math.log1p(-step.rate)) if step.rate < 1 else top
    if replaced:
        pairs = [(step.masses_if_replaced, -top, top)]
    else:
        pairs = [(step.masses_if_removed, -bottom, top), (step.masses_if_added, -top, bottom)]
    return tuple(LossDistribution.from_cells(*pair, cell).compose(times) for pair in pairs)


def _refine(
    step: NoisyStep, times: int, replaced: bool, figure: Callable[[LossDistribution], float]
) -> float:
    """The figure on grids that are made finer until it hardly changes, or until they are too large."""
    check_positive(sigma=step.sigma, shift=step.shift)
    check_value("rate", step.rate, more_than(0), at_most(1))
    check_value("times", times, whole, at_least(1))
    coarse = _compose(step, 1, replaced, step.largest_loss / _FIRST_CELLS)[0]
    mean = coarse.masses @ coarse.losses
    cell = math.sqrt(float(coarse.masses @ (coarse.losses - mean) ** 2)) / 2
    best = math.inf
    while True:
        try:
            found = max(figure(loss) for loss in _compose(step, times, replaced, cell))
        except Unsupported:
            if math.isinf(best):
                raise
            return best
        if found >= best * (1 - _TOLERANCE):
            return min(best, found)
        best, cell = found, cell / 2


def renyi_epsilon(step: NoisyStep, times: int, delta: float) -> float:
    """The ε of so many steps at δ by Rényi divergences of integer orders, for comparison.

    Theorem 5 and section 3.3 of Mironov, Talwar, Zhang, Rényi Differential Privacy of the Sampled Gaussian
    Mechanism (2019), with the conversion of Canonne, Kamath, Steinke (2020). Examples are added or removed.
    """
    from scipy.special import gammaln, logsumexp  # slow to import

    check_probability(delta=delta)
    ratio, best = step.shift / step.sigma, math.inf
    for order in (*range(2, 64), *range(64, 1_025, 32)):
        k = np.arange(order + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            stays = np.where(order > k, (order - k) * np.log1p(-step.rate), 0.0)
        terms = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1) + stays
        terms += k * math.log(step.rate) + k * (k - 1) * ratio**2 / 2
        divergence = times * float(logsumexp(terms)) / (order - 1)
        slack = math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
        best = min(best, divergence + slack)
    return max(0.0, best)
