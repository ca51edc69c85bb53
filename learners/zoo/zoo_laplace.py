"""zoo-laplace: one counting query, with Laplace noise."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from arena.laws import Density
from arena.sample import Sample
from learners.mechanisms.noise.densities import laplace_density
from learners.mechanisms.noise.laplace_noise import laplace
from learners.zoo.base import CountingLearner, QueryValues


@attrs.frozen
class ZooLaplace(CountingLearner):
    """Releases q + Lap(1/ε), (n,) float64: the Laplace mechanism on one counting query.

    Dwork, McSherry, Nissim, Smith, Calibrating Noise to Sensitivity in Private Data Analysis (2006). A point
    is a vector of one number in [0, 1]. The claim ε is exact: for two samples whose queries differ by 1, no
    smaller ε holds.
    """

    name = "zoo-laplace"
    theorem = "the Laplace mechanism (Dwork, McSherry, Nissim, Smith 2006); tight"

    queries: ClassVar[int] = 1

    def allocate(self, games: int) -> np.ndarray:
        return np.empty(games)

    def answer(self, values: QueryValues, rng: np.random.Generator, out: np.ndarray) -> None:
        laplace(rng, out, 1 / self.epsilon)
        out += values.rows()[0]

    def law(self, sample: Sample) -> Density:
        return laplace_density(self.counts(sample)[0], 1 / self.epsilon)
