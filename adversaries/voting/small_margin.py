"""small-margin: queries the point where votes are closest, and swaps the example that turns them."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.voting.vote_swaps import VotingAdversary, find_narrowest_swap
from arena import Moves, PrivacyUnit, setting
from arena.capabilities import HasCriticalMargin


@attrs.frozen
class SmallMargin(VotingAdversary):
    """One vote more or less at the point where the votes are closest, which is queried repeatedly.

    The adversary simulates the learner, examines the votes at points of the sample and of the domain, and
    plants examples there, labelled 0 in world 0 and 1 in world 1. It chooses the example that turns the
    majority, or else changes the votes where they are closest to `below`.

    Against thresholded Gaussian counts, a single answer is most informative at a tie, and an answer 1 far
    below the tie is rarer and more informative (docs/voting.md). Where the sparse vector screens votes, the
    margin to its threshold matters: the learner's `critical_margin`.

    The score is the log-likelihood ratio of the answers if the learner's output distribution is known, and
    otherwise the number of answers 1. Raises: InvalidArgument if no example that was tried changes a vote.
    """

    name = "small-margin"
    usual_for = (PrivacyUnit.TRAINING_EXAMPLE,)

    below: float | None = setting(
        None, unit="votes", help="the aim, below the tie; default: where an answer is most informative"
    )

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        critical = self.learner.critical_margin if isinstance(self.learner, HasCriticalMargin) else 0.0
        below = critical if self.below is None else self.below
        swap = find_narrowest_swap(self.learner, self.sample, below=below)
        return (yield from self._query_in_turn(swap.samples, swap.point[None], games)).score
