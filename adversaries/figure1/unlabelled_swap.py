"""unlabelled-swap: one unlabelled point differs, and a later round, trained on it, is probed."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.figure1.base import count_unlabelled
from adversaries.figure1.query_swap import LaterRoundSwap, repeat_point
from arena import Moves, PrivacyUnit, Queries, Train, Unlabelled
from arena.capabilities import AnswersInRounds


@attrs.frozen
class UnlabelledSwap(LaterRoundSwap):
    """query-swap for learners that learn from fresh unlabelled points: the challenge is one of these points.

    The probes query the point labelled 1 in a later round. The score is the number of probes answered 1.
    """

    name = "unlabelled-swap"
    usual_for = (PrivacyUnit.UNLABELLED_EXAMPLE,)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample, low, high = self._choose_points()
        before, rest, between = 0, 0, 0
        if isinstance(self.learner, AnswersInRounds):
            before, rest, between = self._divide_rounds(self.learner.pool_size, "points")

        yield Train(sample)
        yield from self._repeat(Unlabelled, low, before, games)
        yield Unlabelled(repeat_point(low, 1), repeat_point(high, 1))  # world 0, world 1
        yield from self._repeat(Unlabelled, low, rest, games)
        yield from self._repeat(Unlabelled, high, between, games)
        queries = sum(self._count_queries()) + 1
        # The probes may extend over several rounds, which need further points.
        more = count_unlabelled(self.learner, queries + self.probes) - (before + 1 + rest + between)
        yield from self._repeat(Unlabelled, low, max(0, more), games)
        yield from self._repeat(Queries, low, queries, games)
        return (yield from self._probe(high, games))
