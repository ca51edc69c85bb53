"""static-erm: one empirical risk minimiser answers all queries, without privacy."""

from __future__ import annotations

import attrs
import numpy as np

from arena.concepts import ConceptClass, Thresholds
from arena.laws import AnswerLaw
from arena.sample import Sample, Training, is_shared
from arena.settings import setting
from learners.common.learner_bases import BaselineLearner


@attrs.frozen
class StaticErm(BaselineLearner):
    """The static predictor of section 3 of Private Everlasting Prediction: h_r = h_0, fitted to the sample.

    It claims nothing (ε = ∞). Audit it against a claim of your own (`--epsilon`) to see a claim refuted.
    """

    name = "static-erm"
    protocols = ("Figure1",)

    concepts: ConceptClass = setting(Thresholds(), help="the concept class C")

    def law(self, sample: Sample) -> StaticErmLaw:
        """One state; every answer is certain."""
        return StaticErmLaw(self.concepts, self.concepts.erm(sample.points, sample.labels, sample.counts))

    def start(self, games: int, rng: np.random.Generator) -> StaticErmState:
        return StaticErmState(self.concepts, games)


class StaticErmLaw(AnswerLaw):
    """The answers of one concept."""

    def __init__(self, concepts: ConceptClass, fitted: np.ndarray) -> None:
        self._class = concepts
        self._fitted = fitted[None]

    def start(self) -> np.ndarray:
        return np.ones(1)

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        ones = self._class.labels(self._fitted, x[:1] if is_shared(x) else x)[0, :, None]
        return np.stack([measure * ~ones, measure * ones])


class StaticErmState:
    """static-erm in a batch of games."""

    def __init__(self, concepts: ConceptClass, games: int) -> None:
        self._class = concepts
        self.halted = np.zeros(games, bool)

    def train(self, training: Training) -> None:
        fitted = [self._class.erm(s.points, s.labels, s.counts) for s in training.samples]
        self._concepts = np.array(fitted)[training.which]

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self._class.label(self._concepts, x)
