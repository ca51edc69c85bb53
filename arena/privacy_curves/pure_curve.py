"""The privacy curve of pure differential privacy."""

from __future__ import annotations

import math
from typing import Self

import attrs
import numpy as np

from arena.privacy_curves.base import PrivacyCurve
from arena.privacy_curves.loss_distribution import LossDistribution
from arena.settings import at_least, less_than, more_than, number, whole


@attrs.frozen
class PureCurve(PrivacyCurve):
    """(ε, 0)-DP: no easier to tell the worlds apart than by randomised response.

    bound: ε in nats. times: how many mechanisms with this claim are used on the same data, each chosen after
    the results before it. No bound that uses nothing but their ε is smaller: docs/proofs/composition.md.
    """

    name = "pure"

    bound: float = attrs.field(validator=[number, more_than(0), less_than(math.inf)])
    times: int = attrs.field(default=1, validator=[whole, at_least(1)])

    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        from scipy.special import betainc, expit  # slow to import

        epsilons = np.asarray(epsilons, float)
        # The loss (times − 2·lies)·bound exceeds ε for at most so many lies of randomised response.
        lies = np.ceil((self.times - epsilons / self.bound) / 2) - 1
        most = np.maximum(lies, 0)
        first, second = (
            betainc(self.times - most, most + 1, expit(bound)) for bound in (self.bound, -self.bound)
        )
        with np.errstate(divide="ignore", over="ignore"):
            gains = first - np.exp(epsilons + np.log(second))
        return np.asarray(np.where(lies < 0, 0.0, np.maximum(gains, math.ulp(0.0))))

    def loss_distributions(self, step: float) -> tuple[LossDistribution, ...]:
        truth = 1 / (1 + math.exp(-self.bound))
        losses = LossDistribution.from_atoms([-self.bound, self.bound], [1 - truth, truth], step)
        return (losses.compose(self.times),)

    def rescale(self, scale: float) -> Self:
        return attrs.evolve(self, bound=self.bound * scale)

    def __str__(self) -> str:
        text = f"pure privacy with ε = {self.bound:.4g}"
        return text if self.times == 1 else f"{self.times:,} times {text}"
