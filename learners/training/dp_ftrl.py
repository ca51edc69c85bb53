"""dp-ftrl: gradient descent on noisy prefix sums of gradients, without any random batches."""

from __future__ import annotations

import attrs
import numpy as np

from arena.privacy_curves import GaussianCurve
from arena.settings import setting
from learners.training.dp_sgd import DPSGD, DPSGDState, check_sampling
from learners.training.noisy_sums_state import SHUFFLED


@attrs.frozen
class DPFTRL(DPSGD):
    """Follow the regularised leader with noise from a binary tree, for linear models and small networks.

    The model after t steps is that before training, less the learning rate over `batch` times the sum of all
    clipped gradients so far, with noise. The noise of a prefix is the sum of the Gaussian noises of the
    blocks of the binary tree that it consists of. Every epoch goes through the data once, with a tree of its
    own.

    Source: Algorithms 1 and 2 of Kairouz and others, Practical and Private (Deep) Learning without Sampling
    or Shuffling (2021), without momentum and without the estimator of Honaker.

    Privacy: an example is in one step of an epoch, and so in one block of each level of its tree: for E
    epochs with L levels it is a Gaussian mechanism of sensitivity clip·√(E·L), exactly. Nothing rests on the
    order. Examples are zeroed out or replaced.
    """

    name = "dp-ftrl"
    theorem = "Theorem 4.1 of Kairouz and others (2021), with the exact Gaussian mechanism"

    sampling: str = setting(SHUFFLED, help="each epoch is a new permutation", check=check_sampling(SHUFFLED))
    neighbours: str | None = setting("zero out one", help="the neighbouring relation of the claim")

    @property
    def epoch_steps(self) -> int:
        """The steps of an epoch."""
        return self.size // self.batch

    @property
    def levels(self) -> int:
        """The levels of the tree of an epoch."""
        return min(self.epoch_steps, self.steps).bit_length()

    def other_costs(self) -> dict[str, float]:
        return {}

    def _compose(self, noise: float, shift: float, slack: float) -> GaussianCurve:
        epochs = -(-self.steps // self.epoch_steps)
        return GaussianCurve(shift * (epochs * self.levels) ** 0.5 / noise, slack)

    def start(self, games: int, rng: np.random.Generator) -> DPFTRLState:
        return DPFTRLState(self, games, rng)


class DPFTRLState(DPSGDState):
    """dp-ftrl in a batch of games."""

    _learner: DPFTRL

    def __init__(self, learner: DPFTRL, games: int, rng: np.random.Generator) -> None:
        super().__init__(learner, games, rng)
        self._step = 0  # of the epoch
        self._blocks: list[np.ndarray] = []  # the noises of the present prefix, of the shortest block last

    def _draw_noise(self) -> np.ndarray:
        """By how much the noise of the prefix changes: a new block takes the place of shorter ones."""
        if self._step == self._learner.epoch_steps:
            self._step, self._blocks = 0, []
        self._step += 1
        change = super()._draw_noise()
        block = change.copy()
        for _ in range((self._step & -self._step).bit_length() - 1):
            change -= self._blocks.pop()
        self._blocks.append(block)
        return change
