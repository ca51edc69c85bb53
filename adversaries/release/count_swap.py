"""count-swap: one label differs, and the released number tells which."""

from __future__ import annotations

import attrs
import numpy as np

from arena import Adversary, Moves, Sample, Train, setting


@attrs.frozen
class CountSwap(Adversary):
    """Two samples that differ in one label; the score is the released number itself."""

    name = "count-swap"
    protocols = ("Release",)
    returns_score = True

    sample: Sample | None = setting(None, help="the sample; default: ten examples labelled 0")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self.sample or Sample([0.0], [0], [10])
        at = sample.points[0]
        reply = yield Train(sample.replace_one(0, at, 0), sample.replace_one(0, at, 1))
        return np.reshape(reply.value, (games, -1))[:, 0]
