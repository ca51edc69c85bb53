"""Private counting: the binary mechanism, and a histogram whose error is bounded with probability 1."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import attrs
import numpy as np

from arena.errors import BudgetExceeded, InvalidArgument
from arena.settings import at_least, check_value, whole
from learners.mechanisms.accounting import Guarantee, least_sufficient
from learners.mechanisms.noise import laplace
from learners.mechanisms.parameter_checks import check_positive, check_probability


class BinaryCounter:
    """Publishes after every round t the noisy sum of b_1 … b_t, for many counters at once.

    The binary mechanism of Dwork, Naor, Pitassi, Rothblum (2010) and Chan, Shi, Song (2010). All T counts
    together are (epsilon, 0)-DP for one changed round, however adaptively b is chosen:
    docs/proofs/binary_counter.md. shape: (n, ...), of the counters of n games. sensitivity: the L1 distance
    by which one changed example moves the values of *one game's* counters in one round.
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
        """The noisy counts after a round of `values`: of the counters' shape, or one number.

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
    """An error that some of the T counts of one counter exceeds with probability at most `beta`."""
    check_positive(epsilon=epsilon, sensitivity=sensitivity)
    return tree_levels(horizon) * sensitivity / epsilon * _error_of_unit_scale(horizon, beta)


def binary_counter_lag(horizon: int, beta: float, *, epsilon: float) -> float:
    """A one-sided error that the count of one fixed round exceeds with probability at most `beta`."""
    check_positive(epsilon=epsilon)
    check_probability(beta=beta)
    nodes = tree_levels(horizon)
    return nodes / epsilon * least_sufficient(lambda error: _tail_bound(nodes, error) <= beta)


def _error_of_unit_scale(horizon: int, beta: float) -> float:
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


@attrs.frozen(kw_only=True)
class HistogramNoise:
    """Laplace noise truncated to [-reach, reach], and the threshold that noisy counts must exceed.

    Theorem 2.6 of Li, Wang, Ye. A noisy count of at most reach + key_sensitivity becomes 0, and a count of 0
    stays 0: docs/proofs/private_histogram.md. scale: b of exp(-|x|/b). sensitivity: the L1 distance of
    neighbours' counts, 2 if one element is replaced. key_sensitivity: by how much the count of one key may
    differ.
    """

    scale: float
    reach: float
    sensitivity: int = 2
    key_sensitivity: int = 1

    def __attrs_post_init__(self) -> None:
        check_positive(scale=self.scale, reach=self.reach)
        if not 1 <= self.key_sensitivity <= min(self.sensitivity, self.reach):
            raise InvalidArgument(
                "key_sensitivity must be at least 1 and at most sensitivity and reach",
                value=self.key_sensitivity,
            )

    @classmethod
    def calibrate(
        cls, *, epsilon: float, delta: float, sensitivity: int = 2, key_sensitivity: int = 1
    ) -> HistogramNoise:
        """The (epsilon, delta)-DP noise of scale sensitivity/ε with the least reach ≥ key_sensitivity."""
        check_positive(epsilon=epsilon)
        check_probability(delta=delta)

        scale = sensitivity / epsilon

        def build(reach: float) -> HistogramNoise:
            return cls(scale=scale, reach=reach, sensitivity=sensitivity, key_sensitivity=key_sensitivity)

        def suffices(reach: float) -> bool:
            return reach >= key_sensitivity and build(reach).guarantee.delta <= delta

        return build(least_sufficient(suffices))

    @property
    def threshold(self) -> float:
        """The number that a noisy count must exceed; no key that a neighbour lacks can exceed it."""
        return self.reach + self.key_sensitivity

    @property
    def error(self) -> float:
        """The largest possible error of a count: that of one just below the threshold."""
        return self.threshold + self.reach

    @property
    def guarantee(self) -> Guarantee:
        """ε = sensitivity/b, and the exact δ at this ε for integer counts."""
        full, rest = divmod(self.sensitivity, self.key_sensitivity)
        log_full, log_rest = (math.log1p(-self._mass_beyond(k)) for k in (self.key_sensitivity, rest))
        return Guarantee(self.sensitivity / self.scale, -math.expm1(full * log_full + log_rest))

    def _mass_beyond(self, k: int) -> float:
        """The probability of the outcomes that are impossible for a count lower by k."""
        if self.reach / self.scale > 700:  # whose exponential overflows
            return 0.0
        return math.expm1(k / self.scale) / (2 * math.expm1(self.reach / self.scale))


def private_histogram(rng: np.random.Generator, counts: Any, noise: HistogramNoise) -> np.ndarray:
    """Noisy counts, exactly 0 where a count is 0; `noise.guarantee` is the cost for one game.

    Shapes: counts (..., keys), integers ≥ 0. Raises: InvalidArgument for other counts.
    """
    counts = np.asarray(counts)
    if counts.dtype.kind not in "iu" or (counts < 0).any():
        raise InvalidArgument("counts must be integers ≥ 0", value=counts.ravel()[:5].tolist())
    noisy = np.zeros(counts.shape)
    occurs = counts > 0
    noisy[occurs] = counts[occurs] + draw_truncated_laplace(rng, int(occurs.sum()), noise)
    noisy[noisy <= noise.threshold] = 0.0
    return noisy


def draw_truncated_laplace(rng: np.random.Generator, size: int, noise: HistogramNoise) -> np.ndarray:
    """(size,): independent Laplace noise, conditioned on lying within ±reach."""
    sides = rng.random(size) * 2 - 1  # signs, and quantiles within the truncated half
    inside = -np.log1p(np.abs(sides) * math.expm1(-noise.reach / noise.scale))
    return np.copysign(np.minimum(inside * noise.scale, noise.reach), sides)
