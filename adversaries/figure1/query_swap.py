"""query-swap: one query differs between the worlds, and a later round, trained on the queries, is probed."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.figure1.later_round_swap import LaterRoundSwap, repeat_point
from arena import Moves, Queries, Query, Train


@attrs.frozen
class QuerySwap(LaterRoundSwap):
    """The challenge is a query: a point labelled 0 in world 0, and a point labelled 1 in world 1.

    The probes query the point labelled 1 in a later round. The score is the number of probes answered 1.
    """

    name = "query-swap"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample, low, high = self._choose_points()
        before, rest, between = self._count_queries()

        yield Train(sample)
        queries = before + 1 + rest + between + self.probes
        yield from self._give_unlabelled(queries, games, lambda size: repeat_point(low, size))
        yield from self._repeat(Queries, low, before, games)
        yield Query(low, high)  # world 0, world 1
        yield from self._repeat(Queries, low, rest, games)
        yield from self._repeat(Queries, high, between, games)
        return (yield from self._probe(high, games))
