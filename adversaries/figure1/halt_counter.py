"""halt-counter and training-swap: the points where votes agree and where they tie are queried."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.common.training_samples import build_tied_sample, swap_nearest_label
from adversaries.figure1.base import (
    Figure1Adversary,
    choose_step,
    find_split_point,
    find_vote_points,
    read_halts,
)
from arena import Moves, PrivacyUnit, Query, Sample, Train, count_setting, setting

@attrs.frozen
class TiedQueries(Figure1Adversary):
    """Base of the adversaries that query where the votes tie."""

    step: float | None = setting(
        None,
        unit="point",
        help="distance of a tied query from the one before; default: 0, or small if answers are remembered",
    )
    sample: Sample | None = setting(None, help="the training set; default: one point with both labels")


@attrs.frozen
class HaltCounter(TiedQueries):
    """Uses up the halting budget except for one unit, which the challenge uses up in world 1 only.

    Made for the first version of GenericBBL, which halts after exactly c outcomes above the threshold. At
    `split` the votes tie, so that a query costs one such outcome. At `clear` they agree, and it costs none.
    After c − 1 queries at `split`, the challenge is `clear` in world 0 and `split` in world 1. Its label is
    withheld, but in world 1 it was the c-th outcome. The score is 1 if the learner has halted.
    """

    name = "halt-counter"

    budget: int | None = count_setting(None, help="c; default: the learner's `halts`, or 8")
    split: float | None = setting(
        None, unit="point", help="where the votes tie; default: found by simulation"
    )
    clear: float | None = setting(
        None, unit="point", help="where the votes agree; default: found by simulation"
    )

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self.sample or build_tied_sample(self.learner)
        points = find_vote_points(self.learner, sample)
        split = points.split if self.split is None else self.split
        clear = points.clear if self.clear is None else self.clear
        budget = self.budget or read_halts(self.learner)
        step = choose_step(self.learner, self.step)

        yield Train(sample)  # the same in both worlds
        for query in range(budget - 1):
            yield Query(split + query * step)
        yield Query(clear, split + (budget - 1) * step)  # world 0, world 1; the label is withheld
        reply = yield Query(clear)
        return reply.halted


@attrs.frozen
class TrainingSwap(TiedQueries):
    """The training sets differ in the label of one example at the decision point, which is then queried.

    An example at `point` is labelled 0 in world 0 and 1 in world 1. The score is the number of answers 1.
    """

    name = "training-swap"
    usual_for = (PrivacyUnit.TRAINING_EXAMPLE,)

    queries: int = count_setting(100, help="queries at the decision point")
    point: float | None = setting(None, unit="point", help="the decision point; default: where the votes tie")

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
