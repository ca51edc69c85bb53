"""Learners that depend on how a sample is divided into runs, and correct relatives of them.

Each has a statistic of the sample, to which Laplace noise is added, and plays every protocol that takes a
sample: it releases the noisy statistic, answers queries by whether it exceeds half of the examples, or has it
as its model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from arena import Claim, GradientCanary, Learner, PrivacyUnit, Sample, Training

STATISTICS: dict[str, Callable[[Sample], float]] = {
    "ignores-counts": lambda sample: float(sample.labels.sum()),
    "counts-runs": lambda sample: float(len(sample.counts)),
    "last-run": lambda sample: float(sample.counts[-1] * sample.labels[-1]),
    "mean-over-runs": lambda sample: 10.0 * float(sample.labels.mean()),
    "longest-run": lambda sample: float(sample.counts.max()),
    "parity-of-runs": lambda sample: 5.0 * (len(sample.counts) % 2),
}
CORRECT: dict[str, Callable[[Sample], float]] = {
    "count": lambda sample: float(sample.counts @ sample.labels),
    "last-example": lambda sample: float(sample.labels[-1]),
    "distinct-examples": lambda sample: float(len(sample.distinct().counts)),
    # Rounded differently for every division.
    "sum-of-tenths": lambda sample: float((0.1 * sample.counts * sample.labels).sum()),
}


@attrs.frozen
class RunsLearner(Learner):
    """A learner with the statistic `name`. common: with common random numbers."""

    name: str  # type: ignore[misc]
    protocol: str = "Release"
    common: bool = False

    @property
    def protocols(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.protocol,)

    @property
    def common_random_numbers(self) -> bool:
        return self.common

    claim = Claim(epsilon=1, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> Any:
        return RunsState(self, games, rng)


class RunsState:
    """The learner in a batch of games."""

    steps = 1

    def __init__(self, learner: RunsLearner, games: int, rng: np.random.Generator) -> None:
        self._learner, self._games, self._rng = learner, games, rng
        self.halted = np.zeros(games, bool)

    def release(self, training: Training) -> np.ndarray:
        statistic = (STATISTICS | CORRECT)[self._learner.name]
        noise = self._rng.laplace(size=self._games)
        if not self._learner.common:  # another number of draws for every number of runs
            for sample, games in training.groups():
                self._rng.random(len(sample.counts))
                noise[games] = self._rng.laplace(size=len(games))
        return np.array([statistic(sample) for sample in training.samples])[training.which] + noise

    def train(self, training: Training) -> None:
        self._value = self.release(training)
        self._half = np.array([sample.size / 2 for sample in training.samples])[training.which]

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self._value > self._half

    def advance(self, steps: int, canaries: tuple[GradientCanary, ...]) -> np.ndarray:
        return self._value[:, None]
