"""count-swap: one label differs between the worlds, and a released number is the score."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.common.training_samples import plant_example
from arena import Adversary, Hypothesis, Moves, Sample, Train, setting
from arena.replies import is_category


@attrs.frozen
class CountSwap(Adversary):
    """Two samples that differ in one label. The score is the released number itself.

    If several numbers, text or a hypothesis are released, it returns no score, so that a distinguisher can
    use the whole release.
    """

    name = "count-swap"
    protocols = ("Release",)
    sample: Sample | None = setting(None, help="the sample; default: ten examples labelled 0")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self.sample or Sample([0.0], [0], [10])
        reply = yield Train(*plant_example(sample, 0, sample.points[0]))
        if isinstance(reply.value, Hypothesis):
            return None
        values = np.reshape(reply.value, (games, -1))
        return None if values.shape[1] != 1 or is_category(values).all() else values[:, 0]
