"""The binary mechanism: counts of a stream that are told after every round."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from arena.errors import BudgetExceeded, InvalidArgument
from learners.mechanisms.accounting.monotone_search import largest_affordable, least_sufficient
from learners.mechanisms.noise.laplace_noise import laplace
from learners.mechanisms.parameter_checks import check_positive


class BinaryCounter:
    """Tells after every round t the noisy sum of b_1 … b_t, for many counters at once.

    The binary mechanism of Dwork, Naor, Pitassi, Rothblum (2010) and Chan, Shi, Song (2010). The rounds are
    the leaves of a binary tree. The count at t is the sum of the nodes that t's binary digits name, whose
    sums were each made noisy once. A round lies in one such node of a level, and there are ⌊log2 T⌋ + 1
    levels: Laplace noise of scale levels·sensitivity/epsilon makes all T counts together (epsilon, 0)-DP for
    one changed round, however adaptively b is chosen.

    The exact count is kept, and of the noise what each prefix of t's digits has: one draw a counter and
    round, and memory for the levels only. Every counter draws the same coins in the same order.

    Shapes: `shape` (n, ...), counters of every game; values the same, or one number for all.
    Units: epsilon in nats; `sensitivity` is the L1 distance by which one changed example moves the values
    of *one game's* counters at one round, 1 for one counter of values in [0, 1].
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        rng: np.random.Generator,
        *,
        horizon: int,
        epsilon: float,
        sensitivity: float = 1.0,
    ) -> None:
        """Raises: InvalidArgument if a parameter is out of range."""
        check_positive(epsilon=epsilon, sensitivity=sensitivity)
        self.levels = tree_levels(horizon)
        self.scale = self.levels * sensitivity / epsilon
        self._horizon = horizon
        self._rng = rng
        self._t = 0
        self._count = np.zeros(shape)
        self._fresh = np.empty(shape)
        # Row j: the noise of the count at t with its digits below j cleared; the last row is round 0.
        self._noise = np.zeros((self.levels + 1, *shape))

    def add(self, values: Any) -> np.ndarray:
        """The noisy counts after one more round, a new array of shape `shape`.

        Raises: BudgetExceeded after `horizon` rounds; InvalidArgument if a value is not in [0, 1].
        """
        values = np.asarray(values, float)
        if not ((values >= 0) & (values <= 1)).all():
            raise InvalidArgument("what is counted must lie in [0, 1]", value=values)
        if self._t >= self._horizon:
            raise BudgetExceeded(f"the counter has told {self._horizon} counts; give it a longer horizon")
        self._t += 1
        self._count += values
        lowest = (self._t & -self._t).bit_length() - 1
        laplace(self._rng, self._fresh, self.scale)
        self._noise[: lowest + 1] = self._noise[lowest + 1] + self._fresh
        return self._count + self._noise[0]

    def variance(self, t: int) -> float:
        """Of the count at round t, exactly: 2·scale² for each digit 1 of t."""
        return 2 * self.scale**2 * t.bit_count()

    def binary_counter_error(self, beta: float) -> float:
        """An error that all T counts of one counter keep within, but with probability `beta` at most."""
        return self.scale * _unit_accuracy(self._horizon, beta)


def tree_levels(horizon: int) -> int:
    """In how many nodes one round's value is told, at most, in `horizon` rounds.

    Raises: InvalidArgument if horizon is not a whole number of at least 1.
    """
    if isinstance(horizon, bool) or not isinstance(horizon, (int, np.integer)) or horizon < 1:
        raise InvalidArgument("the horizon is a whole number of rounds, at least 1", value=horizon)
    return int(horizon).bit_length()


def binary_counter_error(horizon: int, beta: float, *, epsilon: float, sensitivity: float = 1.0) -> float:
    """`BinaryCounter.accuracy` before there is a counter: O(log^1.5 T·log(T/β)/ε) at most.

    Raises: InvalidArgument if a parameter is out of range.
    """
    check_positive(epsilon=epsilon, sensitivity=sensitivity)
    return tree_levels(horizon) * sensitivity / epsilon * _unit_accuracy(horizon, beta)


def binary_counter_lag(horizon: int, beta: float, *, epsilon: float) -> float:
    """An error that the count of one round, fixed before the noise is drawn, exceeds to one side with
    probability `beta` at most.

    Raises: InvalidArgument if a parameter is out of range.
    """
    check_positive(epsilon=epsilon)
    if not 0 < beta < 1:
        raise InvalidArgument("beta must be a probability between 0 and 1", value=beta)
    nodes = tree_levels(horizon)
    return nodes / epsilon * least_sufficient(lambda error: _tail(nodes, error) <= beta)


def _unit_accuracy(horizon: int, beta: float) -> float:
    """The same for noise of scale 1: Chernoff's bound of each round, added up over rounds."""
    if not 0 < beta < 1:
        raise InvalidArgument("beta must be a probability between 0 and 1", value=beta)
    rounds = _rounds_by_digits(horizon)

    def held(error: float) -> float:  # grows with the error
        return -math.fsum(2 * many * _tail(nodes, error) for nodes, many in rounds.items())

    # One step beyond the largest error at which the sum of the tails is still above beta.
    return math.nextafter(largest_affordable(held, -beta), math.inf)


def _tail(nodes: int, error: float) -> float:
    """A bound on P[sum of `nodes` Laplace numbers of scale 1 > error], by their moments 1/(1 − s²)."""
    if error <= 0:
        return 1.0
    s = error / (nodes + math.hypot(nodes, error))
    return math.exp(-s * error - nodes * math.log1p(-s * s))


def _rounds_by_digits(horizon: int) -> dict[int, int]:
    """How many of the rounds 1 … horizon have k digits 1, for every k."""
    found: dict[int, int] = {}
    ones_above = 0
    end = horizon + 1
    for place in reversed(range(end.bit_length())):
        if end >> place & 1:  # numbers that share end's digits above this place and have 0 here
            for k in range(place + 1):
                found[ones_above + k] = found.get(ones_above + k, 0) + math.comb(place, k)
            ones_above += 1
    found.pop(0)  # round 0
    return found
