"""Base of the learners that release the hypothesis fitted to the sample, without randomness or privacy."""

from __future__ import annotations

from abc import abstractmethod

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.concepts.base import ConceptClass
from arena.players import Learner
from arena.replies import Hypothesis
from arena.sample import Sample, Training


@attrs.frozen
class FittedLearner(Learner):
    """Base of the non-private baselines under Release. A subclass defines `fit` and `_hypotheses`.

    It claims nothing (ε = ∞).
    """

    protocols = ("Release",)
    theorem = "none: the baseline without privacy"

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=np.inf, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    @property
    def common_random_numbers(self) -> bool:
        """It draws no random numbers."""
        return True

    @property
    @abstractmethod
    def _hypotheses(self) -> ConceptClass:
        """The class of the released hypotheses."""

    @abstractmethod
    def fit(self, sample: Sample) -> np.ndarray:
        """The concept that is released for a sample."""

    def start(self, games: int, rng: np.random.Generator) -> FittedState:
        return FittedState(self)


@attrs.frozen(eq=False)
class FittedState:
    """A baseline in a batch of games; it fits each sample once."""

    learner: FittedLearner

    def release(self, training: Training) -> Hypothesis:
        concepts = np.stack([self.learner.fit(sample) for sample in training.samples])
        return Hypothesis(self.learner._hypotheses, concepts[training.which])
