"""A private histogram with truncated Laplace noise, whose error is bounded with probability 1."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument
from learners.mechanisms.accounting import Guarantee, least_sufficient
from learners.mechanisms.parameter_checks import check_positive, check_probability


@attrs.frozen(kw_only=True)
class HistogramNoise:
    """Laplace noise truncated to [-reach, reach], and the threshold that noisy counts must exceed.

    Theorem 2.6 of Li, Wang, Ye, after Aliakbarpour et al. (2024). Every count of at least 1 receives noise; a
    noisy count of at most reach + key_sensitivity becomes 0, and a count of 0 stays 0. So no noisy count is
    off by more than 2·reach + key_sensitivity, the `error`. Privacy: docs/proofs/private_histogram.md.

    All in counts. scale: b; the noise has a density proportional to exp(-|x|/b). reach: where it is
    truncated. sensitivity: the L1 distance of neighbours' counts: 2 if one element is replaced, 1 if one is
    added or removed. key_sensitivity: by how much the count of one key may differ.
    """

    scale: float
    reach: float
    sensitivity: int = 2
    key_sensitivity: int = 1

    def __attrs_post_init__(self) -> None:
        check_positive(scale=self.scale, reach=self.reach)
        if not 1 <= self.key_sensitivity <= min(self.sensitivity, self.reach):
            raise InvalidArgument(
                "key_sensitivity must be at least 1 and at most sensitivity and reach",
                value=self.key_sensitivity,
            )

    @classmethod
    def calibrate(
        cls, *, epsilon: float, delta: float, sensitivity: int = 2, key_sensitivity: int = 1
    ) -> HistogramNoise:
        """The (epsilon, delta)-DP noise of scale sensitivity/ε with the least reach ≥ key_sensitivity.

        For a replaced element, reach = (2/ε) ln(1 + (exp(ε/2) - 1)/(2m)) where m = 1 - √(1 - δ), and the
        error is below 8 ln(8/δ)/ε for every ε ≤ 1.
        """
        check_positive(epsilon=epsilon)
        check_probability(delta=delta)

        scale = sensitivity / epsilon

        def build(reach: float) -> HistogramNoise:
            return cls(scale=scale, reach=reach, sensitivity=sensitivity, key_sensitivity=key_sensitivity)

        def suffices(reach: float) -> bool:
            return reach >= key_sensitivity and build(reach).guarantee.delta <= delta

        return build(least_sufficient(suffices))

    @property
    def threshold(self) -> float:
        """The number that a noisy count must exceed; no key that a neighbour lacks can exceed it."""
        return self.reach + self.key_sensitivity

    @property
    def error(self) -> float:
        """The largest possible error of a count: that of one just below the threshold."""
        return self.threshold + self.reach

    @property
    def guarantee(self) -> Guarantee:
        """ε = sensitivity/b, and the exact δ at this ε for integer counts."""
        full, rest = divmod(self.sensitivity, self.key_sensitivity)
        log_full, log_rest = (math.log1p(-self._mass_beyond(k)) for k in (self.key_sensitivity, rest))
        return Guarantee(self.sensitivity / self.scale, -math.expm1(full * log_full + log_rest))

    def _mass_beyond(self, k: int) -> float:
        """The probability of the outcomes that are impossible for a count lower by k."""
        if self.reach / self.scale > 700:  # whose exponential overflows
            return 0.0
        return math.expm1(k / self.scale) / (2 * math.expm1(self.reach / self.scale))


def private_histogram(rng: np.random.Generator, counts: Any, noise: HistogramNoise) -> np.ndarray:
    """Noisy counts, which are exactly 0 where a count is 0.

    Each game (any leading axes) has its own keys, and `noise.guarantee` is the cost of one game's histogram.
    One random number is drawn for each key of positive count.

    Shapes: counts (..., keys), integers ≥ 0; the result has the same shape, float64.
    Raises: InvalidArgument if a count is negative or not an integer.
    """
    counts = np.asarray(counts)
    if counts.dtype.kind not in "iu" or (counts < 0).any():
        raise InvalidArgument("counts must be integers ≥ 0", value=counts.ravel()[:5].tolist())
    noisy = np.zeros(counts.shape)
    occurs = counts > 0
    noisy[occurs] = counts[occurs] + draw_truncated_laplace(rng, int(occurs.sum()), noise)
    noisy[noisy <= noise.threshold] = 0.0
    return noisy


def draw_truncated_laplace(rng: np.random.Generator, size: int, noise: HistogramNoise) -> np.ndarray:
    """(size,): independent Laplace noise, conditioned on lying within ±reach."""
    sides = rng.random(size) * 2 - 1  # signs, and quantiles within the truncated half
    inside = -np.log1p(np.abs(sides) * math.expm1(-noise.reach / noise.scale))
    return np.copysign(np.minimum(inside * noise.scale, noise.reach), sides)
