"""What learners share that fit one sample without coins and without privacy."""

from __future__ import annotations

from abc import abstractmethod

import attrs
import numpy as np

from arena.claims import TRAINING_EXAMPLE, Claim
from arena.concepts.base import ConceptClass
from arena.players import Learner
from arena.replies import Hypothesis
from arena.sample import Sample, Training


@attrs.frozen
class FittedLearner(Learner):
    """Base of the yardsticks before Release. A new one writes `fit` and `_hypotheses`.

    It claims nothing (ε = ∞).
    """

    protocols = ("Release",)
    theorem = "none: the yardstick without privacy"

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=np.inf, delta=0, protects=(TRAINING_EXAMPLE,))

    @property
    def common_random_numbers(self) -> bool:
        """It draws no coins."""
        return True

    @property
    @abstractmethod
    def _hypotheses(self) -> ConceptClass:
        """The class of what is released."""

    @abstractmethod
    def fit(self, sample: Sample) -> np.ndarray:
        """The concept that is released for a sample."""

    def start(self, games: int, rng: np.random.Generator) -> FittedState:
        return FittedState(self)


@attrs.frozen(eq=False)
class FittedState:
    """A yardstick at a table: each sample is fitted once."""

    spec: FittedLearner

    def release(self, training: Training) -> Hypothesis:
        concepts = np.stack([self.spec.fit(sample) for sample in training.samples])
        return Hypothesis(self.spec._hypotheses, concepts[training.which])
