"""Bases of learners: of those that release once, that claim nothing, and that have a fixed size or rounds."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.concepts.base import ConceptClass
from arena.errors import BudgetExceeded, Unsupported
from arena.messages import Hypothesis
from arena.players import Learner
from arena.sample import Sample, Training
from arena.settings import count_setting


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


@attrs.frozen
class BaselineLearner(Learner):
    """Base of the non-private baselines, which claim nothing (ε = ∞)."""

    theorem = "none: the baseline without privacy"
    common_random_numbers = True  # it draws no random numbers

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=np.inf, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))


@attrs.frozen
class FittedLearner(BaselineLearner, ReleaseLearner):
    """Base of the baselines under Release. A subclass defines `fit` and `_hypotheses`."""

    @property
    @abstractmethod
    def _hypotheses(self) -> ConceptClass:
        """The class of the released hypotheses."""

    @abstractmethod
    def fit(self, sample: Sample) -> np.ndarray:
        """The concept that is released for a sample."""

    def release(self, training: Training, rng: np.random.Generator) -> Hypothesis:
        concepts = np.stack([self.fit(sample) for sample in training.samples])
        return Hypothesis(self._hypotheses, concepts[training.which])


@attrs.frozen
class FixedSizeLearner(Learner):
    """Base of the learners that are configured for exactly `size` examples."""

    size: int = count_setting(1, help="n, the number of training examples")

    @property
    def sample_size(self) -> int:
        return self.size

    def adapt_to(self, sample_size: int) -> Self:
        """The learner configured for exactly this many examples."""
        return attrs.evolve(self, size=sample_size)

    def check_sample_size(self, sample: Sample) -> None:
        """Raises: Unsupported if the sample has another size."""
        if sample.size != self.size:
            raise Unsupported(
                f"{self.name} is configured for {self.size:,} example{'s' if self.size > 1 else ''}",
                value=sample.size,
                remedy="Set size to the size of the sample.",
            )


class RoundBudget:
    """Counts the rounds of a batch of games: `played`, including the current one, and `left` after it."""

    def __init__(self, name: str, rounds: int) -> None:
        """name: of the learner, for messages. rounds: the most that may be played."""
        self._name = name
        self._rounds = rounds
        self.played = 0

    @property
    def left(self) -> int:
        return self._rounds - self.played

    def begin(self) -> None:
        """Begin a round. Raises: BudgetExceeded if all rounds have been played."""
        if not self.left:
            raise BudgetExceeded(
                f"{self._name} has spent its {self._rounds} rounds; set rounds to the game's length"
            )
        self.played += 1
