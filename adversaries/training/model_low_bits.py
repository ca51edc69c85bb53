"""model-low-bits: the last bits of the first model show to what the noise was added."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.common.training_samples import (
    assign_new_user,
    build_sample,
    change_example,
    choose_feature,
    choose_sample_size,
)
from adversaries.training.known_steps import read_steps
from arena import Advance, Adversary, GradientCanary, Learner, Moves, Train, setting
from arena.step_scores import LAST_BITS, StepScore


@attrs.frozen
class ModelLowBits(Adversary):
    """The canary has the gradient of the clip in its first coordinate, and all other gradients are 0.

    Where noise is added in floating point to 0, small sums have many last bits; added to the canary's
    gradient they have not. The score is the place of the last bit of the model after the first step: see
    `low-bits`. A learner that rounds its noisy sums shows nothing.
    """

    name = "model-low-bits"
    protocols = ("TrainingRun",)
    returns_score = True

    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        learner = read_steps(self, self.learner)
        point = np.zeros(learner.point_shape)
        point.flat[choose_feature(learner)] = 1.0
        others = choose_sample_size(self.learner) - 1
        sample = build_sample(np.stack([0 * point, point]), np.array([0, 1]), np.array([others, 1]))
        point = assign_new_user(point, sample, learner)
        yield Train(*change_example(sample, len(sample.counts) - 1, (point, 0), (point, 1), self.learner))
        gradient = np.zeros(learner.parameters)
        gradient[0] = learner.clip
        reply = yield Advance(1, [GradientCanary(point, 1, gradient)])
        return StepScore(LAST_BITS).of(reply.parameters)
