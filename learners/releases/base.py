"""Base of the mechanisms that release one value."""

from __future__ import annotations

from abc import abstractmethod

import attrs
import numpy as np

from arena.players import Learner
from arena.sample import Sample, Training


@attrs.frozen
class ValueRelease(Learner):
    """Base of the mechanisms that release one value. A subclass defines `claim`, `law` and `draw`.

    Every game must draw the same number of random numbers, whatever its sample.
    """

    protocols = ("Release",)

    @property
    def common_random_numbers(self) -> bool:
        """Every game draws the same number of random numbers."""
        return True

    @abstractmethod
    def draw(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        """The released values (n, ...) of all games."""

    def start(self, games: int, rng: np.random.Generator) -> ValueReleaseState:
        return ValueReleaseState(self, rng)


@attrs.frozen(eq=False)
class ValueReleaseState:
    """The running state of a mechanism that releases one value."""

    learner: ValueRelease
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        return self.learner.draw(training, self.rng)


def count_ones(sample: Sample) -> int:
    """The number of examples labelled 1."""
    return int(sample.counts @ sample.labels)


def count_ones_by_game(training: Training) -> np.ndarray:
    """(n,) float64: the number of examples labelled 1 in the sample of each game."""
    return np.array([float(count_ones(sample)) for sample in training.samples])[training.which]
