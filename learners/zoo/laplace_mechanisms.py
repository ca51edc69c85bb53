"""The Laplace mechanism on one counting query, and on histograms: zoo-laplace, noisy-hist-1 and noisy-hist-2.

The histograms are Algorithms 9 and 10 of Ding, Wang, Wang, Zhang, Kifer, Detecting Violations of Differential
Privacy (2018); noisy-hist-2 is not private."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import attrs
import numpy as np

from arena.claims import Claim
from arena.errors import InvalidArgument
from arena.laws import Density, Independent
from arena.neighbours import Neighbours
from arena.points import freeze
from arena.sample import Sample
from learners.common.learner_bases import claim_for_relation
from learners.mechanisms.densities import laplace_density
from learners.mechanisms.noise import laplace
from learners.zoo.base import CountingLearner, QueryValues, queries_setting


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


_ROUNDING = 1e-9  # tolerance for rounding errors in the L1 norm of a point


@attrs.frozen
class NoisyHistogram(CountingLearner):
    """Base of the learners that release every bin with Laplace noise, (n, m) float64.

    A point holds one person's share of every bin; its L1 norm is at most 1.
    """

    queries: int = queries_setting(5)

    @property
    @abstractmethod
    def noise_scale(self) -> float:
        """The scale b of the noise Lap(b) of a bin."""

    @property
    def claim(self) -> Claim:
        kinds = Neighbours.ADD_OR_REMOVE_ONE, Neighbours.ZERO_OUT_ONE
        return claim_for_relation(self.neighbours, dict.fromkeys(kinds, self.epsilon))

    @property
    def some_points(self) -> np.ndarray:
        """A person who is in no bin, and one person in each bin."""
        return freeze(np.concatenate([np.zeros((1, self.queries)), np.eye(self.queries)]))

    def counts(self, sample: Sample) -> np.ndarray:
        """(m,): the bins.

        Raises: InvalidArgument if a point is not a share of the bins.
        """
        counts = super().counts(sample)
        norms = sample.points.sum(axis=1)
        if norms.max() > 1 + _ROUNDING:
            raise InvalidArgument(
                f"the points of {self.name} must have L1 norm at most 1",
                value=float(norms.max()),
                remedy="A person is in one bin or in none; scale the data.",
            )
        return counts

    def allocate(self, games: int) -> np.ndarray:
        return np.empty((games, self.queries))

    def answer(self, values: QueryValues, rng: np.random.Generator, out: np.ndarray) -> None:
        laplace(rng, out, self.noise_scale)
        out += values.columns()

    def law(self, sample: Sample) -> Independent:
        scale = self.noise_scale
        return Independent(tuple(laplace_density(count, scale) for count in self.counts(sample)))


@attrs.frozen
class NoisyHist1(NoisyHistogram):
    """A histogram with Laplace noise: releases every bin + Lap(1/ε).

    Algorithm 9 of Ding et al. (2018). The literature claims ε for histograms that differ by one in one bin,
    where a person joins or leaves; that is exact, and the claim if neighbours add, remove or zero out one.
    Where they replace one, a person may move from one bin to another and both bins change by one. That claim
    is 2ε, which is exact as well.
    """

    name = "noisy-hist-1"
    theorem = "the Laplace mechanism (Dwork, McSherry, Nissim, Smith 2006) at L1 sensitivity 2; tight"

    @property
    def noise_scale(self) -> float:
        return 1 / self.epsilon


@attrs.frozen
class NoisyHist2(NoisyHistogram):
    """A histogram with noise of the wrong scale: releases every bin + Lap(ε).

    Algorithm 10 of Ding et al. (2018). The error: the scale of the noise is ε instead of 1/ε. The claim is
    that of noisy-hist-1: ε for histograms that differ by one in one bin, so 2ε where a person may move. The
    exact values are 1/ε and 2/ε.
    """

    name = "noisy-hist-2"
    theorem = "none: the noise has scale ε, not 1/ε; exactly 2/ε"

    @property
    def noise_scale(self) -> float:
        return self.epsilon
