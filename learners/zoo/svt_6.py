"""svt-6: the sparse vector technique of Chen and others, which never stops."""

from __future__ import annotations

import attrs
import numpy as np

from arena.laws import Finite
from arena.sample import Sample
from learners.zoo.base import Values
from learners.zoo.svt_base import NoisySparseVector, full_law, threshold_setting


@attrs.frozen
class Svt6(NoisySparseVector):
    """Sparse vector with ρ ~ Lap(2/ε), drawn once, and ν ~ Lap(2/ε); never stops. Chen, Xiao, Zhang, Xu,
    Differentially Private High-Dimensional Data Publication via Sampling-Based Inference (2015); Algorithm 6
    of Lyu, Su, Li, Understanding the Sparse Vector Technique for Differential Privacy (2017).

    The slip: nothing pays for the answers ⊤. It claims ε; the loss grows with the number of queries, without
    bound. At ε = 0.1, T = 1 and m = 10 the exact value at the inputs of StatDP is 0.42.
    """

    name = "svt-6"
    theorem = "none: nothing pays for the answers ⊤; grows with m without bound"

    threshold: float = threshold_setting(1.0)

    @property
    def hidden(self) -> float:
        return 2 / self.epsilon

    @property
    def scale(self) -> float:
        return 2 / self.epsilon

    def answer(self, values: Values, rng: np.random.Generator, out: np.ndarray) -> None:
        limits = self.thresholds(rng, np.empty(values.games))
        out[:] = (self.noisy(values, rng) >= limits).T

    def law(self, sample: Sample) -> Finite:
        """Its law, over 2^m strings of answers.

        Raises: Unsupported if there are more than 16,384 of them.
        """
        return full_law(*self.given_threshold(self.counts(sample)))
