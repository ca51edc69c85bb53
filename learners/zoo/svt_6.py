"""svt-6: the sparse vector technique of Chen and others, which never stops."""

from __future__ import annotations

import attrs
import numpy as np

from arena.laws import Finite
from arena.sample import Sample
from learners.zoo.base import QueryValues
from learners.zoo.svt_base import NoisySvtLearner, full_law, threshold_setting


@attrs.frozen
class Svt6(NoisySvtLearner):
    """Sparse vector with ρ ~ Lap(2/ε), drawn once, and ν ~ Lap(2/ε); never stops.

    Chen, Xiao, Zhang, Xu, Differentially Private High-Dimensional Data Publication via Sampling-Based
    Inference (2015); Algorithm 6 of Lyu, Su, Li (2017). The error: the number of answers "above" is not
    limited. It claims ε; the privacy loss grows with the number of queries, without bound.
    """

    name = "svt-6"
    theorem = "none: answers above the threshold are not limited; the loss grows with m without bound"

    threshold: float = threshold_setting(1.0)

    @property
    def threshold_scale(self) -> float:
        return 2 / self.epsilon

    @property
    def noise_scale(self) -> float:
        return 2 / self.epsilon

    def answer(self, values: QueryValues, rng: np.random.Generator, out: np.ndarray) -> None:
        thresholds = self.draw_thresholds(rng, np.empty(values.games))
        out[:] = (self.add_noise(values, rng) >= thresholds).T

    def law(self, sample: Sample) -> Finite:
        """The output distribution, over 2^m sequences of answers.

        Raises: Unsupported if there are more than 16,384 of them.
        """
        return full_law(*self.answer_probabilities(self.counts(sample)))
