"""disagreement: walks through the region where teachers disagree, guided by the answers."""

from __future__ import annotations

from functools import lru_cache

import attrs
import numpy as np

from adversaries.common.answer_likelihood import AnswerLikelihood
from adversaries.voting.vote_swaps import (
    Samples,
    VotingAdversary,
    build_ladder_sample,
    choose_candidates,
    find_narrowest_swap,
    simulate_votes,
)
from arena import InvalidArgument, Learner, Moves, Query, Sample, Train


@attrs.frozen
class DisagreementWalk(VotingAdversary):
    """Queries only points where teachers disagree, and moves by the up-and-down method.

    After an answer 1 it moves to the point with the next fewer votes for 1, after an answer 0 to the point
    with the next more votes, and after an unstable answer it stays. So every game starts at the point closest
    to a tie and stays near it. One example, at the point where votes are closest, is labelled 0 in world 0
    and 1 in world 1.

    The score is the log-likelihood ratio of the answers if the learner's output distribution is known, and
    otherwise the mean position in the walk, negated. Raises: as small-margin.
    """

    name = "disagreement"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        region = find_disputed_region(self.learner, self.sample)
        likelihood = AnswerLikelihood(self.learner, region.samples, region.points, games)
        last = len(region.points) - 1
        position = np.full(games, region.start)
        descent = np.zeros(games)
        yield Train(*region.samples)
        for _ in range(self.query_count):
            reply = yield Query(region.points[position])
            likelihood.add(position, reply)
            position = np.clip(position + (reply.label == 0) - (reply.label == 1), 0, last)
            descent -= position
        return likelihood.score if likelihood.is_known else descent


@attrs.frozen(eq=False)
class DisputedRegion:
    """Neighbouring samples, and points (m, ...) at which teachers disagree, by increasing votes for 1.

    start: the index of the point at which the votes are closest to a tie.
    """

    samples: Samples
    points: np.ndarray
    start: int


@lru_cache(maxsize=32)
def find_disputed_region(learner: Learner | None, sample: Sample | None) -> DisputedRegion:
    """The points at which teachers disagree in either world, one for each number of votes.

    Raises: as `find_narrowest_swap`.
    """
    try:
        swap = find_narrowest_swap(learner, build_ladder_sample(learner) if sample is None else sample)
    except InvalidArgument:
        if sample is not None:
            raise
        swap = find_narrowest_swap(learner, None)
    points = choose_candidates(learner, swap.samples[0])
    votes = simulate_votes(learner, swap.samples, points).mean(axis=0)
    levels, first = np.unique(votes, return_index=True)
    # The point of the swap is preferred to others with as many votes.
    same = np.flatnonzero((points == swap.point).reshape(len(points), -1).all(axis=1))
    first = np.where(np.isin(levels, votes[same]), same[0] if len(same) else 0, first)
    disputed = (levels > 0) & (levels < 1)
    start = int(np.abs(levels[disputed] - 0.5).argmin())
    return DisputedRegion(swap.samples, points[first[disputed]], start)
