"""query-swap: one query differs between the worlds, and a later round, trained on the queries, is probed."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.figure1.later_round_swap import LaterRoundSwap, repeat_point
from arena import Moves, Queries, Query, Train


@attrs.frozen
class QuerySwap(LaterRoundSwap):
    """The challenge is a query: a point labelled 0 in world 0, and a point labelled 1 in world 1.

    All other queries of the round are at the former, so the next round's training examples hold a label 1 in
    world 1 only. The probes query the point labelled 1 in the next round, or in the round after it. The score
    is the number of probes answered 1.

    `after` is the number of queries between the challenge and the probes: by default the rest of the
    learner's rounds (`round(i).answers`), or 100 if it has no rounds.
    """

    name = "query-swap"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self._training_set
        low, high = self._choose_points(sample)
        before, rest, between = self._count_queries()

        yield Train(sample)
        queries = before + 1 + rest + between + self.probes
        yield from self._give_unlabelled(queries, games, lambda size: repeat_point(low, size))
        yield from self._repeat(Queries, low, before, games)
        yield Query(low, high)  # world 0, world 1
        yield from self._repeat(Queries, low, rest, games)
        yield from self._repeat(Queries, high, between, games)
        return (yield from self._probe(high, games))
