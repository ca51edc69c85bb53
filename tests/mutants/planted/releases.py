"""Flaws planted in learners that release once."""

from __future__ import annotations

import attrs
import numpy as np
from mutants.releases.learners import laplace_noise
from support.simple_players import NamedByClass

from arena import Claim, PrivacyUnit, Sample, Training
from learners.common.learner_bases import ReleaseLearner


@attrs.frozen
class Planted(NamedByClass, ReleaseLearner):
    """Base: a claim of ε for one example."""

    epsilon: float = 1.0

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=self.epsilon, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        truth = np.array([self.measure(sample) for sample in training.samples])[training.which]
        return self.publish(truth, laplace_noise(rng, truth.shape, self.scale))

    @property
    def scale(self) -> float:
        """The scale of the noise of each number."""
        return 1 / self.epsilon

    def measure(self, sample: Sample) -> float | list[float]:
        """What is released with noise."""
        return float(sample.counts @ sample.labels)

    def publish(self, truth: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """The releases, from exact values and noise of the same shape."""
        return truth + noise


@attrs.frozen
class AlmostEnoughNoise(Planted):
    """The flaw: noise for 0.05 nats more than the claim."""

    @property
    def scale(self) -> float:
        return 1 / (self.epsilon + 0.05)


@attrs.frozen
class SortedByTruth(Planted):
    """The flaw: noisy counts of the labels at 0, ½ and 1, in the order of the exact counts."""

    @property
    def scale(self) -> float:
        return 2 / self.epsilon

    def measure(self, sample: Sample) -> list[float]:
        counts = [float(sample.counts @ (sample.points == point)) for point in (0.0, 0.5, 1.0)]
        return [*counts, float(np.argmax(counts))]

    def publish(self, truth: np.ndarray, noise: np.ndarray) -> np.ndarray:
        order = np.argsort(-truth[:, :3], axis=1, kind="stable")
        noisy = np.take_along_axis(truth[:, :3] + noise[:, :3], order, axis=1)
        return np.column_stack([noisy, order])


@attrs.frozen
class ReleasesMaximum(Planted):
    """The flaw: beside a noisy count, the largest point is released to give its scale."""

    def measure(self, sample: Sample) -> list[float]:
        return [float(sample.counts @ sample.labels), float(np.max(sample.points))]

    def publish(self, truth: np.ndarray, noise: np.ndarray) -> np.ndarray:
        return truth + noise * [1.0, 0.0]


@attrs.frozen
class TailLosesClipping(Planted):
    """The flaw: the sum of points clips to [-1, 1] only what is within [-100, 100]; outliers get through."""

    @property
    def scale(self) -> float:
        return 2 / self.epsilon

    def measure(self, sample: Sample) -> float:
        points = sample.points
        return float(sample.counts @ np.where(np.abs(points) <= 100, np.clip(points, -1, 1), points))


@attrs.frozen
class DistinctPoints(Planted):
    """The flaw: with seven distinct points or more, the number of distinct points is released bare."""

    def measure(self, sample: Sample) -> float:
        return float(len(np.unique(sample.points)))

    def publish(self, truth: np.ndarray, noise: np.ndarray) -> np.ndarray:
        return np.where(truth >= 7, truth, truth + noise)


@attrs.frozen
class RunningSums(Planted):
    """The flaw: four counts of the label 1, each with noise for a loss of ε/2 under a claim of ε."""

    @property
    def scale(self) -> float:
        return 2 / self.epsilon

    def measure(self, sample: Sample) -> list[float]:
        return [float(sample.counts @ sample.labels)] * 4


@attrs.frozen
class Published(Planted):
    """Base: a vector of numbers that are public, among which records are shown."""

    entries: int = 40

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        values = rng.normal(size=(len(training.which), self.entries))
        for sample, games in training.groups():
            values[games] = self.show(sample.rows()[0], values[games], rng)
        return values

    def show(self, points: np.ndarray, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The numbers (g, entries) of g games with records among them."""
        raise NotImplementedError


@attrs.frozen
class PublishesSubsample(Published):
    """The flaw: each record is shown with chance 5 %, in random order among zeros."""

    def show(self, points: np.ndarray, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        shown = points[: self.entries]
        values[:] = 0.0
        values[:, : len(shown)] = np.where(rng.random((len(values), len(shown))) < 0.05, shown, 0.0)
        return rng.permuted(values, axis=1)


@attrs.frozen
class ShowsARecord(Published):
    """The flaw: in one release of ten, a random number is replaced by a random record."""

    def show(self, points: np.ndarray, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        games = np.flatnonzero(rng.random(len(values)) < 0.1)
        values[games, rng.integers(self.entries, size=len(games))] = rng.choice(points, size=len(games))
        return values


@attrs.frozen
class KeepsARecord(Planted):
    """The flaw: of the noisy copies of a record, one in twenty has no noise."""

    def measure(self, sample: Sample) -> list[float]:
        return np.resize(np.clip(sample.points, 0, 1), 20).tolist()

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        truth = np.array([self.measure(sample) for sample in training.samples])[training.which]
        bare = rng.random(truth.shape) < 0.05
        return truth + np.where(bare, 0.0, laplace_noise(rng, truth.shape, 20 / self.epsilon))
