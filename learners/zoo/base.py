"""The base of the zoo's learners: counting queries on a sample.

The point of an example is a vector in [0, 1]^m and its label is ignored. Query i has the value q_i = Σ
point_i. Replacing, adding, removing or zeroing out one example changes every query by at most 1, and may
change all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from math import inf
from typing import Any

import attrs
import numpy as np

from arena.claims import Claim
from arena.errors import InvalidArgument
from arena.neighbours import Neighbours, neighbours_setting
from arena.sample import Sample, Training
from arena.settings import count_setting, less_than, more_than, setting
from learners.common.learner_bases import ReleaseLearner, claim_of_sensitivity_one

_SLAB = 8_192  # games played at a time: the noise of ten queries for all fits into a second-level cache


@attrs.frozen
class CountingLearner(ReleaseLearner):
    """Base of the learners that answer m = `queries` counting queries.

    All random numbers are drawn before any data are read, in arrays whose shapes depend only on the number of
    games and the parameters. Two batches with the same random numbers can therefore be compared game by game.

    Units: epsilon in nats.
    """

    common_random_numbers = True
    domain = (0.0, 1.0)
    usual_adversary = "statdp"

    epsilon: float = setting(
        0.1, unit="nats", help="ε of the mechanism's definition", check=[more_than(0), less_than(inf)]
    )

    neighbours: str = neighbours_setting(Neighbours.REPLACE_ONE)

    @property
    @abstractmethod
    def queries(self) -> int:
        """m, the number of counting queries."""

    @abstractmethod
    def allocate(self, games: int) -> np.ndarray:
        """An empty array (games, ...) of the shape and type that is released."""

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
        """(m,): the value of every query on the sample.

        Raises: InvalidArgument if a point is not a vector of m numbers in [0, 1].
        """
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
        out = self.allocate(training.games)
        for start in range(0, training.games, _SLAB):
            rows = slice(start, start + _SLAB)
            self.answer(QueryValues(distinct, training.which[rows]), rng, out[rows])
        return out


@attrs.frozen(eq=False)
class QueryValues:
    """The values of the queries in k games.

    Shapes: distinct (m, s), C-contiguous, one column for each sample; which (k,), the column of each game.
    """

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
    """The setting `queries` with this default."""
    return count_setting(default, help="m, the number of counting queries")
