"""Broken learners for Voting, each with one common slip, and the correct learner."""

from __future__ import annotations

from math import sqrt

import attrs
import numpy as np
from support.simple_players import NamedByClass

from arena import UNSTABLE, Claim
from learners.mechanisms.noise import gaussian_sigma
from learners.pate.independent_answers import PateGaussian, PateGaussianState

VOTES = PateGaussian(teachers=3, queries=8, epsilon=1.0, delta=0.05)


@attrs.frozen
class HalfOfAVote(NamedByClass, PateGaussian):
    """The slip: the noise is for votes that change by 1/2, as margins do when votes change by 1.

    The loss is twice the claimed one in μ of Gaussian privacy: no ε below 2.93 holds at the δ of the claim,
    except for what the majority hides.
    """

    @property
    def effective_sigma(self) -> float:
        return gaussian_sigma(epsilon=self.epsilon, delta=self.delta, sensitivity=sqrt(self.queries) / 2)

    @property
    def claim(self) -> Claim:
        return VOTES.claim


class BareScreenState(PateGaussianState):
    """A running bare-screen."""

    def _answer(self, ones: np.ndarray) -> np.ndarray:
        noisy = super()._answer(ones)
        return np.where(2 * ones - self._spec.teachers == 1, UNSTABLE, noisy)


@attrs.frozen
class BareScreen(NamedByClass, PateGaussian):
    """The slip: it answers ⊥ if the majority depends on one vote, without noise.

    One vote decides whether the answer is ⊥: nothing is private.
    """

    def law(self, sample):  # type: ignore[no-untyped-def]  # it has none
        return super(PateGaussian, self).law(sample)

    def start(self, games: int, rng: np.random.Generator) -> PateGaussianState:
        return BareScreenState(self, games, rng)


def settings() -> dict[str, object]:
    """The settings of `VOTES`."""
    return {field.name: getattr(VOTES, field.name) for field in attrs.fields(PateGaussian)}


HALF = HalfOfAVote(**settings())  # type: ignore[arg-type]
BARE = BareScreen(**settings())  # type: ignore[arg-type]
