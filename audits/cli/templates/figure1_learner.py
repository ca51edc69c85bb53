"""my-player: answers every query by a noisy majority of the labels. Replace it by your own predictor."""

from __future__ import annotations

import attrs
import numpy as np

from arena import Claim, Learner, PrivacyUnit, Training, setting


@attrs.frozen
class MyPlayer(Learner):
    """Compares a noisy count of the labels 1 with half of the examples, once, and answers so for ever.

    The class holds the settings only. What happens in the games is in `RunningMyPlayer`, below.
    """

    name = "my-player"
    protocols = ("Figure1",)  # it is trained once, and then answers queries
    theorem = "the Laplace mechanism"  # where its claim is proved

    epsilon: float = setting(1.0, unit="nats", help="ε; the noise is Lap(1/ε)")

    @property
    def claim(self) -> Claim:
        """The privacy that it promises: this is what an audit tests. Compute it from the settings."""
        return Claim(
            epsilon=self.epsilon, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE, PrivacyUnit.QUERY)
        )

    def start(self, games: int, rng: np.random.Generator) -> RunningMyPlayer:
        """Begin `games` independent games. All random numbers must come from `rng`."""
        return RunningMyPlayer(self, games, rng)


class RunningMyPlayer:
    """The learner in a batch of games."""

    def __init__(self, learner: MyPlayer, games: int, rng: np.random.Generator) -> None:
        self._learner = learner
        self._rng = rng
        self._answer = np.zeros(games, bool)
        self.halted = np.zeros(games, bool)  # (games,): where it has stopped answering; here it never does

    def train(self, training: Training) -> None:
        """Receive the training sets.

        Many games share a sample, so `training.samples` lists the distinct ones, and `training.which` says
        which one each game is trained on. A sample is a list of `size` examples, stored as runs: `counts[i]`
        copies of the example (`points[i]`, `labels[i]`). Equal examples may be in one run or in several.
        """
        ones = np.array([sample.counts[sample.labels == 1].sum() for sample in training.samples], float)
        excess = ones - [sample.size / 2 for sample in training.samples]
        noise = self._rng.laplace(scale=1 / self._learner.epsilon, size=len(training.which))
        self._answer = excess[training.which] + noise > 0

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Receive one query for each game, (games, ...), and return the labels (games,)."""
        return self._answer
