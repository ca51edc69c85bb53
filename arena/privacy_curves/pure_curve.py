"""The privacy curve of pure differential privacy."""

from __future__ import annotations

import math
from typing import Self

import attrs
import numpy as np

from arena.privacy_curves.base import PrivacyCurve
from arena.privacy_curves.loss_distribution import LossDistribution
from arena.settings import less_than, more_than, number


@attrs.frozen
class PureCurve(PrivacyCurve):
    """(ε, 0)-DP: no easier to tell the worlds apart than by randomised response. bound: ε in nats."""

    name = "pure"

    bound: float = attrs.field(validator=[number, more_than(0), less_than(math.inf)])

    def deltas(self, epsilons: np.ndarray) -> np.ndarray:
        return np.maximum(-np.expm1(np.asarray(epsilons) - self.bound), 0.0) / (1 + math.exp(-self.bound))

    def loss_distributions(self, step: float) -> tuple[LossDistribution, ...]:
        truth = 1 / (1 + math.exp(-self.bound))
        return (LossDistribution.from_atoms([-self.bound, self.bound], [1 - truth, truth], step),)

    def rescale(self, scale: float) -> Self:
        return attrs.evolve(self, bound=self.bound * scale)

    def __str__(self) -> str:
        return f"pure privacy with ε = {self.bound:.4g}"
