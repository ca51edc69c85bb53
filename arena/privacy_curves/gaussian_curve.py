"""The privacy curve of the Gaussian mechanism: μ-GDP."""

from __future__ import annotations

import math
from typing import Self

import attrs
import numpy as np

from arena.privacy_curves.base import PrivacyCurve
from arena.privacy_curves.loss_distribution import LossDistribution
from arena.privacy_curves.noisy_steps import NoisyStepsCurve
from arena.settings import at_least, check_value, less_than, more_than, number

_BISECTIONS = 100  # after which a μ is known to the last digits, unless it is tiny


def gaussian_delta(epsilon: float, mu: float) -> float:
    """δ(ε) of the Gaussian mechanism whose noise has standard deviation 1/μ for numbers that differ by 1.

    Theorem 8 of Balle and Wang (2018): Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ). It is exact, and never rounded down
    to 0, since Gaussian noise is (ε, 0)-DP for no ε. epsilon: in nats.
    """
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
    """μ-GDP: no easier to tell the worlds apart than N(0, 1) and N(μ, 1) (Dong, Roth, Su 2022).

    slack: a probability that is added to δ.
    """

    name = "Gaussian"

    mu: float = attrs.field(validator=[number, more_than(0), less_than(math.inf)])
    slack: float = attrs.field(default=0.0, validator=[number, at_least(0), less_than(1)])

    @classmethod
    def of_claim(cls, epsilon: float, delta: float) -> Self:
        """The curve of the least noise whose ε at delta is at most epsilon (nats). 0 < delta < 1."""
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

    def rescale(self, scale: float) -> Self:
        return attrs.evolve(self, mu=self.mu * scale)

    def __str__(self) -> str:
        return f"the Gaussian mechanism with μ = {self.mu:.4g}"
