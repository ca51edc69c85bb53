"""canary: one example at a point that no other touches, of whose label one teacher's vote there is all that
remains.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import attrs
import numpy as np

from adversaries.voting.base import Nature
from adversaries.voting.teacher_votes import (
    Swap,
    Tried,
    best_swap,
    candidates,
    ladder,
    planted,
    size_of,
    two_labels,
)
from arena import InvalidArgument, Learner, Moves, Sample
from arena.points import finite_domain


@attrs.frozen
class Canary(Nature):
    """The last example of the sample is put at a point of its own, labelled 0 in world 0 and 1 in world 1,
    and that point is asked again and again.

    Without data all other examples lie at one other point and carry both labels half the time, so that their
    teachers tie at the canary's too and its teacher decides. In the user's data the canary is the last
    example, moved beyond the others: twice as far from their middle as any, or to a point of a finite domain
    that is free. Where several points are free it is the one at which the votes are closest.

    The score is the log-likelihood ratio of the answers where the learner tells its law, else the number of
    answers 1. Raises: InvalidArgument if no point is free, or at none of them the canary changes a vote.
    """

    name = "canary"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        swap = canary_in(self.learner, self.sample)
        return (yield from self._again_and_again(swap, games))


@lru_cache(maxsize=32)
def canary_in(learner: Learner | None, sample: Sample | None) -> Swap:
    """The best canary in the user's sample, or in one of nature's own."""
    tried = _alone(learner) if sample is None else _beyond(learner, sample)
    return best_swap(learner, tried)


def _alone(learner: Learner | None) -> Iterator[Tried]:
    """One canary, and all other examples at one other point, as many labelled 1 as 0."""
    points = ladder(learner)
    some = points[np.unique(np.linspace(0, len(points) - 1, 5).astype(int))]
    for other in some:
        crowd = two_labels(other, size_of(learner), (size_of(learner) - 1) // 2)
        # The last run is labelled 1, if any are: the canary takes the place of one labelled 0.
        for point in some:
            if (point != other).any():
                yield planted(crowd, 0, point), point


def _beyond(learner: Learner | None, sample: Sample) -> Iterator[Tried]:
    last = len(sample.counts) - 1
    for point in free_points(learner, sample):
        yield planted(sample, last, point), point


def free_points(learner: Learner | None, sample: Sample) -> np.ndarray:
    """(m, ...): points that the learner takes and the sample has not.

    Raises: InvalidArgument if there is none.
    """
    if finite_domain(learner) is None:
        middle = (sample.points.max(axis=0) + sample.points.min(axis=0)) / 2
        reach = np.maximum(sample.points.max(axis=0) - sample.points.min(axis=0), 1.0)
        points = np.stack([middle - reach, middle + reach])
    else:
        points = candidates(learner, sample)
        held = (points[:, None] == sample.points).reshape(len(points), len(sample.points), -1)
        points = points[~held.all(axis=2).any(axis=1)]
    if not len(points):
        raise InvalidArgument(
            "a canary needs a point that no other example touches, and the sample has them all",
            remedy="Choose a concept class with a larger domain, or bring no data.",
        )
    return points
