"""report-noisy-max-3: the largest noisy query itself, with Laplace noise."""

from __future__ import annotations

import attrs
import numpy as np

from arena.laws import Density
from arena.sample import Sample
from learners.zoo.counting import Values
from learners.zoo.noisy_max import LAPLACE, NoisyMax, maximum_law


@attrs.frozen
class ReportNoisyMax3(NoisyMax):
    """Releases max_i (q_i + Lap(2/ε)), (n,) float64: NoisyMax3 of Ding, Wang, Wang, Zhang, Kifer, Detecting
    Violations of Differential Privacy (2018).

    The slip: it releases the noisy number, where the proof is about its index. It claims ε; where all queries
    move, the exact value is m·ε/2: at ε = 0.1 and m = 5, 0.25.
    """

    name = "report-noisy-max-3"
    theorem = "none: the number is released instead of its index; exactly m·ε/2"
    noise = LAPLACE

    def room(self, games: int) -> np.ndarray:
        return np.empty(games)

    def answer(self, values: Values, rng: np.random.Generator, out: np.ndarray) -> None:
        np.maximum.reduce(self.noisy(values, rng), axis=0, out=out)
        out *= self.scale

    def law(self, sample: Sample) -> Density:
        return maximum_law(self.counts(sample) / self.scale, self.noise, self.scale)
