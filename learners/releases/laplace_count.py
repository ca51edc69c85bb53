"""laplace-count: the number of examples labelled 1, with Laplace noise."""

from __future__ import annotations

import attrs
import numpy as np

from arena.claims import Claim
from arena.laws import Density
from arena.neighbours import Neighbours, neighbours_setting
from arena.sample import Sample, Training
from arena.settings import setting
from learners.common.learner_bases import ReleaseLearner, claim_of_sensitivity_one
from learners.mechanisms.densities import laplace_density
from learners.mechanisms.noise import laplace_mechanism


def count_ones(sample: Sample) -> int:
    """The number of examples labelled 1."""
    return int(sample.counts[sample.labels == 1].sum())


def count_ones_by_game(training: Training) -> np.ndarray:
    """(n,) float64: the number of examples labelled 1 in the sample of each game."""
    return np.array([float(count_ones(sample)) for sample in training.samples])[training.which]


@attrs.frozen
class LaplaceCount(ReleaseLearner):
    """Releases #{i : y_i = 1} + Lap(1/ε): the Laplace mechanism.

    Definition 2.7 of Private Everlasting Prediction, v2. The claim is exact for real numbers: for two
    neighbours that differ in one label, no smaller ε holds. But the released numbers are doubles, whose last
    bits distinguish the counts 0 and 1: the adversary `low-bits` certifies far more than ε. The claim of
    `geometric-count` holds for machine numbers.
    """

    name = "laplace-count"
    theorem = "the Laplace mechanism (Dwork, McSherry, Nissim, Smith 2006); tight"
    common_random_numbers = True  # every game draws one random number

    epsilon: float = setting(1.0, unit="nats", help="ε; the noise is Lap(1/ε)")
    neighbours: str = neighbours_setting(Neighbours.REPLACE_ONE)

    @property
    def claim(self) -> Claim:
        return claim_of_sensitivity_one(self.epsilon, self.neighbours)

    def law(self, sample: Sample) -> Density:
        return laplace_density(float(count_ones(sample)), 1 / self.epsilon)

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        return laplace_mechanism(rng, count_ones_by_game(training), sensitivity=1, epsilon=self.epsilon)
