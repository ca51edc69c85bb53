"""count-swap: one label differs between the worlds, and the released number is the score."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.common.training_samples import plant_example
from arena import Adversary, Moves, Sample, Train, setting


@attrs.frozen
class CountSwap(Adversary):
    """Two samples that differ in one label. The score is the released number itself."""

    name = "count-swap"
    protocols = ("Release",)
    returns_score = True

    sample: Sample | None = setting(None, help="the sample; default: ten examples labelled 0")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self.sample or Sample([0.0], [0], [10])
        reply = yield Train(*plant_example(sample, 0, sample.points[0]))
        return np.reshape(reply.value, (games, -1))[:, 0]
