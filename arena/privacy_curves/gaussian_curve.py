"""The privacy curve of the Gaussian mechanism: μ-GDP."""

from __future__ import annotations

import math
from typing import Self

import attrs
import numpy as np

from arena.privacy_curves.base import PrivacyCurve
from arena.privacy_curves.loss_distribution import LossDistribution
from arena.privacy_curves.noisy_steps import NoisyStepsCurve
from arena.settings import at_least, less_than, more_than, number


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

    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        return np.array([gaussian_delta(float(epsilon), self.mu) for epsilon in epsilons]) + self.slack

    def loss_distributions(self, step: float) -> tuple[LossDistribution, ...]:
        return NoisyStepsCurve(1.0, 1 / self.mu, 1, slack=self.slack).loss_distributions(step)

    def rescale(self, scale: float) -> Self:
        return attrs.evolve(self, mu=self.mu * scale)

    def __str__(self) -> str:
        return f"the Gaussian mechanism with μ = {self.mu:.4g}"
