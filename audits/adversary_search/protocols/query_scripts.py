"""Searches under Figure1, Voting and Release: neighbouring samples, and queries that depend on answers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import Any, ClassVar

import attrs
import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from arena import (
    REFEREES,
    Figure1,
    Learner,
    Move,
    PrivacyUnit,
    Query,
    Release,
    Sample,
    Unlabelled,
    Voting,
    play,
)
from arena.capabilities import read_schema
from arena.players import read_relation_of
from arena.records import Records
from arena.released.encoding import ABSENT, name_suffix
from audits.adversary_search.code_constants import list_code_values
from audits.adversary_search.obvious_scripts import list_obvious_samples
from audits.adversary_search.point_strategies import (
    MAX_STRETCHES,
    MEMORIES,
    PATTERNS,
    counts_of,
    draw_points,
    list_of,
    place_challenge,
    sample_from,
    shorten_steps,
    stretches_around,
    two_points,
)
from audits.adversary_search.records.obvious_records import list_obvious, list_simpler
from audits.adversary_search.records.record_strategies import check_relation, neighbouring_records
from audits.adversary_search.records.size_boundaries import find_boundaries
from audits.adversary_search.script import (
    LAST_IS_1,
    SPACES,
    AnswerHistory,
    Memory,
    Point,
    Script,
    SearchSpace,
    Step,
    as_point,
    select_points,
)
from audits.adversary_search.script_strategies import (
    MAX_QUERIES,
    cut_runs,
    draw_neighbours,
    make_neighbours,
    neighbours,
    samples,
)
from audits.distinguishers.view_features import INFINITE, view_features

_MOST_OBVIOUS = 40  # pairs of lists of records
_KIND_GAMES = 4  # that show of what kind releases are
_CLEAR_SIZES = (20, 1_000)  # of samples whose answers are to be clear


@attrs.frozen
class QueryStep(Step):
    """A step of queries, whose answers are labels."""

    def read_answer(self, last: Any, reply: Any) -> np.ndarray:
        return np.asarray(reply.label == 1)


@attrs.frozen
class Ask(QueryStep):
    """Figure1, Voting: query `point`, `times` times."""

    point: Point = attrs.field(converter=as_point)
    times: int = 1

    def move(self, last: Any, now: np.ndarray, history: AnswerHistory) -> Move:
        return Query(self.point)


@attrs.frozen
class Follow(QueryStep):
    """Figure1, Voting: query `one` in the games in which `when` holds and `zero` elsewhere, `times` times."""

    one: Point = attrs.field(converter=as_point)
    zero: Point = attrs.field(converter=as_point)
    times: int = 1
    when: Memory = LAST_IS_1

    def move(self, last: Any, now: np.ndarray, history: AnswerHistory) -> Move:
        return Query(select_points(history.holds(self.when), self.one, self.zero))


@attrs.frozen
class Challenge(QueryStep):
    """Figure1: query `world_0` in world 0, `world_1` in world 1; with `when`, `world_0` in the other
    rounds."""

    world_0: Point = attrs.field(converter=as_point)
    world_1: Point = attrs.field(converter=as_point)
    times: int = 1
    when: Memory | None = None

    challenges: ClassVar[bool] = True

    def move(self, last: Any, now: np.ndarray, history: AnswerHistory) -> Move:
        return Query(self.world_0, select_points(now, self.world_1, self.world_0))


@attrs.frozen
class Hand:
    """Figure1: hand over the unlabelled point `point`, `times` times; or once, with `other` in world 1."""

    point: Point = attrs.field(converter=as_point)
    other: Point | None = attrs.field(default=None, converter=attrs.converters.optional(as_point))
    times: int = 1

    def move(self) -> Unlabelled:
        """The move that the script yields."""
        x = np.repeat(np.asarray(self.point)[None], self.times, axis=0)
        other = None if self.other is None else np.repeat(np.asarray(self.other)[None], self.times, axis=0)
        return Unlabelled(x, other)


def queries(
    learner: Learner, *, challenge: bool = False, limit: int = MAX_QUERIES
) -> st.SearchStrategy[tuple[Step, ...]]:
    """The steps of a game of Figure1 with at most `limit` queries; with `challenge` one of them differs."""
    if not challenge:
        return queries_near(learner, (), limit)
    step = _query(learner, (), limit)
    challenges = place_challenge(learner, limit, two_points(learner).map(lambda two: Challenge(*two)))
    return stretches_around(challenges, step, MAX_STRETCHES, limit)


@st.composite
def driven_queries(
    draw: st.DrawFn, learner: Learner, down: Point, up: Point, tested: Point | None, limit: int
) -> tuple[Step, ...]:
    """Queries at points of clear answers, 0 and 1, that drive the answers to a pattern, and what follows.
    That is a challenge with these two points or, where training sets differ at `tested`, queries there."""
    pattern = draw(sample_from(PATTERNS))
    driven = [Ask(up if bit == "1" else down) for bit in pattern]
    times = draw(sample_from(counts_of(learner, limit)))
    if tested is not None:
        return shorten_steps([*driven, Ask(tested, times)], limit)
    challenge = Challenge(*draw(st.sampled_from([(down, up), (up, down)])))
    return shorten_steps([*driven, challenge, Ask(draw(st.sampled_from([down, up])), times)], limit)


@lru_cache(maxsize=512)
def queries_near(
    learner: Learner, near: tuple[Point, ...], limit: int
) -> st.SearchStrategy[tuple[Step, ...]]:
    """The steps of a game without a challenge, with every other query at a point of `near`."""
    return list_of(_query(learner, near, limit), MAX_STRETCHES).map(lambda steps: shorten_steps(steps, limit))


def _query(learner: Learner, near: tuple[Point, ...], limit: int) -> st.SearchStrategy[Step]:
    points = draw_points(learner, near)
    times = sample_from(counts_of(learner, limit))
    ask, follow = st.builds(Ask, points, times), st.builds(Follow, points, points, times)
    return st.one_of(ask, follow, st.builds(Follow, points, points, times, MEMORIES))


def hand_over_points(learner: Learner, *, challenge: bool = False) -> st.SearchStrategy[tuple[Hand, ...]]:
    """Unlabelled points to hand over before the queries; with `challenge` one of them differs."""
    hand = st.builds(Hand, draw_points(learner), times=sample_from(counts_of(learner, MAX_QUERIES)))
    same = st.lists(hand, max_size=2)
    if not challenge:
        return same.map(tuple)
    differing = two_points(learner).map(lambda two: Hand(*two))
    return st.tuples(same, differing, same).map(lambda parts: (*parts[0], parts[1], *parts[2]))


@st.composite
def _swap_training(
    draw: st.DrawFn, learner: Learner, protocol: str, limit: int, data: Sample | None
) -> Script:
    """A game of Figure1 or Voting in which the training sets differ, with many queries where they differ."""
    world_0, world_1, near = draw(draw_neighbours(learner, data))
    steps = draw(queries_near(learner, near, limit))
    return Script(protocol=protocol, world_0=world_0, world_1=world_1, steps=steps)


@st.composite
def _drive_answers(
    draw: st.DrawFn, learner: Learner, protocol: str, limit: int, *, challenge: bool
) -> Script:
    """A game in which clear answers come in a pattern before the worlds differ."""
    down, up = draw(two_points(learner))
    size = learner.sample_size or draw(st.sampled_from(_CLEAR_SIZES))
    if size < 3:
        reject()
    sample = Sample([down, up], [0, 1], [size - size // 2, size // 2])
    if challenge:
        steps = draw(driven_queries(learner, down, up, None, limit))
        return Script(protocol=protocol, world_0=sample, steps=steps)
    tested = draw(draw_points(learner))
    sample = Sample([down, up, tested], [0, 1, 0], [size - size // 2 - 1, size // 2, 1])
    worlds = make_neighbours(learner, sample, 2, (tested, 0), (tested, 1))
    steps = draw(driven_queries(learner, down, up, tested, limit))
    return Script(protocol=protocol, world_0=worlds[0], world_1=worlds[1], steps=steps)


def draw_queries(
    learner: Learner, protocol: str, limit: int, data: Sample | None
) -> list[st.SearchStrategy[Script]]:
    """The kinds of games, in which the worlds differ in whatever the learner protects."""
    differ = [unit for unit in REFEREES[protocol].challenges if unit in learner.claim.protects]
    kinds: list[st.SearchStrategy[Script]] = []
    if PrivacyUnit.TRAINING_EXAMPLE in differ:
        kinds.append(cut_runs(_swap_training(learner, protocol, limit, data)))
    if PrivacyUnit.QUERY in differ:
        kinds.append(
            st.tuples(samples(learner, data), queries(learner, challenge=True, limit=limit)).map(
                lambda drawn: Script(protocol=protocol, world_0=drawn[0], steps=drawn[1])
            )
        )
    kinds = kinds * 2
    for unit, challenge in ((PrivacyUnit.TRAINING_EXAMPLE, False), (PrivacyUnit.QUERY, True)):
        if unit in differ:
            kinds.append(_drive_answers(learner, protocol, limit, challenge=challenge))
    if PrivacyUnit.UNLABELLED_EXAMPLE in differ:
        handed = hand_over_points(learner)
        kinds = [
            st.tuples(kind, handed).map(lambda two: attrs.evolve(two[0], handed=two[1])) for kind in kinds
        ]
        differing = hand_over_points(learner, challenge=True)
        swapped = st.tuples(samples(learner), differing, queries(learner, limit=limit)).map(
            lambda drawn: Script(protocol=protocol, world_0=drawn[0], handed=drawn[1], steps=drawn[2])
        )
        kinds = [swapped, swapped, *kinds]
    return kinds


def _draw_samples(
    learner: Learner, protocol: str, limit: int, data: Sample | None
) -> list[st.SearchStrategy[Script]]:
    if PrivacyUnit.TRAINING_EXAMPLE not in learner.claim.protects:
        return []
    schema = read_schema(learner)
    if schema is not None:
        check_relation(schema, read_relation_of(learner))
        constants = list_code_values(learner)
        drawn = neighbouring_records(schema, read_relation_of(learner), constants=constants)
        return [drawn.map(lambda two: Script(protocol=protocol, world_0=two[0], world_1=two[1]))]
    pairs = neighbours(learner, data)
    return [cut_runs(pairs.map(lambda two: Script(protocol=protocol, world_0=two[0], world_1=two[1])))]


SPACES[Figure1.name] = SearchSpace(draw=draw_queries, steps=(Ask, Follow, Challenge), rounds=MAX_QUERIES)
SPACES[Voting.name] = SearchSpace(draw=draw_queries, steps=(Ask, Follow), rounds=MAX_QUERIES)


def _list_obvious(learner: Learner, protocol: str) -> Iterator[Script]:
    schema = read_schema(learner)
    if schema is None:
        yield from list_obvious_samples(learner, protocol)
        return
    check_relation(schema, read_relation_of(learner))
    pairs = list_obvious(schema, read_relation_of(learner), list_code_values(learner))[:_MOST_OBVIOUS]
    for worlds in sorted(pairs, key=lambda two: two[0].size + two[1].size):
        yield Script(protocol=protocol, world_0=worlds[0], world_1=worlds[1])


def _list_simpler(learner: Learner, script: Script) -> Iterator[Script]:
    schema, (first, second) = read_schema(learner), (script.world_0, script.world_1)
    if schema is not None and isinstance(first, Records) and isinstance(second, Records):
        for worlds in list_simpler(schema, read_relation_of(learner), first, second):
            yield attrs.evolve(script, world_0=worlds[0], world_1=worlds[1])


def _find_leads(learner: Learner, protocol: str) -> Iterator[Script]:
    """Neighbours on both sides of a number of records, or of an entry of a vector, at which releases change
    their kind or jump."""
    schema = read_schema(learner)
    if schema is None:
        return

    def find_release(records: Records) -> tuple[Hashable, dict[str, np.ndarray]]:
        """Whether the mechanism fails, and which numbers there are, are finite, and are always equal; and the
        numbers."""
        script = Script(protocol=protocol, world_0=records)
        played = play(learner, script, script.referee, games=_KIND_GAMES, seed=0, faults=True, record=True)
        views = view_features(played)
        there = (views.rows != ABSENT).all(axis=0)
        finite = (np.abs(views.rows) < INFINITE).all(axis=0)
        kind = (
            frozenset(zip(views.names, there.tolist(), finite.tolist(), strict=True)),
            bool(played.failed is not None and played.failed.any()),
            frozenset(np.flatnonzero((views.rows == views.rows[0]).all(axis=0)).tolist()),
        )
        numbers = zip(views.names, views.rows.T, finite.tolist(), strict=True)
        return kind, {
            name: column for name, column, is_finite in numbers if is_finite and not name_suffix(name)
        }

    for worlds in find_boundaries(schema, read_relation_of(learner), find_release):
        yield Script(protocol=protocol, world_0=worlds[0], world_1=worlds[1])


SPACES[Release.name] = SearchSpace(
    draw=_draw_samples, obvious=_list_obvious, leads=_find_leads, simplify=_list_simpler
)
