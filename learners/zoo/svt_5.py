"""svt-5: the sparse vector technique of Stoddard, Chen and Machanavajjhala, without noise on the queries."""

from __future__ import annotations

import attrs
import numpy as np

from arena.laws import Finite
from arena.sample import Sample
from learners.mechanisms.noise.laplace_noise import laplace
from learners.zoo.base import Values
from learners.zoo.svt_base import SparseVector, noiseless_law, threshold_setting


@attrs.frozen
class Svt5(SparseVector):
    """Sparse vector with ρ ~ Lap(2/ε), drawn once, and no noise on the queries; never stops. Stoddard, Chen,
    Machanavajjhala, Differentially Private Algorithms for Empirical Machine Learning (2014); Algorithm 5 of
    Lyu, Su, Li, Understanding the Sparse Vector Technique for Differential Privacy (2017).

    The slip: two queries without noise are answered alike unless the threshold lies between them, and then
    the answers tell which is larger. It claims ε, but no ε holds: some answers are possible for one of two
    neighbours alone.
    """

    name = "svt-5"
    theorem = "none: no noise on the queries, whose order shows; infinite"

    threshold: float = threshold_setting(1.0)

    @property
    def hidden(self) -> float:
        return 2 / self.epsilon

    def answer(self, values: Values, rng: np.random.Generator, out: np.ndarray) -> None:
        limits = laplace(rng, np.empty(values.games))
        limits += self.threshold / self.hidden
        out[:] = (values.rows(1 / self.hidden) >= limits).T

    def law(self, sample: Sample) -> Finite:
        return noiseless_law((self.counts(sample) - self.threshold) / self.hidden)
