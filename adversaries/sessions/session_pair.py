"""session-pair: two lists of records that the user gives, told apart by what a session replies."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from adversaries.common.record_pairs import change_last_record, check_known_pair
from adversaries.sessions.repeated_queries import (
    SessionAdversary,
    check_queries,
    find_telling_queries,
    measure_effect,
    read_numbers,
    simulate_replies,
)
from arena import Ask, Moves, Train, setting
from arena.records import Records
from arena.referees.session_moves import QueryAt
from arena.released.encoding import hash_values
from arena.schemas.schema import spread_out

_MOST_QUERIES = 64  # that are simulated
_SIMULATED = 48  # sessions in each world, for each query
_MOST_ASKED = 8  # different queries of a game


@attrs.frozen
class SessionPair(SessionAdversary):
    """Two lists of records: the data and their neighbour, or the data with the last record changed; without
    data those of repeated-query. Asks the queries that tell them apart most, each once and then the clearest
    again.

    A query tells more if the mean of its replies differs more between simulated sessions, or how often a
    reply occurs. A distinguisher uses all replies of a game.
    """

    name = "session-pair"
    returns_score = False

    sample: Any = setting(None, help="the records of world 0; default: by simulation")
    neighbour: Any = setting(None, help="the records of world 1; default: world 0 with the last one changed")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        worlds = self.find_worlds()
        places = order_queries(self.learner, *worlds)
        yield Train(*worlds)
        for turn in range(self.number):
            yield Ask(QueryAt(places[turn] if turn < len(places) else places[0]))
        return None

    def find_worlds(self) -> tuple[Records, Records]:
        """The records of world 0 and of world 1. Raises: InvalidArgument unless they are neighbours."""
        if self.sample is None:
            return find_telling_queries(self.learner).worlds
        if self.neighbour is None:
            return change_last_record(self.sample, self.learner)
        check_known_pair(self.sample, self.neighbour, self.learner)
        return self.sample, self.neighbour


@lru_cache(maxsize=64)
def order_queries(learner: Any, world_0: Records, world_1: Records) -> tuple[int, ...]:
    """The places of the queries of a learner that tell two datasets apart, the clearest first, and at least
    one. Raises: InvalidArgument if the learner names no queries, or no data."""
    check_queries(learner)
    places = spread_out(range(len(learner.some_queries)), _MOST_QUERIES)
    replies = simulate_replies(learner, (world_0, world_1), places, _SIMULATED)
    numbers = np.stack([read_numbers(own).reshape(_SIMULATED, -1) for own in replies])
    numbers = np.where(np.isfinite(numbers).all(axis=(0, 1)), numbers, 0.0)
    effect = measure_effect(numbers) + _compare_frequencies(replies, len(places))
    order = np.argsort(-effect, kind="stable")[:_MOST_ASKED].tolist()
    telling = [place for place in order if effect[place] > effect[order[0]] / 4] or order[:1]
    return tuple(places[place] for place in telling)


def _compare_frequencies(replies: list[np.ndarray], number: int) -> np.ndarray:
    """(q,): by how many standard deviations the frequency of a reply differs at most between the worlds, of
    the replies that occur more than once, to each of the queries."""
    hashes = np.stack([hash_values(own).reshape(_SIMULATED, number) for own in replies])
    effect = np.zeros(number)
    for query in range(number):
        values, which = np.unique(hashes[:, :, query], return_inverse=True)
        counts = np.stack([np.bincount(own, minlength=len(values)) for own in which.reshape(2, -1)])
        repeated = counts[:, counts.sum(axis=0) > 1] / _SIMULATED
        share = repeated.mean(axis=0)
        spread = np.sqrt(share * (1 - share) + 1 / _SIMULATED)
        effect[query] = np.max(np.abs(repeated[1] - repeated[0]) / spread, initial=0.0)
    return effect
