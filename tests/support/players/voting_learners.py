"""Aggregators for tests of adversaries: one with ⊥, halts and a distribution, and one without a
distribution."""

from __future__ import annotations

import attrs
import numpy as np
from scipy.special import ndtr

from arena import UNSTABLE, AnswerLaw, Claim, PrivacyUnit, Sample, Unsupported
from learners.pate.ensemble import Voters, VotersState, VotingLaw
from learners.pate.pate_gaussian import PateGaussian

OUTCOMES = ((0, False), (1, False), (UNSTABLE, False), (UNSTABLE, True))


@attrs.frozen
class Screened(Voters):
    """Answers ⊥ if the noisy votes are within `width` of a tie, else their majority; halts after the second
    ⊥.

    The noise is N(0, σ²); σ is drawn once in each game, from 1 and 3, so that the distribution has hidden
    states.
    """

    name = "screened"
    theorem = "none"
    width: float = 2.0

    @property
    def claim(self) -> Claim:
        return Claim(epsilon=3.0, delta=0.1, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def law(self, sample: Sample) -> AnswerLaw:
        return ScreenedLaw(self, sample)

    def start(self, games: int, rng: np.random.Generator) -> ScreenedState:
        return ScreenedState(self, games, rng)


class ScreenedState(VotersState):
    """A running screened aggregator."""

    def __init__(self, spec: Screened, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec, games)
        self._rng = rng
        self._sigma = np.where(rng.random(games) < 0.5, 1.0, 3.0)
        self._unstable = np.zeros(games, int)

    def _answer(self, ones: np.ndarray) -> np.ndarray:
        margin = ones - self._spec.teachers / 2 + self._sigma * self._rng.standard_normal(self._games)
        unstable = np.abs(margin) < self._spec.width
        self._unstable += unstable
        self._halted = self._unstable >= 2
        return np.where(unstable, UNSTABLE, margin > 0)


class ScreenedLaw(VotingLaw):
    """States: the number of answers ⊥ so far (0 or 1) x the two values of σ."""

    outcomes = OUTCOMES

    def start(self) -> np.ndarray:
        return np.array([0.5, 0.5, 0.0, 0.0])

    def _step_by_votes(self, measure: np.ndarray, ones: np.ndarray) -> np.ndarray:
        margin = (ones - self._spec.teachers / 2)[:, None]
        sigma, width = np.array([1.0, 3.0]), self._spec.width
        one, zero = ndtr((margin - width) / sigma), ndtr((-margin - width) / sigma)
        unstable = 1 - one - zero
        states = measure.reshape(len(measure), 2, 2)
        after = np.zeros((4, *states.shape))
        after[0], after[1] = states * zero[:, None], states * one[:, None]
        after[2, :, 1] = states[:, 0] * unstable
        after[3, :, 1] = states[:, 1] * unstable
        return after.reshape(4, *measure.shape)


@attrs.frozen
class Silent(PateGaussian):
    """pate-gaussian without an output distribution."""

    name = "silent"

    def law(self, sample: Sample) -> AnswerLaw:  # type: ignore[override]
        raise Unsupported("silent does not declare its output distribution")
