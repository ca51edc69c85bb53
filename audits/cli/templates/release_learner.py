"""my-player: the number of examples labelled 1, with noise. Replace it by your own mechanism."""

from __future__ import annotations

import attrs
import numpy as np

from arena import Claim, Learner, PrivacyUnit, Training, setting

# Released values are multiples of it. The last bits of a floating-point sum such as count + noise show to
# what the noise was added, and the adversary `low-bits` reads them. Rounding removes them. It costs no
# privacy, since what is computed from a private value alone is private.
GRID = 2.0**-10


@attrs.frozen
class MyPlayer(Learner):
    """Releases #{i : y_i = 1} + Lap(1/ε), rounded to a multiple of `GRID`.

    The class holds the settings only. What happens in the games is in `RunningMyPlayer`, below.
    """

    name = "my-player"
    protocols = ("Release",)  # it receives one sample and releases one value
    theorem = "the Laplace mechanism"  # where its claim is proved

    epsilon: float = setting(1.0, unit="nats", help="ε; the noise is Lap(1/ε)")

    @property
    def claim(self) -> Claim:
        """The privacy that it promises: this is what an audit tests. Compute it from the settings."""
        return Claim(epsilon=self.epsilon, delta=0, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def start(self, games: int, rng: np.random.Generator) -> RunningMyPlayer:
        """Begin `games` independent games. All random numbers must come from `rng`."""
        return RunningMyPlayer(self, rng)


@attrs.frozen(eq=False)
class RunningMyPlayer:
    """The learner in a batch of games."""

    learner: MyPlayer
    rng: np.random.Generator

    def release(self, training: Training) -> np.ndarray:
        """One released value for each game: an array (games,) or (games, k).

        Many games share a sample, so `training.samples` lists the distinct ones, and `training.which` says
        which one each game is trained on. A sample is a list of `size` examples, stored as runs: `counts[i]`
        copies of the example (`points[i]`, `labels[i]`). Equal examples may be in one run or in several.
        """
        ones = np.array([sample.counts[sample.labels == 1].sum() for sample in training.samples], float)
        true_values = ones[training.which]
        noisy = true_values + self.rng.laplace(scale=1 / self.learner.epsilon, size=len(true_values))
        return np.asarray(np.round(noisy / GRID) * GRID)
