"""laplace-count: the number of examples labelled 1, with Laplace noise."""

from __future__ import annotations

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.laws import Density
from arena.players import Learner
from arena.sample import Sample, Training
from arena.settings import more_than, setting
from learners.mechanisms.noise.densities import laplace_density
from learners.mechanisms.noise.laplace_noise import laplace


@attrs.frozen
class LaplaceCount(Learner):
    """Releases #{i : y_i = 1} + Lap(1/ε): the Laplace mechanism.

    Definition 2.7 of Private Everlasting Prediction, v2. The claim is exact for real numbers: for two
    neighbours that differ in one label, no smaller ε holds. But the released numbers are doubles, whose last
    bits distinguish the counts 0 and 1: the adversary `low-bits` certifies far more than ε. The claim of
    `geometric-count` holds for machine numbers.
    """

    name = "laplace-count"
    protocols = ("Release",)
    theorem = "the Laplace mechanism (Dwork, McSherry, Nissim, Smith 2006); tight"

    epsilon: float = setting(1.0, unit="nats", help="ε; the noise is Lap(1/ε)", check=more_than(0))

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=self.epsilon, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    @property
    def common_random_numbers(self) -> bool:
        """Every game draws one number."""
        return True

    def law(self, sample: Sample) -> Density:
        return laplace_density(float(sample.counts @ sample.labels), 1 / self.epsilon)

    def start(self, games: int, rng: np.random.Generator) -> LaplaceCountState:
        return LaplaceCountState(self, rng)


@attrs.frozen(eq=False)
class LaplaceCountState:
    """laplace-count in a batch of games."""

    learner: LaplaceCount
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        counts = np.array([float(sample.counts @ sample.labels) for sample in training.samples])
        noise = laplace(self.rng, np.empty(training.games), 1.0 / self.learner.epsilon)
        return counts[training.which] + noise
