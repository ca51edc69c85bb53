"""What the two noisy histograms share: people, each in one bin or in none, and noise for every bin."""

from __future__ import annotations

from abc import abstractmethod

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.errors import InvalidArgument
from arena.laws import Independent
from arena.points import freeze
from arena.sample import Sample
from learners.mechanisms.noise.densities import laplace_density
from learners.mechanisms.noise.laplace_noise import laplace
from learners.zoo.base import CountingLearner, Values, number_of_queries

_ROUNDING = 1e-9  # by which the norm of a person may miss 1


@attrs.frozen
class NoisyHistogram(CountingLearner):
    """Base of the learners that release every bin with Laplace noise, (n, m) float64.

    A point is a person's share of every bin, of L1 norm at most 1.
    """

    queries: int = number_of_queries(5)

    @property
    @abstractmethod
    def scale(self) -> float:
        """The b of the noise Lap(b) of a bin."""

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=2 * self.epsilon, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    @property
    def some_points(self) -> np.ndarray:
        """Nobody, and a person in each bin."""
        return freeze(np.concatenate([np.zeros((1, self.queries)), np.eye(self.queries)]))

    def counts(self, sample: Sample) -> np.ndarray:
        """(m,): the bins.

        Raises: InvalidArgument if a point is no share of the bins.
        """
        counts = super().counts(sample)
        norms = sample.points.sum(axis=1)
        if norms.max() > 1 + _ROUNDING:
            raise InvalidArgument(
                f"the points of {self.name} have L1 norm at most 1",
                value=float(norms.max()),
                remedy="A person is in one bin or in none; scale the data.",
            )
        return counts

    def room(self, games: int) -> np.ndarray:
        return np.empty((games, self.queries))

    def answer(self, values: Values, rng: np.random.Generator, out: np.ndarray) -> None:
        laplace(rng, out, self.scale)
        out += values.columns()

    def law(self, sample: Sample) -> Independent:
        return Independent(tuple(laplace_density(people, self.scale) for people in self.counts(sample)))
