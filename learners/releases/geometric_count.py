"""geometric-count: the number of examples labelled 1, with geometric noise, in integer arithmetic."""

from __future__ import annotations

from functools import lru_cache
from math import exp, inf

import attrs
import numpy as np

from arena.claims import Claim
from arena.errors import InvalidArgument
from arena.laws import Finite
from arena.neighbours import Neighbours, neighbours_setting
from arena.sample import Sample, Training
from arena.settings import at_least, at_most, less_than, more_than, setting, whole
from learners.common.learner_bases import FixedSizeLearner, ReleaseLearner, claim_for_relation
from learners.releases.laplace_count import count_ones

_ALL = 2**63  # the number of equally likely random integers, each of which leads to one answer


@attrs.frozen
class GeometricCount(FixedSizeLearner, ReleaseLearner):
    """Releases #{i : y_i = 1} + noise, clipped to 0..n; noise k has probability proportional to e^(-ε|k|).

    The truncated geometric mechanism of Ghosh, Roughgarden, Sundararajan, Universally Utility-Maximizing
    Privacy Mechanisms (2009).

    Deviation: the paper's probabilities are rounded to multiples of 2^-63, and one random integer of 63 bits
    chooses the answer. So no floating-point arithmetic lies between the random number and the answer, and the
    claim, the largest ratio of the rounded probabilities of neighbouring counts, holds for the code that
    runs. It is exact, and exceeds the configured ε if the least probabilities are few multiples (nε near 40).
    """

    name = "geometric-count"
    theorem = "the truncated geometric mechanism (Ghosh, Roughgarden, Sundararajan 2009); tight"
    common_random_numbers = True  # every game draws one random number

    size: int = setting(10, help="n, the number of examples", check=[whole, at_least(1), at_most(1_000)])
    epsilon: float = setting(1.0, unit="nats", help="ε of the noise", check=[more_than(0), less_than(inf)])

    neighbours: str = neighbours_setting(Neighbours.REPLACE_ONE)

    def __attrs_post_init__(self) -> None:
        answer_weights(self.size, self.epsilon)

    @property
    def claim(self) -> Claim:
        ratios = np.diff(np.log(answer_weights(self.size, self.epsilon).astype(float)), axis=0)
        epsilon = float(np.abs(ratios).max())
        return claim_for_relation(
            self.neighbours, {Neighbours.REPLACE_ONE: epsilon, Neighbours.ZERO_OUT_ONE: epsilon}
        )

    def law(self, sample: Sample) -> Finite:
        return Finite(np.arange(self.size + 1), self._weights_of(sample) / _ALL)

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        numbers = rng.integers(_ALL, size=training.games, dtype=np.uint64)
        released = np.empty(training.games, np.int64)
        for sample, games in training.groups():
            cumulative = np.cumsum(self._weights_of(sample))
            released[games] = np.searchsorted(cumulative, numbers[games], side="right")
        return released

    def _weights_of(self, sample: Sample) -> np.ndarray:
        self.check_sample_size(sample)
        return answer_weights(self.size, self.epsilon)[count_ones(sample)]


@lru_cache(maxsize=16)
def answer_weights(size: int, epsilon: float) -> np.ndarray:
    """(n + 1, n + 1) uint64 with row sums 2^63: entry [c, y] / 2^63 is the probability of y given count c.

    Raises: InvalidArgument if a probability is below 2^-63.
    """
    counts = np.arange(size + 1)
    apart = np.abs(counts[:, None] - counts)
    share = np.full(size + 1, -np.expm1(-epsilon))  # 1 - e^-ε inside; each end also has the mass beyond it
    share[[0, -1]] = 1.0
    exact = np.exp(-epsilon * apart) * share / (1 + exp(-epsilon))
    table = np.rint(_ALL * exact).astype(np.uint64)
    table[counts, counts] += np.uint64(_ALL) - table.sum(axis=1)  # the rounding error; it may wrap around
    if not table.all():
        raise InvalidArgument(
            "the noise must reach from one end of 0..n to the other with a probability of at least 2^-63",
            value=f"n = {size}, ε = {epsilon:g}",
            remedy="Choose size and epsilon such that n·ε is at most 40.",
        )
    table.flags.writeable = False
    return table
