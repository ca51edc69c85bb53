"""report-noisy-max-2: which query is the largest, with exponential noise."""

from __future__ import annotations

import attrs
import numpy as np

from arena.laws import Finite
from arena.sample import Sample
from learners.zoo.counting import Values
from learners.zoo.noisy_max import EXPONENTIAL, NoisyMax, argmax_law, argmax_of_rows


@attrs.frozen
class ReportNoisyMax2(NoisyMax):
    """Releases argmax_i (q_i + Exp(2/ε)), (n,) int64: NoisyMax2 of Ding, Wang, Wang, Zhang, Kifer, Detecting
    Violations of Differential Privacy (2018), after Dwork and Roth, The Algorithmic Foundations of
    Differential Privacy (2014), section 3.3. Exp(b) is the exponential law of mean b.

    The claim is ε, and exact: at ε = 0.1 the value at the inputs of StatDP is 0.1.
    """

    name = "report-noisy-max-2"
    theorem = "report noisy max with exponential noise (Dwork and Roth 2014, section 3.3); tight"
    noise = EXPONENTIAL

    def room(self, games: int) -> np.ndarray:
        return np.empty(games, np.int64)

    def answer(self, values: Values, rng: np.random.Generator, out: np.ndarray) -> None:
        out[:] = argmax_of_rows(self.noisy(values, rng))

    def law(self, sample: Sample) -> Finite:
        return argmax_law(self.counts(sample) / self.scale, self.noise)
