"""Bases of the learners that fit a hypothesis to the sample, without randomness or privacy."""

from __future__ import annotations

from abc import abstractmethod

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.concepts.base import ConceptClass
from arena.players import Learner
from arena.replies import Hypothesis
from arena.sample import Sample, Training
from learners.common.release_learner import ReleaseLearner


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
