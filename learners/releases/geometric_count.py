"""geometric-count: the number of examples labelled 1, with geometric noise, in whole numbers throughout."""

from __future__ import annotations

from functools import lru_cache
from math import exp, inf
from typing import Self

import attrs
import numpy as np

from arena.claims import TRAINING_EXAMPLE, Claim
from arena.errors import InvalidArgument
from arena.laws import Finite
from arena.players import Learner
from arena.sample import Sample, Training
from arena.settings import at_least, at_most, less_than, more_than, setting, whole
from learners.predictors.vote_predictor import check_sample_size

_ALL = 2**63  # the equally likely coins, each of which leads to one answer


@attrs.frozen
class GeometricCount(Learner):
    """Releases #{i : y_i = 1} + noise, cut to 0..n, where noise k has a chance in proportion to e^(-ε|k|).

    The truncated geometric mechanism of Ghosh, Roughgarden, Sundararajan, Universally Utility-Maximizing
    Privacy Mechanisms (2009).

    Deviation: the chances are whole multiples of 2^-63, rounded from those of the paper, and one coin of 63
    bits chooses the answer. So there is no floating point between the coins and the released number, and the
    claim, the largest ratio of such chances of neighbouring counts, holds of the code that runs. It is
    exact; it exceeds the ε that is set where the least chances are few multiples, with nε near 40.
    """

    name = "geometric-count"
    protocols = ("Release",)
    theorem = "the truncated geometric mechanism (Ghosh, Roughgarden, Sundararajan 2009); tight"

    size: int = setting(10, help="n, the examples it is given", check=[whole, at_least(1), at_most(1_000)])
    epsilon: float = setting(1.0, unit="nats", help="ε of the noise", check=[more_than(0), less_than(inf)])

    def __attrs_post_init__(self) -> None:
        chances(self.size, self.epsilon)

    @property
    def sample_size(self) -> int:
        return self.size

    def sized_for(self, sample_size: int) -> Self:
        """Set for exactly so many examples."""
        return attrs.evolve(self, size=sample_size)

    @property
    def claim(self) -> Claim:
        ratios = np.diff(np.log(chances(self.size, self.epsilon).astype(float)), axis=0)
        return Claim(epsilon=float(np.abs(ratios).max()), delta=0, protects=(TRAINING_EXAMPLE,))

    @property
    def common_random_numbers(self) -> bool:
        """Every game draws one coin."""
        return True

    def law(self, sample: Sample) -> Finite:
        check_sample_size(self.name, sample, self.size)
        row = chances(self.size, self.epsilon)[sample.counts @ sample.labels]
        return Finite(np.arange(self.size + 1), row / _ALL)

    def start(self, games: int, rng: np.random.Generator) -> GeometricCountState:
        return GeometricCountState(self, rng)


@attrs.frozen(eq=False)
class GeometricCountState:
    """geometric-count at a table."""

    spec: GeometricCount
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        coins = self.rng.integers(_ALL, size=training.games, dtype=np.uint64)
        released = np.empty(training.games, np.int64)
        for sample, games in training.groups():
            check_sample_size(self.spec.name, sample, self.spec.size)
            row = chances(self.spec.size, self.spec.epsilon)[sample.counts @ sample.labels]
            released[games] = np.searchsorted(np.cumsum(row), coins[games], side="right")
        return released


@lru_cache(maxsize=16)
def chances(size: int, epsilon: float) -> np.ndarray:
    """(n + 1, n + 1) uint64 of row sums 2^63: entry [c, y] / 2^63 is the chance of y where c is counted.

    Raises: InvalidArgument if one is below 2^-63.
    """
    counts = np.arange(size + 1)
    apart = np.abs(counts[:, None] - counts)
    share = np.full(size + 1, -np.expm1(-epsilon))  # 1 - e^-ε inside; both ends hold all that lies beyond
    share[[0, -1]] = 1.0
    exact = np.exp(-epsilon * apart) * share / (1 + exp(-epsilon))
    table = np.rint(_ALL * exact).astype(np.uint64)
    table[counts, counts] += np.uint64(_ALL) - table.sum(axis=1)  # what rounding left over; it may wrap
    if not table.all():
        raise InvalidArgument(
            "the noise must reach from one end of 0..n to the other with a chance of 2^-63",
            value=f"n = {size}, ε = {epsilon:g}",
            remedy="Choose them so that n·ε is at most 40.",
        )
    table.flags.writeable = False
    return table
