"""Learners with a leak, for searches to find."""

from __future__ import annotations

import attrs
import numpy as np

from arena import BudgetExceeded, Claim, Hypothesis, Learner, PrivacyUnit, Training
from arena.concepts import Thresholds


def ones(training: Training) -> np.ndarray:
    """(n,): the number of examples labelled 1 in each game's sample."""
    return np.array([float(sample.counts @ sample.labels) for sample in training.samples])[training.which]


@attrs.frozen
class Mutant(Learner):
    """A learner whose claim of (1, 0)-DP is false."""

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=1.0, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE, PrivacyUnit.QUERY))


class CountState:
    """Releases the number of labels 1 with Laplace noise."""

    def __init__(self, rng: np.random.Generator, scale: float) -> None:
        self.rng, self.scale = rng, scale

    def release(self, training: Training) -> np.ndarray:
        return ones(training) + self.rng.laplace(0.0, self.scale, training.games)


@attrs.frozen
class HalfTheNoise(Mutant):
    """Claims ε = 1 but adds Lap(1/2)."""

    name = "half-the-noise"
    protocols = ("Release",)

    def start(self, games: int, rng: np.random.Generator) -> CountState:
        return CountState(rng, 0.5)


class HaltState:
    """Answers 0 and halts after as many queries as the sample has labels 1, plus `after`."""

    def __init__(self, games: int, after: int) -> None:
        self.halted = np.zeros(games, bool)
        self.asked = 0
        self.after = after

    def train(self, training: Training) -> None:
        self.ones = ones(training)

    def predict(self, x: np.ndarray) -> np.ndarray:
        self.asked += 1
        self.halted = self.halted | (self.asked >= self.ones + self.after)
        return np.zeros(len(x), bool)


@attrs.frozen
class HaltsOnTheCount(Mutant):
    """Halts after as many queries as the sample has labels 1, plus two."""

    name = "halts-on-the-count"
    protocols = ("Figure1",)

    def start(self, games: int, rng: np.random.Generator) -> HaltState:
        return HaltState(games, 2)


class RaisingState(HaltState):
    def predict(self, x: np.ndarray) -> np.ndarray:
        if (self.ones >= 2).any():
            raise RuntimeError("too many")
        return np.zeros(len(x), bool)


@attrs.frozen
class RaisesOnLabels(Mutant):
    """Raises if two or more examples are labelled 1."""

    name = "raises-on-labels"
    protocols = ("Figure1",)

    def start(self, games: int, rng: np.random.Generator) -> RaisingState:
        return RaisingState(games, 0)


class DecliningState(HaltState):
    def predict(self, x: np.ndarray) -> np.ndarray:
        if (self.ones >= self.after).any():
            raise BudgetExceeded("too many")
        return np.zeros(len(x), bool)


@attrs.frozen
class DeclinesOnLabels(Mutant):
    """Declines a query if at least `most` examples are labelled 1."""

    name = "declines-on-labels"
    protocols = ("Figure1",)
    most: int = 2

    def start(self, games: int, rng: np.random.Generator) -> DecliningState:
        return DecliningState(games, self.most)


class CopyingState:
    """Its hypothesis is the last label, or the opposite label with probability 0.1."""

    def __init__(self, games: int, rng: np.random.Generator) -> None:
        self.label, self.rng = np.zeros(games, bool), rng

    def hypothesis(self) -> Hypothesis:
        label = self.label ^ (self.rng.random(len(self.label)) < 0.1)
        return Hypothesis(Thresholds(), np.where(label, -np.inf, np.inf))

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        self.label = y == 1


@attrs.frozen
class Copying(Learner):
    name = "copying"
    protocols = ("SpecialRound",)
    rounds: int = 6

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=1.0, delta=0, protects=(PrivacyUnit.STREAM_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> CopyingState:
        return CopyingState(games, rng)


@attrs.frozen
class OnePoint(Mutant):
    """Answers whether an example at the queried point is labelled 1; points are vectors of two numbers."""

    name = "one-point"
    protocols = ("Figure1",)

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (2,)

    def start(self, games: int, rng: np.random.Generator) -> LookupState:
        return LookupState(games)


class LookupState:
    def __init__(self, games: int) -> None:
        self.halted = np.zeros(games, bool)

    def train(self, training: Training) -> None:
        self.training = training

    def predict(self, x: np.ndarray) -> np.ndarray:
        asked = np.zeros(len(x), bool)
        for sample, games in self.training.groups():
            known = sample.points[sample.labels == 1]
            asked[games] = (x[games][:, None] == known[None]).all(axis=2).any(axis=1)
        return asked
