"""repeated-query, query-difference and threshold-walk: queries whose answers differ between the worlds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import attrs
import numpy as np

from arena import Adversary, Ask, InvalidArgument, Learner, Moves, Train, Training, count_setting, setting
from arena.capabilities import read_schema
from arena.claims import Neighbours
from arena.players import read_relation_of
from arena.randomness import block_seed, generator
from arena.records import Records
from arena.referees.session_moves import QueryAt
from arena.released.encoding import encode_values, is_category
from arena.schemas.schema import Schema

_MOST_QUERIES = 24  # that are simulated
_SIMULATED = 128  # sessions in each world, for each query
_USUAL_TIMES, _MOST_TIMES = 16, 64  # that queries are asked
_LEAST_SPREAD = 1e-9
_DECIMALS = 9  # of differences of answers, whose last bits could show the world


@attrs.frozen(eq=False)
class TellingQueries:
    """Neighbouring data, and by their places the queries that tell them apart, the clearest first, and one
    whose answers are alike.

    centre, change: (k,) the median of the answers to each, and by how much their mean is larger in world 1.
    effect: of the clearest, in mean deviations. contrast: the same, less that of the other query.
    """

    worlds: tuple[Records, Records]
    places: tuple[int, ...]
    still: int
    centre: np.ndarray
    change: np.ndarray
    effect: float
    contrast: float

    def weigh(self, value: np.ndarray, which: np.ndarray | int) -> np.ndarray:
        """(n,): the log likelihood ratio of the replies to the queries `which`, up to a factor, if their
        noise is of Laplace; 0 for replies that are no numbers."""
        half = np.abs(self.change[which]) / 2
        moved = np.clip(np.nan_to_num(read_numbers(value) - self.centre[which]), -half, half)
        return np.sign(self.change[which]) * moved


@lru_cache(maxsize=64)
def find_telling_queries(learner: Any, contrast: bool = False) -> TellingQueries:
    """Simulate sessions of one query each, with coins of its own, and compare the answers that are numbers.

    contrast: whether some query is to tell nothing. Raises: InvalidArgument if the learner names no queries,
    or no data."""
    schema = check_queries(learner)
    number = min(_MOST_QUERIES, len(learner.some_queries))
    compared = [_compare_answers(learner, worlds, number) for worlds in _list_worlds(learner, schema)]
    return max(compared, key=lambda telling: telling.contrast if contrast else telling.effect)


def check_queries(learner: Any) -> Schema:
    """The schema of a learner of sessions. Raises: InvalidArgument if it names no queries, or no data."""
    schema = None if learner is None else read_schema(learner)
    if schema is None or not getattr(learner, "some_queries", ()):
        raise InvalidArgument(
            "queries are chosen among those that the learner names, and data by its schema",
            remedy="Play against a learner of sessions, such as one of audits.session.",
        )
    return schema


def _list_worlds(learner: Learner, schema: Any) -> list[tuple[Records, Records]]:
    """World 1 has a record more, the first or the last of the examples, or the last in place of the first."""
    first, last = schema.examples[0], schema.examples[-1]
    rest = [first] * max(schema.min_size, 0)
    if read_relation_of(learner).kind is Neighbours.ADD_OR_REMOVE_ONE and schema.allows_size(len(rest) + 1):
        return [(Records(rest), Records([*rest, record])) for record in (first, last)]
    return [(Records([*rest[1:], first]), Records([*rest[1:], last]))]


def _compare_answers(learner: Any, worlds: tuple[Records, Records], number: int) -> TellingQueries:
    replies = simulate_replies(learner, worlds, range(number), _SIMULATED)
    numbers = np.stack([read_numbers(own).reshape(_SIMULATED, number) for own in replies])
    known = np.isfinite(numbers).all(axis=(0, 1))
    numbers = np.where(known, numbers, 0.0)
    centre, change = np.median(numbers, axis=(0, 1)), np.diff(numbers.mean(axis=1), axis=0)[0]
    effect = measure_effect(numbers)
    order = np.argsort(-effect, kind="stable").tolist()
    places = [place for place in order if effect[place] > effect[order[0]] / 2] or order[:1]
    return TellingQueries(
        worlds=worlds,
        places=tuple(places),
        still=order[-1],
        centre=centre[places],
        change=change[places],
        effect=float(effect[order[0]]),
        contrast=float(effect[order[0]] - effect[order[-1]]),
    )


def simulate_replies(
    learner: Any, worlds: tuple[Records, Records], places: Sequence[int], sessions: int
) -> list[np.ndarray]:
    """The encoded replies in each world to the q queries at these places, `sessions` replies to each.

    Each reply comes from a session of its own, with its own random numbers; reply s·q + k is to query k.
    """
    games = len(places) * sessions
    queries = [QueryAt(places[game % len(places)]) for game in range(games)]
    replies = []
    for records in worlds:
        state = learner.start(games, generator(block_seed(0, 0)))
        state.open_sessions(Training.of([records], np.zeros(games, np.intp)))
        replies.append(encode_values(state.ask(0, queries, np.ones(games, bool))))
    return replies


def measure_effect(numbers: np.ndarray) -> np.ndarray:
    """(q,): by how many mean deviations the means of replies (2, sessions, q) differ between the worlds."""
    change = np.diff(numbers.mean(axis=1), axis=0)[0]
    spread = np.abs(numbers - np.median(numbers, axis=(0, 1))).mean(axis=(0, 1))
    return np.asarray(np.abs(change) / (spread + _LEAST_SPREAD))


def read_numbers(value: np.ndarray) -> np.ndarray:
    """(n,): the replies that are numbers; nan for all others."""
    flat = np.asarray(value, np.float64)
    if flat.ndim != 1:
        return np.full(len(flat), np.nan)
    return np.where(is_category(flat) | ~np.isfinite(flat), np.nan, flat)


@attrs.frozen
class SessionAdversary(Adversary):
    """Base of adversaries that choose data and queries by simulating the learner."""

    protocols = ("Session",)
    returns_score = True

    times: int | None = count_setting(None, help="queries of a game; default: the learner's rounds, or 16")
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    @property
    def number(self) -> int:
        """The queries of a game."""
        return self.times or min(getattr(self.learner, "rounds", None) or _USUAL_TIMES, _MOST_TIMES)


@attrs.frozen
class RepeatedQuery(SessionAdversary):
    """Asks the query that tells most again and again, and adds up the answers, each clipped to the stretch
    between its medians in the two worlds. It shows budgets that are not charged."""

    name = "repeated-query"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        telling, score = find_telling_queries(self.learner), np.zeros(games)
        yield Train(*telling.worlds)
        for _ in range(self.number):
            reply = yield Ask(QueryAt(telling.places[0]))
            score += telling.weigh(reply.value, 0)
        return score


@attrs.frozen
class QueryDifference(SessionAdversary):
    """Asks the query that tells most and one that tells nothing. The score is by how much the answers differ,
    which noise that they share does not hide."""

    name = "query-difference"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        telling = find_telling_queries(self.learner, contrast=True)
        yield Train(*telling.worlds)
        first = yield Ask(QueryAt(telling.places[0]))
        second = yield Ask(QueryAt(telling.still))
        difference = np.round(read_numbers(first.value) - read_numbers(second.value), _DECIMALS)
        return np.sign(telling.change[0]) * np.nan_to_num(difference)


@attrs.frozen
class ThresholdWalk(SessionAdversary):
    """Asks a query that tells the worlds apart again until its answer is above the middle, and then the next
    one; it adds up the answers. It shows charges that depend on answers."""

    name = "threshold-walk"

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        telling, score = find_telling_queries(self.learner), np.zeros(games)
        which = np.zeros(games, np.intp)
        query, *choices = map(QueryAt, telling.places)
        yield Train(*telling.worlds)
        for _ in range(self.number):
            reply = yield Ask(query, choices=choices, which=which)
            score += telling.weigh(reply.value, which)
            is_above = np.nan_to_num(read_numbers(reply.value), nan=-np.inf) > telling.centre[which]
            which = (which + is_above) % len(telling.places)
        return score
