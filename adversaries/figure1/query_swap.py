"""query-swap: one query differs, and a later round, trained on the queries, is asked about it."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.figure1.base import NextRounds, repeated
from adversaries.figure1.round_lengths import handed
from arena import Moves, Query, Train


@attrs.frozen
class QuerySwap(NextRounds):
    """The challenge is a query: a point labelled 0 in world 0, one labelled 1 in world 1. Every other
    query of the round is the former, so that the next round's examples hold a 1 in world 1 only; the
    probes ask for it there, or in the round after it.

    The score is the number of probes answered 1. `after` tells how many queries come before the probes:
    by default those that are left of the learner's rounds (`round(i).answers`), else 100.
    """

    name = "query-swap"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        sample = self._training
        low, high = self._points(sample)
        before, rest, between = self._waiting()

        yield Train(sample)
        queries = before + 1 + rest + between + self.probes
        yield from handed(self.learner, queries, games, lambda size: repeated(low, size))
        yield from self._asked(low, before, games)
        yield Query(low, high)  # world 0, world 1
        yield from self._asked(low, rest, games)
        yield from self._asked(high, between, games)
        return (yield from self._probed(high, games))
