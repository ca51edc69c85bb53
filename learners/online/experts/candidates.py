"""Candidates: points that occurred often in an interval of rounds, by noisy counts (Algorithm 5 of Li, Wang,
Ye)."""

from __future__ import annotations

import math

import numpy as np

from learners.mechanisms.counters import binary_counter
from learners.mechanisms.counters.binary_counter import BinaryCounter


class Candidates:
    """At the end of each stretch e of rounds, S'(i, e]: the points that occurred often since the end of
    stretch i.

    Every point of a finite domain has a `BinaryCounter`, whose rounds are stretches. S'(i, e] contains x if
    the noisy counts of x at the ends i and e differ by at least `threshold`. A function with enough ones in
    the stretches i+1 … e has a one in S'(i, e], since otherwise each of its points occurred too rarely. So no
    class of functions is sanitised, and no discriminator is needed.

    Privacy: all sets together are (epsilon, 0)-DP for one replaced example, however the points of later
    stretches are chosen, since the example changes two counts by 1 in one stretch. Labels are not used.

    Shapes: n games, X points. Units: epsilon in nats, or 0 for no counters: then every point is a candidate.
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
        """length: of a stretch, in rounds. ends: the number of stretches that end.

        Raises: InvalidArgument if epsilon is negative.
        """
        self._rows = np.arange(games)
        self._length = length
        self._threshold = threshold
        self._end = 0
        self._counts = np.zeros((games, points), np.int64)
        self._counter = None
        if ends and epsilon:
            # Counters take numbers in [0, 1], so counts are divided by the length of a stretch.
            self._counter = BinaryCounter(
                self._counts.shape, rng, horizon=ends, epsilon=epsilon, sensitivity=2 / length
            )
            self._noisy_counts = np.zeros((games, ends + 1, points))

    def observe(self, place: np.ndarray) -> None:
        """Count this round's points (n,), given by their numbers."""
        self._counts[self._rows, place] += 1

    def end_stretch(self) -> np.ndarray:
        """End a stretch and return S'(i, e] for every earlier end i from 0 on: (n, e, X) bool."""
        self._end += 1
        if self._counter is None:
            games, points = self._counts.shape
            return np.ones((games, self._end, points), bool)
        self._noisy_counts[:, self._end] = self._length * self._counter.add(self._counts / self._length)
        self._counts[:] = 0
        return self._noisy_counts[:, self._end, None] - self._noisy_counts[:, : self._end] >= self._threshold


def counter_noise_scale(ends: int, epsilon: float) -> float:
    """The scale of the Laplace noise of a counter's node, in occurrences; 0 without counters."""
    return 2 * binary_counter.tree_levels(ends) / epsilon if ends and epsilon else 0.0


def largest_missed_count(ends: int, epsilon: float, *, threshold: float, beta: float) -> int:
    """The largest number of occurrences of a point between two ends at which it may not be a candidate.

    It holds for all sets of the point's counter, except with probability `beta`.

    Raises: InvalidArgument if a parameter is out of range.
    """
    if not (ends and epsilon):
        return 0
    # Two counts are subtracted, and each has at most this error.
    missed = threshold + 2 * binary_counter.binary_counter_error(ends, beta, epsilon=epsilon, sensitivity=2)
    return max(0, math.ceil(missed) - 1)
