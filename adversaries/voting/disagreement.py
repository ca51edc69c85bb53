"""disagreement: walks through the region in which the teachers disagree, led by their answers."""

from __future__ import annotations

from functools import lru_cache

import attrs
import numpy as np

from adversaries.common.answer_likelihood import Judge
from adversaries.voting.base import Nature
from adversaries.voting.teacher_votes import Samples, candidates, narrowest_swap, on_ladder, votes_of
from arena import InvalidArgument, Learner, Moves, Query, Sample, Train


@attrs.frozen
class Disagreement(Nature):
    """Asks only where some teachers say 0 and some say 1, and goes on from what it is told: after an answer 1
    to the point with the next fewer votes for 1, after an answer 0 to that with the next more, after ⊥ to the
    same again.

    That is the up-and-down method: every game finds the tie by itself and stays near it, starting from the
    middle of the region. One example, at the point where votes are closest, is labelled 0 in world 0 and 1 in
    world 1.

    The score is the log-likelihood ratio of the answers where the learner tells its law; else how far down
    the games were led, on average. Raises: as small-margin does.
    """

    name = "disagreement"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        region = disputed(self.learner, self.sample)
        judge = Judge(self.learner, region.samples, region.points, games)
        last = len(region.points) - 1
        place = np.full(games, last // 2)
        led = np.zeros(games)
        yield Train(*region.samples)
        for _ in range(self.questions):
            reply = yield Query(region.points[place])
            judge.take(place, reply)
            place = np.clip(place + (reply.label == 0) - (reply.label == 1), 0, last)
            led -= place
        return judge.score if judge.knows else led


@attrs.frozen(eq=False)
class Region:
    """Neighbouring samples, and points (m, ...) at which teachers disagree, by votes for 1, which rise."""

    samples: Samples
    points: np.ndarray


@lru_cache(maxsize=32)
def disputed(learner: Learner | None, sample: Sample | None) -> Region:
    """Where the teachers disagree in either world, one point for each number of votes.

    Raises: as `narrowest_swap`.
    """
    try:
        swap = narrowest_swap(learner, on_ladder(learner) if sample is None else sample)
    except InvalidArgument:
        if sample is not None:
            raise
        swap = narrowest_swap(learner, None)
    points = candidates(learner, swap.samples[0])
    votes = votes_of(learner, swap.samples, points).mean(axis=0)
    levels, first = np.unique(votes, return_index=True)
    # The point that tells the worlds apart stands for the others with as many votes.
    same = np.flatnonzero((points == swap.point).reshape(len(points), -1).all(axis=1))
    first = np.where(np.isin(levels, votes[same]), same[0] if len(same) else 0, first)
    return Region(swap.samples, points[first[(levels > 0) & (levels < 1)]])
