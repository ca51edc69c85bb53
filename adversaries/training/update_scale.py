"""update-scale: how long the steps are, where no example has a gradient."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.common.training_samples import build_sample, change_example, choose_sample_size
from arena import Advance, Adversary, Learner, Moves, Sample, Train, setting
from arena.step_scores import LENGTH, StepScore


@attrs.frozen
class UpdateScale(Adversary):
    """The empty-gradient game: all points are 0, so that no example has a gradient, and one is added.

    What the learner adds is then noise alone. A learner that divides by the real number of examples, or
    chooses noise by it, shows that number in the length of its steps: Opacus does
    (https://github.com/pytorch/opacus/issues/571). The score is ln of the sum of their squares, negative, so
    that shorter steps look like world 1, which has the example. If `sample` is given, its examples keep their
    gradients, and only the added one has none.
    """

    name = "update-scale"
    protocols = ("TrainingRun",)
    returns_score = True

    sample: Sample | None = setting(
        None, help="the data, of which the last example is the place of the empty one"
    )
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        shape = () if self.learner is None else self.learner.point_shape
        empty = np.zeros(shape)
        sample = self.sample
        if sample is None:
            size = choose_sample_size(self.learner)
            sample = build_sample(np.stack([empty, empty]), np.array([0, 1]), np.array([size - 1, 1]))
        yield Train(*change_example(sample, len(sample.counts) - 1, (empty, 0), (empty, 1), self.learner))
        reply = yield Advance()
        return StepScore(LENGTH, sign=-1).of(reply.parameters)
