"""laplace-count, gaussian-count and geometric-count: the number of examples labelled 1, with noise."""

from __future__ import annotations

from functools import lru_cache
from math import exp, inf, log, pi, sqrt

import attrs
import numpy as np

from arena.claims import Claim, Neighbours, neighbours_setting, read_relation
from arena.errors import InvalidArgument
from arena.laws import Density, Finite
from arena.privacy_curves import GaussianCurve
from arena.sample import Sample, Training
from arena.settings import at_least, at_most, less_than, more_than, setting, whole
from learners.common.learner_bases import (
    FixedSizeLearner,
    ReleaseLearner,
    claim_for_example,
    claim_for_relation,
    claim_of_sensitivity_one,
)
from learners.mechanisms.noise import gaussian_delta, gaussian_sigma, laplace_density, laplace_mechanism


def count_ones(sample: Sample) -> int:
    return int(sample.counts[sample.labels == 1].sum())


def count_ones_by_game(training: Training) -> np.ndarray:
    """(n,) float64: the number of examples labelled 1 in the sample of each game."""
    return np.array([float(count_ones(sample)) for sample in training.samples])[training.which]


@attrs.frozen
class LaplaceCount(ReleaseLearner):
    """Releases #{i : y_i = 1} + Lap(1/ε): the Laplace mechanism.

    The claim is exact for real numbers. But the last bits of doubles distinguish the counts 0 and 1: the
    adversary `low-bits` certifies far more than ε, and nothing against `geometric-count`.
    """

    name = "laplace-count"
    theorem = "the Laplace mechanism (Dwork, McSherry, Nissim, Smith 2006); tight"
    common_random_numbers = True  # every game draws one random number

    epsilon: float = setting(1.0, unit="nats", help="ε; the noise is Lap(1/ε)")
    neighbours: str = neighbours_setting(Neighbours.REPLACE_ONE)

    @property
    def claim(self) -> Claim:
        return claim_of_sensitivity_one(self.epsilon, self.neighbours)

    def law(self, sample: Sample) -> Density:
        return laplace_density(float(count_ones(sample)), 1 / self.epsilon)

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        return laplace_mechanism(rng, count_ones_by_game(training), sensitivity=1, epsilon=self.epsilon)


_REACH = 9.0  # in standard deviations; the mass beyond is less than 1e-18


@attrs.frozen
class GaussianCount(ReleaseLearner):
    """Releases #{i : y_i = 1} + N(0, σ²): the Gaussian mechanism for a count.

    By default σ is the least that gives (ε, δ), by the analytic calibration of Balle and Wang (2018); if σ is
    set, the claim is its δ at ε. Either is exact.
    """

    name = "gaussian-count"
    theorem = "Theorem 8 of Balle and Wang, Improving the Gaussian Mechanism for DP (2018); tight"
    common_random_numbers = True  # every game draws one random number

    epsilon: float = setting(1.0, unit="nats", help="the ε of the claim")
    delta: float = setting(1e-5, unit="probability", help="the δ to which σ is calibrated")
    sigma: float | None = setting(
        None, unit="examples", help="σ of the noise; default: calibrated to ε and δ", check=more_than(0)
    )
    neighbours: str = neighbours_setting(Neighbours.REPLACE_ONE)

    @property
    def sensitivity(self) -> int:
        """By how much the counts of neighbours may differ."""
        return read_relation(self.neighbours).size

    @property
    def sigma_run(self) -> float:
        """The standard deviation of the noise."""
        if self.sigma is not None:
            return self.sigma
        return gaussian_sigma(epsilon=self.epsilon, delta=self.delta, sensitivity=self.sensitivity)

    @property
    def claim(self) -> Claim:
        sigma, curve = self.sigma_run, GaussianCurve(self.sensitivity / self.sigma_run)
        delta = gaussian_delta(epsilon=self.epsilon, sigma=sigma, sensitivity=self.sensitivity)
        return claim_for_example(self.epsilon, delta, neighbours=self.neighbours, curve=curve)

    def law(self, sample: Sample) -> Density:
        count, sigma = float(count_ones(sample)), self.sigma_run
        return Density(
            log=lambda x: -(((x - count) / sigma) ** 2) / 2 - log(sigma * sqrt(2 * pi)),
            kinks=(),
            low=count - _REACH * sigma,
            high=count + _REACH * sigma,
            scale=sigma,
        )

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        return count_ones_by_game(training) + self.sigma_run * rng.standard_normal(training.games)


_ALL = 2**63  # the number of equally likely random integers, each of which leads to one answer


@attrs.frozen
class GeometricCount(FixedSizeLearner, ReleaseLearner):
    """Releases #{i : y_i = 1} + noise, clipped to 0..n; noise k has probability proportional to e^(-ε|k|).

    The truncated geometric mechanism of Ghosh, Roughgarden, Sundararajan (2009). Deviation: probabilities are
    rounded to multiples of 2^-63, and one random integer chooses the answer, so the claim, their largest
    ratio, is exact for the code that runs. It exceeds ε if the least are few multiples (nε near 40).
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
