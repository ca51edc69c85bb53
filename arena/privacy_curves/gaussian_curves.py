"""The privacy curves of Gaussian noise: many noisy sums of subsampled data, and μ-GDP."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Self

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.privacy_curves.base import TAIL, LossDistribution, PrivacyCurve, refine_grid
from arena.settings import at_least, at_most, check_value, less_than, more_than, number, whole, yes_or_no

_TOLERANCE = 2e-5  # relative change of ε at which a finer grid is no longer tried
_CURVE_TOLERANCE = 1e-3  # the same where a whole curve is computed
_SMALL_DELTA = 1e-6  # at which it is seen whether a grid is fine enough for a curve
_FIRST_CELLS = 4_096  # of the grid from which the standard deviation of a step's loss is read

_BISECTIONS = 100  # after which a μ is known to the last digits, unless it is tiny


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


@attrs.frozen
class NoisyStepsCurve(PrivacyCurve):
    """Steps that each publish a Gaussian noisy sum over a new random part of the data.

    rate: q, the chance of an example to be in the part. shift: by how much an example that is changed, and in
    the part, moves the sum. slack: a probability that is added to δ, such as that of a rounding error.
    replaced: an example is replaced, and each part has a fixed size, the share `rate` of the data. Otherwise
    one is added, removed or zeroed out, and is in each part independently with chance `rate`.

    Never below the true value, except for rounding in the last digits. Dominating pairs: Theorem 11 of Zhu,
    Dong, Wang (2022), Optimal Accounting of Differential Privacy via Characteristic Function, and for parts
    of a fixed size Theorem 9 of Balle, Barthe, Gaboardi (2018), Privacy Amplification by Subsampling. Grid:
    docs/proofs/loss_distribution.md.
    """

    name = "noisy steps"

    rate: float = attrs.field(validator=[number, more_than(0), at_most(1)])
    sigma: float = attrs.field(validator=[number, more_than(0), less_than(math.inf)])
    times: int = attrs.field(validator=[whole, at_least(1)])
    shift: float = attrs.field(default=1.0, validator=[number, more_than(0), less_than(math.inf)])
    replaced: bool = attrs.field(default=False, validator=yes_or_no)
    slack: float = attrs.field(default=0.0, validator=[number, at_least(0), less_than(1)])

    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        directions = _find_distributions(attrs.evolve(self, slack=0.0))
        return self.slack + np.array([max(loss.delta(float(e)) for loss in directions) for e in epsilons])

    def loss_distributions(self, step: float) -> tuple[LossDistribution, ...]:
        composed = _compose(attrs.evolve(self, slack=0.0), step)
        return tuple(attrs.evolve(loss, infinite=min(1.0, loss.infinite + self.slack)) for loss in composed)

    def epsilon(self, delta: float) -> float:
        return math.inf if self.slack >= delta else _find_epsilon(self, delta - self.slack)

    def rescale(self, scale: float) -> Self:
        return attrs.evolve(self, sigma=self.sigma / scale)

    def __str__(self) -> str:
        sums = "one noisy sum" if self.times == 1 else f"{self.times:,} noisy sums"
        return f"{sums} with rate {self.rate:.4g} and noise multiplier {self.sigma:.4g}"

    def masses_if_removed(self, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of one step, P = (1 − q)·N(0, σ²) + q·N(shift, σ²) against Q = N(0, σ²)."""
        zero, one = _tails(_outputs_at(losses, self.rate, self.sigma, self.shift), self.sigma, self.shift)
        return (1 - self.rate) * zero + self.rate * one, zero

    def masses_if_added(self, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P = N(0, σ²) against Q = (1 − q)·N(0, σ²) + q·N(shift, σ²): the losses above, with other signs."""
        p, q = self.masses_if_removed(-losses[::-1])
        return q[::-1], p[::-1]

    def masses_if_replaced(self, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The pair with δ(ε) = q·δ_G(ln(1 + (e^ε − 1)/q)) for ε ≥ 0 in both directions, where δ_G is that of
        the noisy sum: positive losses are those of `masses_if_removed`, negative ones mirror them, and the
        remaining mass has loss 0. Grids contain the loss 0."""
        p, q = self.masses_if_removed(losses)
        positive = np.concatenate([[-np.inf], losses]) >= 0
        negative = np.concatenate([losses, [np.inf]]) <= 0
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

        far = self.shift - self.sigma * float(ndtri(TAIL))
        return math.log1p(self.rate * math.expm1((far - self.shift / 2) * self.shift / self.sigma**2))


@lru_cache(maxsize=1_024)  # an audit asks for the claim in every block
def _find_epsilon(curve: NoisyStepsCurve, delta: float) -> float:
    check_value("delta", delta, more_than(0), less_than(1))
    return _refine(attrs.evolve(curve, slack=0.0), lambda loss: loss.epsilon(delta), _TOLERANCE)[0]


@lru_cache(maxsize=128)
def _compose(curve: NoisyStepsCurve, cell: float) -> tuple[LossDistribution, ...]:
    top = curve.largest_loss
    bottom = min(top, -math.log1p(-curve.rate)) if curve.rate < 1 else top
    if curve.replaced:
        pairs = [(curve.masses_if_replaced, -top, top)]
    else:
        pairs = [(curve.masses_if_removed, -bottom, top), (curve.masses_if_added, -top, bottom)]
    return tuple(LossDistribution.from_cells(*pair, cell).compose(curve.times) for pair in pairs)


def _refine(
    curve: NoisyStepsCurve, figure: Callable[[LossDistribution], float], tolerance: float
) -> tuple[float, tuple[LossDistribution, ...]]:
    coarse = _compose(attrs.evolve(curve, times=1), curve.largest_loss / _FIRST_CELLS)[0]
    mean = coarse.masses @ coarse.losses
    cell = math.sqrt(float(coarse.masses @ (coarse.losses - mean) ** 2)) / 2
    return refine_grid(partial(_compose, curve), cell, figure, tolerance)


@lru_cache(maxsize=512)
def _find_distributions(curve: NoisyStepsCurve) -> tuple[LossDistribution, ...]:
    """The composed privacy losses, one for each direction, on a grid fine enough for a whole curve."""
    try:
        return _refine(curve, lambda loss: loss.epsilon(_SMALL_DELTA), _CURVE_TOLERANCE)[1]
    except ArithmeticError as error:
        raise Unsupported("there is hardly any noise", value=curve.sigma) from error


def renyi_epsilon(steps: NoisyStepsCurve, delta: float) -> float:
    """The ε of the steps at δ by Rényi divergences of integer orders, for comparison: Theorem 5 and section
    3.3 of Mironov, Talwar, Zhang, Rényi Differential Privacy of the Sampled Gaussian Mechanism (2019), with
    the conversion of Canonne, Kamath, Steinke (2020). Examples are added or removed."""
    from scipy.special import gammaln, logsumexp  # slow to import

    check_value("delta", delta, more_than(0), less_than(1))
    ratio, best = steps.shift / steps.sigma, math.inf
    for order in (*range(2, 64), *range(64, 1_025, 32)):
        k = np.arange(order + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            stays = np.where(order > k, (order - k) * np.log1p(-steps.rate), 0.0)
        terms = gammaln(order + 1) - gammaln(k + 1) - gammaln(order - k + 1) + stays
        terms += k * math.log(steps.rate) + k * (k - 1) * ratio**2 / 2
        divergence = steps.times * float(logsumexp(terms)) / (order - 1)
        slack = math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
        best = min(best, divergence + slack)
    return max(0.0, best)


def gaussian_delta(epsilon: float, mu: float) -> float:
    """δ(ε), ε in nats, of the Gaussian mechanism whose noise has standard deviation 1/μ for numbers that
    differ by 1: Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ) (Theorem 8 of Balle and Wang 2018), never rounded down to
    0."""
    from scipy.special import erfcx, log_ndtr, ndtr  # slow to import

    first, second = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    if first > 0:
        delta = ndtr(first) - math.exp(epsilon + log_ndtr(second))
    else:
        # Without the common factor exp(-first²/2) of both tails their difference is well conditioned.
        tails = erfcx(-first / math.sqrt(2)) - erfcx(-second / math.sqrt(2))
        delta = math.exp(-(first * first) / 2) * tails / 2
    return max(float(delta), math.ulp(0.0))


@attrs.frozen
class GaussianCurve(PrivacyCurve):
    """μ-GDP: no easier to tell the worlds apart than N(0, 1) and N(μ, 1), plus `slack` in δ."""

    name = "Gaussian"
    scaled = "mu"

    mu: float = attrs.field(validator=[number, more_than(0), less_than(math.inf)])
    slack: float = attrs.field(default=0.0, validator=[number, at_least(0), less_than(1)])

    @classmethod
    def of_claim(cls, epsilon: float, delta: float) -> Self:
        """The curve of the least noise whose ε (nats) at delta is at most epsilon. 0 < delta < 1."""
        check_value("epsilon", epsilon, number, more_than(0))
        check_value("delta", delta, number, more_than(0), less_than(1))
        low, high = 0.0, 1.0
        while gaussian_delta(epsilon, high) <= delta:
            low, high = high, 2 * high
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            low, high = (middle, high) if gaussian_delta(epsilon, middle) <= delta else (low, middle)
        return cls(low)

    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        return np.array([gaussian_delta(float(epsilon), self.mu) for epsilon in epsilons]) + self.slack

    def loss_distributions(self, step: float) -> tuple[LossDistribution, ...]:
        return NoisyStepsCurve(1.0, 1 / self.mu, 1, slack=self.slack).loss_distributions(step)

    def __str__(self) -> str:
        return f"the Gaussian mechanism with μ = {self.mu:.4g}"
