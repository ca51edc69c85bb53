"""Broken learners before Voting, each with one slip that people make, and the correct one they come from."""

from __future__ import annotations

from math import sqrt

import attrs
import numpy as np

from arena import UNSTABLE, Claim
from learners.mechanisms.noise.gaussian_noise import gaussian_sigma
from learners.pate.pate_gaussian import PateGaussian, PateGaussianState

VOTES = PateGaussian(teachers=3, queries=8, epsilon=1.0, delta=0.05)


@attrs.frozen
class HalfOfAVote(PateGaussian):
    """The slip: the noise is that of votes which change by 1/2, as margins do when votes change by 1.

    Twice the loss that is claimed, in μ of Gaussian privacy: no ε below 2.93 holds at the δ of the claim, but
    for what thresholds hide.
    """

    name = "half-of-a-vote"

    @property
    def sigma_run(self) -> float:
        return gaussian_sigma(epsilon=self.epsilon, delta=self.delta, sensitivity=sqrt(self.queries) / 2)

    @property
    def claim(self) -> Claim:
        return VOTES.claim


class BareScreenState(PateGaussianState):
    """bare-screen at a table."""

    def _answer(self, ones: np.ndarray) -> np.ndarray:
        noisy = super()._answer(ones)
        return np.where(2 * ones - self._spec.teachers == 1, UNSTABLE, noisy)


@attrs.frozen
class BareScreen(PateGaussian):
    """The slip: whether the majority hangs on one vote is looked at without noise, and told as ⊥.

    One vote decides whether a tie is told: nothing is private.
    """

    name = "bare-screen"

    def law(self, sample):  # type: ignore[no-untyped-def]  # its author never told one
        return super(PateGaussian, self).law(sample)

    def start(self, games: int, rng: np.random.Generator) -> PateGaussianState:
        return BareScreenState(self, games, rng)


def settings() -> dict[str, object]:
    """Those of `VOTES`."""
    return {field.name: getattr(VOTES, field.name) for field in attrs.fields(PateGaussian)}


HALF = HalfOfAVote(**settings())  # type: ignore[arg-type]
BARE = BareScreen(**settings())  # type: ignore[arg-type]
