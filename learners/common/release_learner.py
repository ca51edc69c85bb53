"""The base of the learners for the referee Release."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import attrs
import numpy as np

from arena.players import Learner
from arena.sample import Training


@attrs.frozen
class ReleaseLearner(Learner):
    """Base of the learners that release once. A subclass defines `claim` and `release`."""

    protocols = ("Release",)

    @abstractmethod
    def release(self, training: Training, rng: np.random.Generator) -> Any:
        """The releases of all games: an array (n, ...), or a Hypothesis."""

    def start(self, games: int, rng: np.random.Generator) -> RunningRelease:
        return RunningRelease(self, rng)


@attrs.frozen(eq=False)
class RunningRelease:
    """A running learner that releases once."""

    learner: ReleaseLearner
    rng: np.random.Generator

    def release(self, training: Training) -> Any:
        return self.learner.release(training, self.rng)
