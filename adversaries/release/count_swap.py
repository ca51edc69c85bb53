"""count-swap: one label differs between the worlds, and a released number is the score."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.common.released_numbers import score_by_number
from adversaries.common.training_samples import build_equal_sample, plant_example
from arena import Adversary, Learner, Moves, PrivacyUnit, Sample, Train, setting


@attrs.frozen
class CountSwap(Adversary):
    """Two samples that differ in one label. The score is the released number itself.

    If several numbers, text or a hypothesis are released, it returns no score, so that a distinguisher can
    use the whole release.
    """

    name = "count-swap"
    protocols = ("Release",)
    usual_for = (PrivacyUnit.TRAINING_EXAMPLE,)
    scores_release = True
    sample: Sample | None = setting(
        None, help="the sample; default: ten examples labelled 0, or as many as needed"
    )

    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self.sample or build_equal_sample(self.learner)
        reply = yield Train(*plant_example(sample, 0, sample.points[0], self.learner))
        return score_by_number(reply.value, games)
