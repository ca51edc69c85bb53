"""canary: one example at a point of its own, whose label shows in the vote of one teacher."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import attrs
import numpy as np

from adversaries.common.training_samples import build_two_label_sample, find_runs_at, plant_example, thin_out
from adversaries.voting.vote_swaps import (
    Candidate,
    VoteSwap,
    VotingAdversary,
    choose_best_swap,
    choose_candidates,
    choose_ladder,
    sample_size_of,
)
from arena import InvalidArgument, Learner, Moves, Sample
from arena.players import finite_domain

_LADDER_POINTS = 5  # of the ladder that are tried


@attrs.frozen
class Canary(VotingAdversary):
    """The last example is moved to a point of its own, labelled 0 in world 0 and 1 in world 1.

    This point, the canary's, is queried repeatedly. Without data, all other examples are at one other point
    and have both labels equally often, so that their teachers tie at the canary's point too, and its own
    teacher decides. In the user's data the canary lies beyond the other examples, twice as far from their
    middle as any of them, or at a free point of a finite domain. Among several free points, it is the one at
    which the votes are closest.

    The score is the log-likelihood ratio of the answers if the learner's output distribution is known, and
    otherwise the number of answers 1. Raises: InvalidArgument if no point is free, or the canary changes no
    vote at any of them.
    """

    name = "canary"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        swap = find_canary(self.learner, self.sample)
        return (yield from self._query_in_turn(swap.samples, swap.point[None], games)).score


@lru_cache(maxsize=32)
def find_canary(learner: Learner | None, sample: Sample | None) -> VoteSwap:
    """The best canary in the user's sample, or in one that the adversary builds."""
    if sample is None:
        return choose_best_swap(learner, _build_candidates(learner))
    last, points = len(sample.counts) - 1, find_free_points(learner, sample)
    return choose_best_swap(
        learner, ((plant_example(sample, last, point, learner), point) for point in points)
    )


def find_free_points(learner: Learner | None, sample: Sample) -> np.ndarray:
    """(m, ...): points that the learner accepts and that are not in the sample.

    Raises: InvalidArgument if there is none.
    """
    if finite_domain(learner) is None:
        low, high = sample.points.min(axis=0), sample.points.max(axis=0)
        middle, reach = (high + low) / 2, np.maximum(high - low, 1.0)
        points = np.stack([middle - reach, middle + reach])
    else:
        points = choose_candidates(learner, sample)
        points = points[[not find_runs_at(sample, point).any() for point in points]]
    if not len(points):
        raise InvalidArgument(
            "a canary needs a point without examples, and the sample has examples at all of them",
            remedy="Choose a concept class with a larger domain, or bring no data.",
        )
    return points


def _build_candidates(learner: Learner | None) -> Iterator[Candidate]:
    """One canary, and all other examples at one other point, as many labelled 1 as 0."""
    points = thin_out(choose_ladder(learner), _LADDER_POINTS)
    size = sample_size_of(learner)
    for other in points:
        sample = build_two_label_sample(other, size, (size - 1) // 2)
        # Run 0 is labelled 0, so the canary takes the place of an example labelled 0.
        for point in points:
            if (point != other).any():
                yield plant_example(sample, 0, point, learner), point
