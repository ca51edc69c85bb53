"""Broken learners under Release of sums, means, choices and labels, and the correct ones behind them."""

from __future__ import annotations

import math

import attrs
import numpy as np
from mutants.releases.learners import POINTS, Releaser, counts_by_point

from arena import Sample, Unsupported
from learners.mechanisms.selection import exponential_mechanism


@attrs.frozen
class ClippedSum(Releaser):
    """The sum of the points, each clipped to 0 … bound, plus Lap(bound/ε)."""

    bound: float = 0.25

    @property
    def moves(self) -> float:  # type: ignore[override]
        return self.bound

    def statistic(self, sample: Sample) -> float:
        return float(sample.counts @ np.clip(sample.points, 0.0, self.bound))


@attrs.frozen
class UnclippedSum(ClippedSum):
    """The slip: points are not clipped.

    Between points at a distance d it loses ε d/bound: 4ε between 0 and 1, and no ε holds for all.
    """

    def statistic(self, sample: Sample) -> float:
        return float(sample.counts @ sample.points)


@attrs.frozen
class GaussianMean(Releaser):
    """The mean label of at least `size` examples, plus Gaussian noise of deviation √(2 ln(1.25/δ))/(size ε).

    (ε, δ) for ε of at most 1: Dwork and Roth (2014), Theorem A.1.
    """

    delta: float = 0.01  # type: ignore[misc]
    size: int = 8

    @property
    def sample_size(self) -> int:
        return self.size

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise."""
        return math.sqrt(2 * math.log(1.25 / self.delta)) / (self.size * self.epsilon)

    def statistic(self, sample: Sample) -> float:
        if sample.size < self.size:
            raise Unsupported(f"{self.name} needs {self.size} examples", value=sample.size)
        return float(sample.counts @ sample.labels) / sample.size

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return exact + self.deviation * rng.standard_normal(exact.shape)


@attrs.frozen
class VarianceForDeviation(GaussianMean):
    """The slip: the variance is passed where the standard deviation belongs, and is less than it.

    Neighbours are μ = 0.83 deviations apart: δ = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ) = 0.071 at the claimed
    ε = 1, and the claimed δ = 0.01 holds from ε = 1.8015 on.
    """

    @property
    def deviation(self) -> float:
        return super().deviation ** 2


@attrs.frozen
class CommonPoint(Releaser):
    """The point with the most examples, by the exponential mechanism with exp(ε count/2)."""

    def statistic(self, sample: Sample) -> np.ndarray:
        return counts_by_point(sample)

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return POINTS[exponential_mechanism(rng, exact, epsilon=self.epsilon, sensitivity=1.0)]


@attrs.frozen
class ChoiceWithoutTheTwo(CommonPoint):
    """The slip: exp(ε count), as if all counts moved the same way. Loses 2ε: one rises as another falls."""

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return POINTS[exponential_mechanism(rng, exact, epsilon=2 * self.epsilon, sensitivity=1.0)]


@attrs.frozen
class IndependentFlips(Releaser):
    """All labels in order, each flipped with probability 1/(1 + e^ε)."""

    name = "randomised-response"

    @property
    def flips(self) -> float:
        """The probability that a label is flipped."""
        return 1 / (1 + math.exp(self.epsilon))

    def statistic(self, sample: Sample) -> np.ndarray:
        return sample.rows()[1]

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(exact.shape) < self.flips, 1 - exact, exact)


@attrs.frozen
class CoinForFlip(IndependentFlips):
    """The slip: where a label should be flipped a fair coin is thrown. Loses ln(1 + 2e^ε)."""

    @property
    def flips(self) -> float:
        return 0.5 / (1 + math.exp(self.epsilon))
