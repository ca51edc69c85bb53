"""Broken learners under Release, each with one common slip, and the correct ones behind them.

A correct learner says how it is private; a broken one names its slip, and what it loses in truth. Examples at
points other than 0, 0.5 and 1 are left out wherever counts by point are released.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import numpy as np
from support.simple_players import NamedByClass

from arena import Claim, Learner, PrivacyUnit, Sample, Training
from arena.randomness import generator
from learners.mechanisms.noise import laplace

POINTS = np.array([0.0, 0.5, 1.0])


def laplace_noise(rng: np.random.Generator, shape: tuple[int, ...], scale: float) -> np.ndarray:
    """Fresh Laplace noise of this shape."""
    return laplace(rng, np.empty(shape), scale)


def for_each_game(training: Training, statistic: Callable[[Sample], Any]) -> np.ndarray:
    """(n, ...): the statistic of each game's sample. Samples of no game are ignored."""
    parts = [(games, np.asarray(statistic(sample), float)) for sample, games in training.groups()]
    found = np.empty((training.games, *parts[0][1].shape))
    for games, value in parts:
        found[games] = value
    return found


@attrs.frozen
class Releaser(NamedByClass, Learner):
    """Releases a statistic of the sample, with noise. Every game draws the same random numbers.

    moves: the scale of Laplace noise, in 1/ε: by how much a new example moves the statistic, in the L1 norm.
    """

    protocols = ("Release",)
    common_random_numbers = True
    delta: ClassVar[float] = 0.0
    moves: ClassVar[float] = 1.0

    epsilon: float = 1.0

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=self.epsilon, delta=self.delta, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> ReleaseState:
        return ReleaseState(self, rng)

    @abstractmethod
    def statistic(self, sample: Sample) -> Any:
        """What is to be protected: a number, or an array of one shape for samples of one size."""

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """What is released where the statistics are `exact` (n, ...)."""
        return exact + laplace_noise(rng, exact.shape, self.moves / self.epsilon)


@attrs.frozen(eq=False)
class ReleaseState:
    """A releaser in a batch of games."""

    spec: Releaser
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        return self.spec.noisy(for_each_game(training, self.spec.statistic), self.rng)


# --- how many examples are labelled 1 -----------------------------------------------------------------------


@attrs.frozen
class NoisyCount(Releaser):
    """The number of ones plus Lap(1/ε): it moves by 1 at most."""

    def statistic(self, sample: Sample) -> float:
        return float(sample.counts @ sample.labels)


@attrs.frozen
class HalfTheScale(NoisyCount):
    """The slip: the noise has half of the scale. Loses 2ε."""

    moves = 0.5


@attrs.frozen
class ExactZero(NoisyCount):
    """The slip: a count of 0 needs no noise. No ε holds: 0 is released for certain, or never."""

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.where(exact == 0, 0.0, super().noisy(exact, rng))


@attrs.frozen
class NoiseSeededByData(NoisyCount):
    """The slip: the noise is from a generator that the data seed. No ε holds: either world has one value."""

    def statistic(self, sample: Sample) -> float:
        rng = generator(np.random.SeedSequence(int(sample.digest, 16)))
        return super().statistic(sample) + float(rng.laplace(scale=1 / self.epsilon))

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return exact


@attrs.frozen
class BoundedCount(NoisyCount):
    """The noisy count, brought back into 0 … most where it lies beyond."""

    most: float = 8.0

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.clip(super().noisy(exact, rng), 0.0, self.most)


@attrs.frozen
class BoundedNoise(NoisyCount):
    """The slip: the noise is brought back into -2/ε … 2/ε, so that neighbours reach different values.

    No ε holds: a count higher by 1 is above all that the lower one can show with chance (e^(ε - 2))/2.
    """

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noise = laplace_noise(rng, exact.shape, 1 / self.epsilon)
        return exact + np.clip(noise, -2 / self.epsilon, 2 / self.epsilon)


@attrs.frozen
class WholeCount(NoisyCount):
    """The noisy count, rounded down."""

    epsilon: float = 0.5

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.floor(super().noisy(exact, rng))


@attrs.frozen
class NoiseCutToWhole(WholeCount):
    """The slip: the noise is cut to whole numbers, so that all of (-1, 1) becomes no noise.

    No noise has the chance 1 - e^-ε, noise 1 the chance (e^-ε - e^-2ε)/2: loses ε + ln 2.
    """

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return exact + np.trunc(laplace_noise(rng, exact.shape, 1 / self.epsilon))


@attrs.frozen
class Suppressed(NoisyCount):
    """The noisy count, or 0 where it is below `least`."""

    least: float = 3.0

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noisy = super().noisy(exact, rng)
        return np.where(noisy < self.least, 0.0, noisy)


