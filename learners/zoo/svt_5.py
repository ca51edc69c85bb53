"""svt-5: the sparse vector technique of Stoddard, Chen and Machanavajjhala, without noise on the queries."""

from __future__ import annotations

import attrs
import numpy as np

from arena.laws import Finite
from arena.sample import Sample
from learners.mechanisms.noise.laplace_noise import laplace
from learners.zoo.base import QueryValues
from learners.zoo.svt_base import SvtLearner, noiseless_law, threshold_setting


@attrs.frozen
class Svt5(SvtLearner):
    """Sparse vector with ρ ~ Lap(2/ε), drawn once, and no noise on the queries; never stops.

    Stoddard, Chen, Machanavajjhala, Differentially Private Algorithms for Empirical Machine Learning (2014);
    Algorithm 5 of Lyu, Su, Li (2017). The error: two queries without noise get different answers only if the
    threshold lies between them, and then the answers reveal which is larger. It claims ε, but no ε holds:
    some answers are possible for only one of two neighbours.
    """

    name = "svt-5"
    theorem = "none: no noise on the queries, whose order is revealed; infinite"

    threshold: float = threshold_setting(1.0)

    @property
    def threshold_scale(self) -> float:
        return 2 / self.epsilon

    def answer(self, values: QueryValues, rng: np.random.Generator, out: np.ndarray) -> None:
        thresholds = laplace(rng, np.empty(values.games))
        thresholds += self.threshold / self.threshold_scale
        out[:] = (values.rows(1 / self.threshold_scale) >= thresholds).T

    def law(self, sample: Sample) -> Finite:
        return noiseless_law((self.counts(sample) - self.threshold) / self.threshold_scale)
