"""Labelling services for tests of students: true labels, perhaps flipped, and noise for one answer only."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import numpy as np

from arena import Claim
from arena.messages import UNSTABLE
from learners.pate.pate_gaussian import PateGaussian


class TruthService:
    """Answers `truth(x)` in n games, and halts after `most` answers.

    flips: the probability that a label is flipped. unstable: x -> where it answers ⊥. asked: all queries x.
    """

    def __init__(
        self,
        truth: Callable[[np.ndarray], np.ndarray],
        *,
        games: int = 1,
        most: int = 10**9,
        flips: float = 0.0,
        rng: np.random.Generator | None = None,
        unstable: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        self.halted = np.zeros(games, bool)
        self.asked: list[np.ndarray] = []
        self._truth, self._most, self._flips, self._rng, self._unstable = truth, most, flips, rng, unstable

    def predict(self, x: np.ndarray) -> np.ndarray:
        assert not self.halted.all()
        self.asked.append(x.copy())
        if len(self.asked) == self._most:
            self.halted = np.ones_like(self.halted)
        labels = np.asarray(self._truth(x)).astype(np.int8)
        if self._flips and self._rng is not None:
            labels ^= self._rng.random(len(x)) < self._flips
        if self._unstable is not None:
            labels[self._unstable(x)] = UNSTABLE
        return labels


class PaysForOneAnswer:
    """A mixin for learners with students: the service has the noise for one answer, the claim is for all."""

    @property
    def aggregator_learner(self) -> PateGaussian:
        own = super().aggregator_learner
        return attrs.evolve(own, sigma=attrs.evolve(own, queries=1).effective_sigma)

    @property
    def claim(self) -> Claim:
        return super().aggregator_learner.claim
