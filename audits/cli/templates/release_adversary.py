"""my-player: one label differs between the worlds. Replace it by your own attack."""

from __future__ import annotations

import attrs
import numpy as np

from arena import Adversary, Moves, Sample, Train, count_setting


@attrs.frozen
class MyPlayer(Adversary):
    """Two samples that differ in one label.

    The learner is trained on the first in world 0 and on the second in world 1. What it releases must not
    tell the worlds apart by more than its claim allows.
    """

    name = "my-player"
    protocols = ("Release",)
    returns_score = True

    size: int = count_setting(10, help="examples in a sample")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        """Play `games` games at once: yield moves, receive replies, and return a score for each game."""
        points = np.linspace(0.0, 1.0, self.size)
        labels = np.zeros(self.size, int)
        changed = labels.copy()
        changed[0] = 1
        reply = yield Train(Sample(points, labels), Sample(points, changed))  # world 0, world 1
        values = np.reshape(np.asarray(reply.value, float), (games, -1))
        return values[:, 0]  # the score, (games,): higher looks like world 1
