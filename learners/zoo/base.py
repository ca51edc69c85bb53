"""What the learners of the zoo share: counting queries on a sample, answered in slabs of games.

An example's point is a vector in [0, 1]^m, its label is ignored, and query i has the value q_i = Σ point_i.
Replacing one example moves every query by at most 1, and may move all of them.
"""

from __future__ import annotations

from abc import abstractmethod
from math import inf
from typing import Any

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.errors import InvalidArgument
from arena.players import Learner
from arena.sample import Sample, Training
from arena.settings import at_least, less_than, more_than, setting, whole

_SLAB = 8_192  # games: the noise of ten queries for so many stays in the second cache


@attrs.frozen
class CountingLearner(Learner):
    """Base of the learners that answer m = `queries` counting queries.

    All coins are drawn before anything is looked at, in arrays whose shapes depend on the games and the
    parameters alone: two tables with the same coins can be compared game by game.

    Units: epsilon in nats.
    """

    protocols = ("Release",)

    epsilon: float = setting(
        0.1, unit="nats", help="ε of the definition", check=[more_than(0), less_than(inf)]
    )

    @property
    @abstractmethod
    def queries(self) -> int:
        """m, the number of counting queries."""

    @abstractmethod
    def room(self, games: int) -> np.ndarray:
        """An empty array (games, ...) of the shape and type that is released."""

    @abstractmethod
    def answer(self, values: Values, rng: np.random.Generator, out: np.ndarray) -> None:
        """Fill out (k, ...), a part of the room, for the k games of `values`."""

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.queries,)

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=self.epsilon, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    @property
    def common_random_numbers(self) -> bool:
        return True

    def counts(self, sample: Sample) -> np.ndarray:
        """(m,): the value of every query on the sample.

        Raises: InvalidArgument if the points are no vectors of m numbers in [0, 1].
        """
        points = sample.points
        if points.shape[1:] != self.point_shape:
            raise InvalidArgument(
                f"the points of {self.name} are vectors of length {self.queries}",
                value=points.shape[1:],
                remedy="Bring such points, or set `queries` where the learner has that setting.",
            )
        outside = (points < 0) | (points > 1)
        if outside.any():
            raise InvalidArgument(
                f"the points of {self.name} lie in [0, 1]^{self.queries}",
                value=float(points[outside][0]),
                remedy="Scale the data: what one example adds to a query must be at most 1.",
            )
        return sample.counts @ points.astype(np.float64)

    def start(self, games: int, rng: np.random.Generator) -> CountingState:
        return CountingState(self, rng)


@attrs.frozen(eq=False)
class Values:
    """The values of the queries in k games.

    Shapes: distinct (m, s), C-contiguous, one column for each sample; which (k,), the column of each game.
    """

    distinct: np.ndarray
    which: np.ndarray

    @property
    def games(self) -> int:
        return len(self.which)

    def rows(self, per_unit: float = 1.0) -> np.ndarray:
        """(m, k): query by query the values of all games, times `per_unit`."""
        out = np.empty((len(self.distinct), self.games))
        # "raise" would make numpy fill a copy of `out` first.
        return np.take(per_unit * self.distinct, self.which, axis=1, out=out, mode="clip")

    def columns(self) -> np.ndarray:
        """(k, m): game by game the values of all queries."""
        return np.take(np.ascontiguousarray(self.distinct.T), self.which, axis=0)


@attrs.frozen(eq=False)
class CountingState:
    """A learner of the zoo at a table."""

    spec: CountingLearner
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        distinct = np.stack([self.spec.counts(sample) for sample in training.samples], axis=1)
        out = self.spec.room(training.games)
        for start in range(0, training.games, _SLAB):
            rows = slice(start, start + _SLAB)
            self.spec.answer(Values(distinct, training.which[rows]), self.rng, out[rows])
        return out


def number_of_queries(default: int) -> Any:
    """The setting `queries`, by default `default`."""
    return setting(default, help="m, the number of counting queries", check=[whole, at_least(1)])
