"""The base of the zoo's learners, which answer counting queries, and the Laplace mechanism on them.

The point of an example is a vector in [0, 1]^m, and query i has the value q_i = Σ point_i. One example
changes every query by at most 1.
"""

from __future__ import annotations

from abc import abstractmethod
from math import inf
from typing import Any, ClassVar

import attrs
import numpy as np

from arena.claims import Claim, Neighbours, neighbours_setting
from arena.errors import InvalidArgument
from arena.laws import Density, Independent
from arena.sample import Sample, Training, freeze
from arena.settings import count_setting, less_than, more_than, setting
from learners.common.learner_bases import ReleaseLearner, claim_for_relation, claim_of_sensitivity_one
from learners.mechanisms.noise import laplace, laplace_density

_SLAB = 8_192  # games played at a time: the noise of ten queries for all fits into a second-level cache


@attrs.frozen
class CountingLearner(ReleaseLearner):
    """Base of the learners that answer m = `queries` counting queries.

    All random numbers are drawn before any data are read, in arrays whose shapes depend on games and
    parameters only.
    """

    common_random_numbers = True
    domain = (0.0, 1.0)
    usual_adversary = "statdp"
    one_number: ClassVar[bool] = True  # is released, or one for each query
    dtype: ClassVar[type[Any]] = np.float64

    epsilon: float = setting(
        0.1, unit="nats", help="ε of the mechanism's definition", check=[more_than(0), less_than(inf)]
    )

    neighbours: str = neighbours_setting(Neighbours.REPLACE_ONE)

    @property
    @abstractmethod
    def queries(self) -> int:
        """m, the number of counting queries."""

    @abstractmethod
    def answer(self, values: QueryValues, rng: np.random.Generator, out: np.ndarray) -> None:
        """Write the releases of the k games of `values` to out (k, ...)."""

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.queries,)

    @property
    def claim(self) -> Claim:
        return claim_of_sensitivity_one(self.epsilon, self.neighbours)

    def counts(self, sample: Sample) -> np.ndarray:
        """(m,): the value of every query. Raises: InvalidArgument unless points are m numbers in [0, 1]."""
        points = sample.points
        if points.shape[1:] != self.point_shape:
            raise InvalidArgument(
                f"the points of {self.name} must be vectors of length {self.queries}",
                value=points.shape[1:],
                remedy="Use such points, or set `queries` if the learner has that setting.",
            )
        outside = (points < 0) | (points > 1)
        if outside.any():
            raise InvalidArgument(
                f"the points of {self.name} must lie in [0, 1]^{self.queries}",
                value=float(points[outside][0]),
                remedy="Scale the data: one example may add at most 1 to a query.",
            )
        return sample.counts @ points.astype(np.float64)

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        distinct = np.stack([self.counts(sample) for sample in training.samples], axis=1)
        shape = (training.games,) if self.one_number else (training.games, self.queries)
        out = np.empty(shape, self.dtype)
        for start in range(0, training.games, _SLAB):
            rows = slice(start, start + _SLAB)
            self.answer(QueryValues(distinct, training.which[rows]), rng, out[rows])
        return out


@attrs.frozen(eq=False)
class QueryValues:
    """The values of the queries in k games: distinct (m, s), C-contiguous, one column for each sample; which
    (k,), the column of each game."""

    distinct: np.ndarray
    which: np.ndarray

    @property
    def games(self) -> int:
        return len(self.which)

    def rows(self, per_unit: float = 1.0) -> np.ndarray:
        """(m, k), or (m, 1) if all games have one sample: the value of every query, times `per_unit`."""
        if self.distinct.shape[1] == 1:
            return per_unit * self.distinct
        out = np.empty((len(self.distinct), self.games))
        # With mode="raise" numpy would first fill a copy of `out`.
        return np.take(per_unit * self.distinct, self.which, axis=1, out=out, mode="clip")

    def columns(self) -> np.ndarray:
        """(k, m): for every game the values of all queries."""
        return np.take(np.ascontiguousarray(self.distinct.T), self.which, axis=0)


def queries_setting(default: int) -> Any:
    return count_setting(default, help="m, the number of counting queries")


@attrs.frozen
class ZooLaplace(CountingLearner):
    """Releases q + Lap(1/ε), (n,) float64: the Laplace mechanism on one counting query. The claim is
    exact."""

    name = "zoo-laplace"
    theorem = "the Laplace mechanism (Dwork, McSherry, Nissim, Smith 2006); tight"

    queries: ClassVar[int] = 1

    def answer(self, values: QueryValues, rng: np.random.Generator, out: np.ndarray) -> None:
        laplace(rng, out, 1 / self.epsilon)
        out += values.rows()[0]

    def law(self, sample: Sample) -> Density:
        return laplace_density(self.counts(sample)[0], 1 / self.epsilon)


_ROUNDING = 1e-9  # tolerance for rounding errors in the L1 norm of a point


@attrs.frozen
class NoisyHistogram(CountingLearner):
    """Base of the learners that release every bin with Laplace noise, (n, m) float64. A point holds one
    person's share of every bin, of L1 norm at most 1."""

    one_number = False

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
        """(m,): the bins. Raises: InvalidArgument if a point is not a share of the bins."""
        counts = super().counts(sample)
        norms = sample.points.sum(axis=1)
        if norms.max() > 1 + _ROUNDING:
            raise InvalidArgument(
                f"the points of {self.name} must have L1 norm at most 1",
                value=float(norms.max()),
                remedy="A person is in one bin or in none; scale the data.",
            )
        return counts

    def answer(self, values: QueryValues, rng: np.random.Generator, out: np.ndarray) -> None:
        laplace(rng, out, self.noise_scale)
        out += values.columns()

    def law(self, sample: Sample) -> Independent:
        scale = self.noise_scale
        return Independent(tuple(laplace_density(count, scale) for count in self.counts(sample)))


@attrs.frozen
class NoisyHist1(NoisyHistogram):
    """A histogram with Laplace noise: releases every bin + Lap(1/ε).

    Algorithm 9 of Ding et al. (2018). ε is exact where neighbours add, remove or zero out one; 2ε where they
    replace one.
    """

    name = "noisy-hist-1"
    theorem = "the Laplace mechanism (Dwork, McSherry, Nissim, Smith 2006) at L1 sensitivity 2; tight"

    @property
    def noise_scale(self) -> float:
        return 1 / self.epsilon


@attrs.frozen
class NoisyHist2(NoisyHistogram):
    """A histogram with noise of the wrong scale: releases every bin + Lap(ε).

    Algorithm 10 of Ding et al. (2018), where the scale should be 1/ε. The claim is that of noisy-hist-1; the
    exact values are 1/ε and 2/ε.
    """

    name = "noisy-hist-2"
    theorem = "none: the noise has scale ε, not 1/ε; exactly 2/ε"

    @property
    def noise_scale(self) -> float:
        return self.epsilon
