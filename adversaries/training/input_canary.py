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
from arena import Advance, Adversary, InvalidArgument, Learner, Moves, Sample, Train, count_setting, setting
from arena.settings import more_than, one_of
from arena.step_scores import RATIO, StepScore

LOSS, MOVES = SCORES = ("loss", "moves")
FAR, MISLABELLED, BLANK = KINDS = ("far", "mislabelled", "blank")


@attrs.frozen
class InputCanary(Adversary):
    """One example that the adversary chooses, with the gradient of the learner's loss, is added or replaced.

    kind "far": its point lies along the coordinate in which the other examples are shortest. "mislabelled":
    its point is that of the example that is least like the others, by its leverage, and its label is the
    opposite. "blank": its point has the same number in all coordinates, as a blank image. Nasr and others,
    Adversary Instantiation: Lower Bounds for Differentially Private Machine Learning (2021). The others are
    the data that are given; by default they are at 0, or for "mislabelled" at the canary's point.

    The score is the negative loss of the canary, averaged over the models that are shown: with every=0,
    membership inference by the loss at the last model. With score="moves" it is the log likelihood ratio of
    the moves of the canary's margin, for a linear model and others that do not move it.
    """

    name = "input-canary"
    protocols = ("TrainingRun",)
    returns_score = True

    kind: str = setting(FAR, help="what the canary is: far, mislabelled or blank", check=one_of(*KINDS))
    length: float = setting(
        10.0, unit="point", help="the length of the point of a far or blank canary", check=more_than(0)
    )
    score: str = setting(
        LOSS, help="what is scored: loss, or moves between models that are all shown", check=one_of(*SCORES)
    )
    every: int = count_setting(1, help="the adversary sees every k-th model; 0: the last one only", least=0)
    sample: Sample | None = setting(None, help="the data, of which the last example is the canary's place")
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        learner = read_steps(self, self.learner)
        if self.score == MOVES and self.every != 1:
            raise InvalidArgument(
                "moves can be scored only if every model is shown",
                value=f"every={self.every}",
                remedy="Set every=1, or score=loss.",
            )
        point, label, sample = self._choose_canary(learner.point_shape)
        yield Train(
            *change_example(sample, len(sample.counts) - 1, (point, 1 - label), (point, label), self.learner)
        )
        reply = yield Advance()
        models = [np.zeros((games, learner.parameters)), *np.swapaxes(reply.parameters, 0, 1)]
        points, labels = np.stack([point, point]), np.array([label, 1 - label])
        losses = np.stack([learner.losses(model, points, labels) for model in models], axis=1)
        if self.score == LOSS:
            return -losses[:, 1:, 0].mean(axis=1)
        margins = losses[:, :, 1] - losses[:, :, 0]
        places = (margins[:, :1] - margins[:, 1:]) / np.linalg.norm(point)  # along the canary's gradient
        return StepScore.for_canary(RATIO, learner).of(places[:, :, None])

    def _choose_canary(self, shape: tuple[int, ...]) -> tuple[np.ndarray, int, Sample]:
        """The canary's point and label, and the data."""
        point = np.zeros(shape)
        others = choose_sample_size(self.learner) - 1
        if self.kind == MISLABELLED:
            sample = self.sample
            if sample is None:
                point.flat[choose_feature(self.learner)] = 1.0
                sample = build_sample(np.stack([point, point]), np.zeros(2, int), np.array([others, 1]))
            run = _find_outlier(sample)
            return sample.points[run], 1 - int(sample.labels[run]), sample
        if self.kind == FAR:
            point.flat[choose_feature(self.learner, self.sample)] = self.length
        else:
            point += self.length / np.sqrt(point.size)
        sample = self.sample or build_sample(
            np.stack([0 * point, point]), np.zeros(2, int), np.array([others, 1])
        )
        return point, 1, sample


def _find_outlier(sample: Sample) -> int:
    """The run whose points have the greatest leverage in a linear regression on the sample."""
    points = sample.points.reshape(len(sample.points), -1)
    inverse = np.linalg.pinv((points.T * sample.counts) @ points, hermitian=True)
    return int(((points @ inverse) * points).sum(axis=1).argmax())
