"""input-canary: an example that is unlike the others, or has the wrong label, and the moves of the models."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.common.training_samples import (
    build_sample,
    change_example,
    choose_feature,
    choose_sample_size,
)
from adversaries.training.known_steps import read_steps
from arena import Advance, Adversary, Learner, Moves, Sample, Train, setting
from arena.settings import at_least, more_than, one_of, whole

FAR, MISLABELLED, BLANK = KINDS = ("far", "mislabelled", "blank")


@attrs.frozen
class InputCanary(Adversary):
    """One example that the adversary chooses, with the gradient of the learner's loss, is added or replaced.

    kind "far": its point is `length` along the first coordinate, and the other examples are at 0.
    "mislabelled": its point is that of the commonest example, its label the opposite. "blank": its point has
    the same small number in all coordinates, which is what a blank image is. Nasr and others, Adversary
    Instantiation: Lower Bounds for Differentially Private Machine Learning (2021).

    The score is how much smaller the loss of the canary is at the models that are shown than at 0, on
    average.
    """

    name = "input-canary"
    protocols = ("TrainingRun",)
    returns_score = True

    kind: str = setting(FAR, help="what the canary is: far, mislabelled or blank", check=one_of(*KINDS))
    length: float = setting(10.0, unit="point", help="how far a far canary is from 0", check=more_than(0))
    every: int = setting(
        1, help="the adversary sees every k-th model; 0: the last one only", check=[whole, at_least(0)]
    )
    sample: Sample | None = setting(None, help="the data, of which the last example is the canary's place")
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        learner = read_steps(self, self.learner)
        point, label, sample = self._choose_canary(learner.point_shape)
        yield Train(
            *change_example(sample, len(sample.counts) - 1, (point, 1 - label), (point, label), self.learner)
        )
        total = np.zeros(games)
        reply = yield Advance()
        for model in np.swapaxes(reply.parameters, 0, 1):
            total -= learner.losses(model, point[None], np.array([label]))[:, 0]
        return total

    def _choose_canary(self, shape: tuple[int, ...]) -> tuple[np.ndarray, int, Sample]:
        """The canary's point and label, and the data."""
        point = np.zeros(shape)
        if self.kind == FAR:
            point.flat[choose_feature(self.learner)] = self.length
        elif self.kind == BLANK:
            point += 1 / np.sqrt(point.size)
        others = choose_sample_size(self.learner) - 1
        if self.kind == MISLABELLED:
            sample = self.sample
            if sample is None:
                point.flat[choose_feature(self.learner)] = 1.0
                sample = build_sample(np.stack([point, point]), np.zeros(2, int), np.array([others, 1]))
            run = int(sample.counts.argmax())
            return sample.points[run], 1 - int(sample.labels[run]), sample
        empty = np.zeros(shape)
        sample = self.sample or build_sample(
            np.stack([empty, point]), np.zeros(2, int), np.array([others, 1])
        )
        return point, 1, sample
