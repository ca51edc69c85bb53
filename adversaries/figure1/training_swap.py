"""training-swap: one training example has another label, and is queried where that shows most."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.common.training_samples import build_tied_sample, swap_nearest_label
from adversaries.figure1.base import Figure1Adversary
from adversaries.figure1.vote_points import choose_step, find_split_point
from arena import Moves, PrivacyUnit, Query, Sample, Train, count_setting, setting


@attrs.frozen
class TrainingSwap(Figure1Adversary):
    """The training sets differ in the label of one example at the decision point, which is then queried.

    An example at `point` is labelled 0 in world 0 and 1 in world 1. The score is the number of answers 1.
    """

    name = "training-swap"
    usual_for = (PrivacyUnit.TRAINING_EXAMPLE,)

    queries: int = count_setting(100, help="queries at the decision point")
    point: float | None = setting(None, unit="point", help="the decision point; default: where the votes tie")
    step: float | None = setting(
        None,
        unit="point",
        help="distance of a tied query from the one before; default: 0, or small if answers are remembered",
    )
    sample: Sample | None = setting(None, help="the training set; default: one point with both labels")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self.sample or build_tied_sample(self.learner)
        point = find_split_point(self.learner, sample) if self.point is None else self.point
        step = choose_step(self.learner, self.step)

        yield Train(*swap_nearest_label(sample, point, learner=self.learner))
        ones = np.zeros(games)
        for query in range(self.queries):
            reply = yield Query(point + query * step)
            ones += reply.label == 1
        return ones
