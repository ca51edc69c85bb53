"""The binary mechanism: it publishes the noisy count of a stream after every round."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from arena.errors import BudgetExceeded, InvalidArgument
from arena.settings import at_least, check_value, whole
from learners.mechanisms.accounting import least_sufficient
from learners.mechanisms.noise.laplace_noise import laplace
from learners.mechanisms.parameter_checks import check_positive, check_probability


class BinaryCounter:
    """Publishes after every round t the noisy sum of b_1 … b_t, for many counters at once.

    The binary mechanism of Dwork, Naor, Pitassi, Rothblum (2010) and Chan, Shi, Song (2010). All T counts
    together are (epsilon, 0)-DP for one changed round, however adaptively b is chosen. Every counter draws
    one Laplace number per round, of scale levels·sensitivity/epsilon, and keeps one number per level. Proof:
    docs/proofs/binary_counter.md.

    Shapes: `shape` (n, ...) is that of the counters of n games.
    Units: epsilon in nats; `sensitivity` is the L1 distance by which one changed example moves the values of
    *one game's* counters in one round: 1 for one counter of values in [0, 1].
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
        check_positive(epsilon=epsilon, sensitivity=sensitivity)
        self.levels = tree_levels(horizon)
        self.scale = self.levels * sensitivity / epsilon
        self._horizon = horizon
        self._rng = rng
        self._t = 0
        self._count = np.zeros(shape)
        self._fresh = np.empty(shape)
        # Row j is the noise of the count at t with its binary digits below j cleared; the last row is 0.
        self._noise = np.zeros((self.levels + 1, *shape))

    def add(self, values: Any) -> np.ndarray:
        """The noisy counts, of shape `shape`, after a round of `values`: of that shape, or one number.

        Raises: BudgetExceeded after `horizon` rounds; InvalidArgument if a value is not in [0, 1].
        """
        values = np.asarray(values, float)
        if not ((values >= 0) & (values <= 1)).all():
            raise InvalidArgument("counted values must lie in [0, 1]", value=values)
        if self._t >= self._horizon:
            raise BudgetExceeded(
                f"the counter has published all {self._horizon} counts; set a larger horizon"
            )
        self._t += 1
        self._count += values
        lowest = (self._t & -self._t).bit_length() - 1
        laplace(self._rng, self._fresh, self.scale)
        self._noise[: lowest + 1] = self._noise[lowest + 1] + self._fresh
        return self._count + self._noise[0]


def tree_levels(horizon: int) -> int:
    """The number of tree nodes that contain one round, at most, in `horizon` rounds."""
    check_value("horizon", horizon, whole, at_least(1))
    return int(horizon).bit_length()


def binary_counter_error(horizon: int, beta: float, *, epsilon: float, sensitivity: float = 1.0) -> float:
    """An error that some of the T counts of one counter exceeds with probability at most `beta`.

    It is O(log^1.5 T·log(T/β)/ε).
    """
    check_positive(epsilon=epsilon, sensitivity=sensitivity)
    return tree_levels(horizon) * sensitivity / epsilon * _error_of_unit_scale(horizon, beta)


def binary_counter_lag(horizon: int, beta: float, *, epsilon: float) -> float:
    """A one-sided error that the count of one fixed round exceeds with probability at most `beta`."""
    check_positive(epsilon=epsilon)
    check_probability(beta=beta)
    nodes = tree_levels(horizon)
    return nodes / epsilon * least_sufficient(lambda error: _tail_bound(nodes, error) <= beta)


def _error_of_unit_scale(horizon: int, beta: float) -> float:
    """The error bound for noise of scale 1: Chernoff bounds of all rounds, and a union bound."""
    check_probability(beta=beta)
    rounds = _count_rounds_by_digits(horizon)

    def union_bound(error: float) -> float:
        return math.fsum(2 * many * _tail_bound(nodes, error) for nodes, many in rounds.items())

    return least_sufficient(lambda error: union_bound(error) < beta)


def _tail_bound(nodes: int, error: float) -> float:
    """A Chernoff bound on P[sum of `nodes` numbers Lap(1) > error], from their moments 1/(1 − s²)."""
    if error <= 0:
        return 1.0
    s = error / (nodes + math.hypot(nodes, error))
    return math.exp(-s * error - nodes * math.log1p(-s * s))


def _count_rounds_by_digits(horizon: int) -> dict[int, int]:
    """For every k ≥ 1, how many of the rounds 1 … horizon have exactly k ones among their binary digits."""
    counts: Counter[int] = Counter()
    ones_above = 0
    end = horizon + 1
    for place in reversed(range(end.bit_length())):
        if end >> place & 1:  # the numbers that share end's digits above this place and have 0 here
            for k in range(place + 1):
                counts[ones_above + k] += math.comb(place, k)
            ones_above += 1
    counts.pop(0)  # round 0
    return counts