@attrs.frozen
class SuppressedByExactCount(Suppressed):
    """The slip: the exact count decides whether it is too small to be shown. No ε holds at counts 2 and 3."""

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.where(exact < self.least, 0.0, NoisyCount.noisy(self, exact, rng))


# --- several numbers ----------------------------------------------------------------------------------------


@attrs.frozen
class LabelHistogram(Releaser):
    """How many examples are labelled 0 and how many 1, plus Lap(2/ε): a new label moves both."""

    moves = 2.0

    def statistic(self, sample: Sample) -> list[float]:
        ones = float(sample.counts @ sample.labels)
        return [sample.size - ones, ones]


@attrs.frozen
class SensitivityOfAdding(LabelHistogram):
    """The slip: the sensitivity is that of an example added, where one is replaced. Loses 2ε."""

    moves = 1.0


@attrs.frozen
class OneNoiseForBoth(LabelHistogram):
    """The slip: both counts get the same noise. No ε holds: their difference is exact."""

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return exact + laplace_noise(rng, (len(exact), 1), self.moves / self.epsilon)


@attrs.frozen
class Selected(Releaser):
    """Of the examples at 0.5 or above: how many are labelled 1, and how many there are, plus Lap(2/ε)."""

    moves = 2.0

    def statistic(self, sample: Sample) -> list[float]:
        of_selected = sample.counts * (sample.points >= 0.5)
        return [float(of_selected @ sample.labels), float(of_selected.sum())]


@attrs.frozen
class ExactSize(Selected):
    """The slip: how many there are is taken for public. No ε holds: it is released without noise."""

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noisy = super().noisy(exact, rng)
        noisy[:, 1] = exact[:, 1]
        return noisy


@attrs.frozen
class SelectedMean(Selected):
    """The share of ones among the examples at 0.5 or above, from two noisy counts."""

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        ones, size = super().noisy(exact, rng).T
        return ones / np.maximum(size, 1.0)


@attrs.frozen
class RefusesEmptySelection(SelectedMean):
    """The slip: an empty selection is refused, by its exact count. No ε holds, for one who sees it refuse."""

    def statistic(self, sample: Sample) -> list[float]:
        ones, size = super().statistic(sample)
        if size == 0:
            raise ZeroDivisionError("no example is selected")
        return [ones, size]


@attrs.frozen
class PointHistogram(Releaser):
    """Rows of a point and how many examples are there, plus Lap(2/ε), in the order of the points."""

    def statistic(self, sample: Sample) -> np.ndarray:
        return np.column_stack([POINTS, counts_by_point(sample)])

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noise = laplace_noise(rng, exact.shape[:2], 2 / self.epsilon)
        return np.stack([exact[..., 0], exact[..., 1] + noise], axis=-1)


@attrs.frozen
class OrderOfData(PointHistogram):
    """The slip: rows come in the order in which the data have them. No ε holds: the first row's point is that
    of the first example.
    """

    def statistic(self, sample: Sample) -> np.ndarray:
        places = [np.flatnonzero(sample.points == point) for point in POINTS]
        first = [place[0] if len(place) else math.inf for place in places]
        return super().statistic(sample)[np.argsort(first, kind="stable")]


@attrs.frozen
class StableHistogram(Releaser):
    """Counts by point plus Lap(2/ε), and 0 for points without examples or whose noisy count is too small.

    (ε, δ): a point that one example alone is at passes 1 + (2/ε) ln(1/δ) with chance δ/2, and a new example
    makes one such point appear and another go.
    """

    moves = 2.0
    epsilon: float = 0.5
    delta: float = 0.01  # type: ignore[misc]

    @property
    def least(self) -> float:
        """What a noisy count has to reach to be shown."""
        return 1 + 2 / self.epsilon * math.log(1 / self.delta)

    def statistic(self, sample: Sample) -> np.ndarray:
        return counts_by_point(sample)

    def noisy(self, exact: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        noisy = super().noisy(exact, rng)
        return np.where((exact > 0) & (noisy >= self.least), noisy, 0.0)


@attrs.frozen
class EpsilonForDelta(StableHistogram):
    """The slip: ε is passed where δ belongs. No ε holds at δ = 0.01: one example shows with chance ε/2."""

    @property
    def least(self) -> float:
        return 1 + 2 / self.epsilon * math.log(1 / self.epsilon)


def counts_by_point(sample: Sample) -> np.ndarray:
    """(3,): how many examples are at each of `POINTS`."""
    return (sample.points == POINTS[:, None]) @ sample.counts.astype(float)
