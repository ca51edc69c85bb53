"""Winnow and kin for tests of streams of halfspaces, written for clarity."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from arena import Claim, Hypothesis, Learner, PrivacyUnit
from arena.concepts import ConceptClass, Halfspaces


@attrs.frozen
class PlainWinnow(Learner):
    """Weights are multiplied by exp(margin·y'x) on a mistake; and also, if `confidence` is more than 0, where
    y'(w·x) is at most confidence·margin and the adversary says so."""

    name = "plain-winnow"
    protocols: ClassVar[tuple[str, ...]] = ("Oblivious", "Adaptive", "SpecialRound")

    concepts: ConceptClass = Halfspaces(16, 0.2)
    confidence: float = 0.0

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=np.inf, delta=0, protects=(PrivacyUnit.STREAM_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> WinnowState:
        assert isinstance(self.concepts, Halfspaces)
        return WinnowState(self.concepts, games, self.confidence)


class WinnowState:
    """updates: (n,), how many there were."""

    def __init__(self, concepts: Halfspaces, games: int, confidence: float) -> None:
        self.concepts, self.confidence = concepts, confidence
        self.weights = np.full((games, concepts.dimension), 1 / concepts.dimension)
        self.told = np.zeros(games, bool)
        self.updates = np.zeros(games, np.int64)

    def hypothesis(self) -> Hypothesis:
        self.told[:] = False
        return Hypothesis(self.concepts, self.weights.copy())

    def instruct(self, update: np.ndarray) -> None:
        self.told = update.copy()

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        product = np.vecdot(self.weights, x.astype(float))
        sign = np.where(y == 1, 1, -1)
        wrong = (product >= 0) != (y == 1)
        unsure = self.told & (sign * product <= self.confidence * self.concepts.margin)
        update = wrong | (unsure if self.confidence else False)
        self.updates += update
        steps = self.concepts.margin * sign * update
        self.weights = self.weights * np.exp(steps[:, None] * x)
        self.weights /= self.weights.sum(axis=1, keepdims=True)
