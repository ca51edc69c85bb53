"""Points that occurred often in an interval of rounds, told privately: Algorithm 5 of Li, Wang, Ye."""

from __future__ import annotations

import math

import numpy as np

from learners.mechanisms.counters import binary_counter
from learners.mechanisms.counters.binary_counter import BinaryCounter


class Candidates:
    """At the end of every stretch of rounds, S'(i, e]: the points that occurred often since the end i.

    Every point of a finite domain has a `BinaryCounter`, whose rounds are stretches: S'(i, e] holds x if the
    noisy counts of x at the ends i and e differ by `threshold` or more. A function with enough ones in the
    stretches i+1 … e has a one in S'(i, e], since otherwise each of its points occurred too rarely; no class
    of functions is sanitised, and no discriminator is needed.

    **Privacy.** All sets together are (epsilon, 0)-DP for one replaced example, however the points of later
    stretches are chosen: it changes two counts by 1 in one stretch. Labels are not looked at.

    Shapes: n games, X points. Units: epsilon in nats, or 0 for no counters: every point is a candidate.
    """

    def __init__(
        self,
        games: int,
        points: int,
        rng: np.random.Generator,
        *,
        ends: int,
        length: int,
        epsilon: float,
        threshold: float,
    ) -> None:
        """length: of a stretch, in rounds. ends: how many stretches end.

        Raises: InvalidArgument if epsilon is negative.
        """
        self._rows = np.arange(games)
        self._length = length
        self._threshold = threshold
        self._end = 0
        self._counts = np.zeros((games, points), np.int64)
        self._counter = None
        if ends and epsilon:
            # Counters take numbers in [0, 1]: a stretch's counts as parts of its length.
            self._counter = BinaryCounter(
                self._counts.shape, rng, horizon=ends, epsilon=epsilon, sensitivity=2 / length
            )
            self._told = np.zeros((games, ends + 1, points))

    def observe(self, place: np.ndarray) -> None:
        """This round's points (n,), as numbers."""
        self._counts[self._rows, place] += 1

    def close(self) -> np.ndarray:
        """End a stretch, and tell S'(i, e] for every earlier end i from 0 on: (n, e, X) bool."""
        self._end += 1
        if self._counter is None:
            games, points = self._counts.shape
            return np.ones((games, self._end, points), bool)
        self._told[:, self._end] = self._length * self._counter.add(self._counts / self._length)
        self._counts[:] = 0
        return self._told[:, self._end, None] - self._told[:, : self._end] >= self._threshold


def noise_scale(ends: int, epsilon: float) -> float:
    """The scale of the Laplace noise of the counters' nodes, in occurrences; 0 without counters."""
    return 2 * binary_counter.tree_levels(ends) / epsilon if ends and epsilon else 0.0


def most_missed(ends: int, epsilon: float, *, threshold: float, beta: float) -> int:
    """How often a point may have occurred between two ends and yet be no candidate: never more often, in all
    sets of a point's counter, but with probability `beta`.

    Raises: InvalidArgument if a parameter is out of range.
    """
    if not (ends and epsilon):
        return 0
    # The noise of two counts: each is off by the accuracy at most.
    missed = threshold + 2 * binary_counter.binary_counter_error(ends, beta, epsilon=epsilon, sensitivity=2)
    return max(0, math.ceil(missed) - 1)
