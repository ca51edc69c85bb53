"""Hypothesis strategies for neighbouring lists of records, by the schema of what a mechanism receives.

They shrink towards few, simple and equal records.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import permutations, product
from typing import Any

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from arena import InvalidArgument
from arena.claims import DISTANCES, Neighbours, Relation
from arena.records import BLANK_RECORD, Records, record_key
from arena.schemas.forms import is_missing
from arena.schemas.schema import Schema

Strategy = st.SearchStrategy[Any]

_SIZES = (
    1,
    2,
    3,
    4,
    1,
    2,
    3,
    5,
    8,
    12,
    20,
    60,
)  # of most lists, since each record matters more in small ones
_COUNTS = (1, 1, 1, 2, 3, 5, 7)
_MOST_RUNS = 6
_MOST_PROMINENT = 12  # values of a field that are drawn as often as all others together
_MOST_VALUES = 99  # Hypothesis mixes other things into longer lists
_OBVIOUS_SIZES = (0, 1, 4, 20)  # of the records that are alike
_MOST_ENDS = 6  # records with extreme values


def neighbouring_records(
    schema: Schema, relation: Relation, record: Strategy | None = None, base: Strategy | None = None
) -> st.SearchStrategy[tuple[Records, Records]]:
    """Two lists of records that a schema allows and that are neighbours. record: strategy of a record;
    default: combinations of the examples and of the values of the schema, with extreme, missing and repeated
    ones.
    base: strategy of the list from which a neighbour is made; default: lists of such records."""
    if relation.kind in DISTANCES:
        return _neighbouring_vectors(schema, relation)
    drawn = _neighbours(schema, relation, record, base)
    obvious = list_obvious(schema, relation) if record is None else []
    return st.one_of(st.sampled_from(obvious), drawn, drawn, drawn) if obvious else drawn


@lru_cache(maxsize=64)
def list_obvious(schema: Schema, relation: Relation) -> list[tuple[Records, Records]]:
    """The neighbours that a person would try first: few records or none, all alike, with the least or the
    largest values, and one at the other end of their range or missing."""
    ends = _list_extreme_records(schema)
    pairs = []
    for size, base in product(_OBVIOUS_SIZES, ends):
        runs = [(base, size)] if size else []
        if relation.kind is Neighbours.ADD_OR_REMOVE_USER:
            pairs += [_add_user(schema, runs, relation.size, record) for record in [*ends, None]]
        elif relation.adds_or_removes:
            pairs += [(runs, [*runs, (record, 1)]) for record in ends]
        elif relation.kind is Neighbours.ZERO_OUT_ONE:
            pairs += [([*runs, (BLANK_RECORD, 1)], [*runs, (record, 1)]) for record in ends]
        else:
            changed = min(relation.size, max(size, 1))
            pairs += [
                ([*runs, (old, changed)], [*runs, (new, changed)]) for old, new in permutations(ends, 2)
            ]
    made = dict.fromkeys(
        (_make_records(schema, first), _make_records(schema, second)) for first, second in pairs
    )
    return [
        worlds
        for worlds in made
        if worlds[0] != worlds[1]
        and all(schema.allows_size(world.size) for world in worlds)
        and 1 <= relation.count_changes(*worlds, schema.users_of) <= relation.size
    ][:_MOST_VALUES]


def _list_extreme_records(schema: Schema) -> list[Any]:
    """Records with the simplest values, the least, the largest, and missing ones."""
    if schema.columns is None:
        return _list_prominent(list(schema.examples))[:_MOST_ENDS]
    ends = [_list_ends(pool) for pool in schema.columns]
    chosen = [[kinds[min(kind, len(kinds) - 1)] for kinds in ends] for kind in range(max(map(len, ends)))]
    records = [schema.form.join(values) for values in chosen]
    return list({record_key(record): record for record in records}.values())[:_MOST_ENDS]


def _list_ends(pool: Sequence[Any]) -> list[Any]:
    """The least value, the largest, a missing one if there is any, and the simplest."""
    special = [value for value in pool if is_missing(value)]
    try:
        ordered = sorted(value for value in pool if not is_missing(value))
    except TypeError:  # of several types
        ordered = list(pool)
    return [*ordered[:1], *ordered[-1:], *special[:1], pool[0]]


def _add_user(
    schema: Schema, runs: list[tuple[Any, int]], number: int, record: Any
) -> tuple[list[tuple[Any, int]], list[tuple[Any, int]]]:
    """The runs as records of others, and the same with a user who has this record, or all kinds, so often."""
    users = _list_users(schema)
    if isinstance(users, dict):
        user = max(users, key=lambda each: len(users[each]))
        others = [(own, count) for own, count in runs if schema.users_of([own])[0] != user]
        own = users[user]
    else:
        user, *rest = users
        others = [(schema.form.with_field(own, schema.user, rest[0]), n) for own, n in runs] if rest else []
        own = [record] if record is not None else _cycle_records(schema, number)
        own = [schema.form.with_field(each, schema.user, user) for each in own]
    return others, [*others, *((own[place % len(own)], 1) for place in range(number))]


def _cycle_records(schema: Schema, number: int) -> list[Any]:
    if schema.columns is None:
        return [schema.examples[place % len(schema.examples)] for place in range(number)]
    return [schema.form.join([pool[place % len(pool)] for pool in schema.columns]) for place in range(number)]


@st.composite
def _neighbours(
    draw: st.DrawFn, schema: Schema, relation: Relation, record: Strategy | None, base: Strategy | None
) -> tuple[Records, Records]:
    records = draw(_choose_records(schema)) if record is None else record
    by_user = relation.kind is Neighbours.ADD_OR_REMOVE_USER
    changed = 1 if relation.kind is not Neighbours.REPLACE_GROUP else relation.size
    least = schema.min_size if relation.adds_or_removes else max(schema.min_size, 1)
    lists: Any = _draw_runs(schema, records, least) if base is None else base
    runs = draw(lists)
    if by_user:
        return draw(_change_user(schema, relation, records, runs))
    first = _make_records(schema, runs)
    if relation.adds_or_removes:
        longer = first.join([(draw(records), 1)], draw(st.sampled_from([None, 0])))
        if schema.unique and len(schema.drop_repetitions(longer.rows())) < longer.size:
            reject()
        worlds = first, longer
    else:
        worlds = first, _replace(draw, schema, relation, records, first, changed)
    for world in worlds:
        if not schema.allows_size(world.size):
            reject()
    if worlds[0] == worlds[1]:
        reject()
    return worlds[::-1] if draw(st.booleans()) else worlds


def _replace(
    draw: st.DrawFn, schema: Schema, relation: Relation, records: Strategy, base: Records, changed: int
) -> Records:
    """The list with its last record, or the last ones, replaced."""
    if not base.size:
        reject()
    places = len(base.records) - 1 - draw(st.integers(0, min(len(base.records) - 1, 2)))
    parts = list(zip(base.records, base.counts.tolist(), strict=True))
    old, count = parts[places]
    number = min(changed, count)
    new = (
        BLANK_RECORD if relation.kind is Neighbours.ZERO_OUT_ONE else _draw_other(draw, schema, records, old)
    )
    kept = [(old, count - number)] if count > number else []
    parts[places : places + 1] = [*kept, (new, number)]
    return _make_records(schema, parts)


def _draw_other(draw: Any, schema: Schema, records: Strategy, old: Any) -> Any:
    """A record to replace another: any, or the same but for one field."""
    if schema.columns is not None and schema.names and draw(st.booleans()):
        place = draw(st.integers(0, len(schema.names) - 1))
        return schema.form.with_field(old, schema.names[place], draw(_draw_value(schema.columns[place])))
    return draw(records)


def _make_records(schema: Schema, runs: Sequence[tuple[Any, int]]) -> Records:
    if schema.unique:
        kept = schema.drop_repetitions([record for record, _ in runs])
        runs = [(record, 1) for record in kept]
    return Records([record for record, _ in runs], np.array([count for _, count in runs], np.int64))


@st.composite
def _draw_runs(draw: st.DrawFn, schema: Schema, records: Strategy, least: int) -> list[tuple[Any, int]]:
    """Runs of records, at least so many in all."""
    size = max(least, draw(st.sampled_from([least, *_SIZES])))
    runs: list[tuple[Any, int]] = []
    left = size
    while left > 0:
        full = len(runs) + 1 == _MOST_RUNS
        count = left if full else min(left, draw(st.sampled_from(_COUNTS)))
        runs.append((draw(records), count))
        left -= count
    return runs


@st.composite
def _change_user(
    draw: st.DrawFn, schema: Schema, relation: Relation, records: Strategy, runs: list[tuple[Any, int]]
) -> tuple[Records, Records]:
    """A list, and the same with the records of one user more."""
    number = draw(st.sampled_from([relation.size, relation.size, 1, max(1, relation.size // 2)]))
    patterns = draw(st.sampled_from([number, number, 1, 2]))
    own = [draw(records) for _ in range(min(patterns, number))]
    drawn = [own[place % len(own)] for place in range(number)]
    users = _list_users(schema)
    if isinstance(users, tuple):  # of a field, which can be set
        user, *others = users
        drawn = [schema.form.with_field(record, schema.user, user) for record in drawn]
        runs = (
            [
                (schema.form.with_field(record, schema.user, others[place % len(others)]), count)
                for place, (record, count) in enumerate(runs)
            ]
            if others
            else []
        )
    else:
        user = draw(st.sampled_from(list(users)))
        drawn = [users[user][place % len(users[user])] for place in range(number)]
        runs = [(record, count) for record, count in runs if schema.users_of([record])[0] != user]
    base = _make_records(schema, runs)
    longer = _make_records(schema, [*runs, *((record, 1) for record in drawn)])
    if not schema.allows_size(base.size) or longer.size == base.size:
        reject()
    if longer.size - base.size > relation.size or not schema.allows_size(longer.size):
        reject()
    return (longer, base) if draw(st.booleans()) else (base, longer)


@lru_cache(maxsize=64)
def _list_users(schema: Schema) -> tuple[Any, ...] | dict[Any, list[Any]]:
    """The users of the examples: the values of a field, or the examples of each if a function says whose."""
    if schema.user is None:
        schema.users_of([])  # says what is missing
    if not callable(schema.user):
        values = {
            record_key(value): value
            for value in (schema.form.find_field(record, schema.user) for record in schema.examples)
        }
        return tuple(values.values())
    of_user: dict[Any, list[Any]] = {}
    for record, user in zip(schema.examples, schema.users_of(schema.examples).tolist(), strict=True):
        of_user.setdefault(user, []).append(record)
    return of_user


@lru_cache(maxsize=64)
def _choose_records(schema: Schema) -> st.SearchStrategy[Strategy]:
    """Strategies of the records of one list: all alike, different in one field, or in all."""
    if schema.columns is None:
        return st.just(_draw_value(schema.examples))
    fields = range(len(schema.columns))
    free = [frozenset(fields), frozenset(fields), *(frozenset([place]) for place in fields), frozenset()]
    drawn = [_draw_value(pool) for pool in schema.columns]
    return st.tuples(st.sampled_from(free[:_MOST_VALUES]), st.tuples(*drawn)).map(
        lambda chosen: st.tuples(
            *(drawn[place] if place in chosen[0] else st.just(chosen[1][place]) for place in fields)
        ).map(schema.form.join)
    )


def _draw_value(pool: Sequence[Any]) -> Strategy:
    """A value of a field, every other time one of the simplest or the ends of their range."""
    values = list(pool)[:_MOST_VALUES]
    return st.one_of(st.sampled_from(_list_prominent(values)), st.sampled_from(values))


def _list_prominent(values: list[Any]) -> list[Any]:
    try:
        ordered = sorted(value for value in values if not is_missing(value))
    except TypeError:  # of several types
        ordered = values
    special = [value for value in values if is_missing(value)]
    middle = ordered[len(ordered) // 2 : len(ordered) // 2 + 1]
    prominent = [*values[:3], *ordered[:1], *ordered[-1:], *special[:1], *middle, *values[3:6]]
    return list({record_key(value): value for value in prominent}.values())[:_MOST_PROMINENT]


@st.composite
def _neighbouring_vectors(draw: st.DrawFn, schema: Schema, relation: Relation) -> tuple[Records, Records]:
    """Vectors of which one differs in one entry, in some or in all, by as much as the relation allows."""
    length = len(schema.examples[0])
    entries = sorted({value for record in schema.examples for value in record}, key=abs)[:_MOST_VALUES]
    equal = draw(st.booleans())
    first = (
        [draw(st.sampled_from(entries))] * length
        if equal
        else [draw(st.sampled_from(entries)) for _ in range(length)]
    )
    changed = draw(st.sampled_from(sorted({1, length, 2, max(1, length // 2)} & set(range(1, length + 1)))))
    power = {Neighbours.AT_L1_DISTANCE: 1.0, Neighbours.AT_L2_DISTANCE: 0.5}.get(relation.kind, 0.0)
    step = relation.distance / changed**power
    signs = draw(st.sampled_from([(1, 1), (-1, -1), (1, -1), (-1, 1)]))
    start = draw(st.integers(0, length - changed))
    second = list(first)
    for place in range(start, start + changed):
        second[place] = first[place] + signs[(place - start) % 2] * step
    worlds = Records([tuple(first)]), Records([tuple(second)])
    if relation.count_changes(*worlds, lambda given: np.zeros(len(given))) != 1:
        reject()  # rounding has made the distance larger
    return worlds


def check_relation(schema: Schema, relation: Relation) -> None:
    """Raises: InvalidArgument if a schema does not allow the neighbours of a claim."""
    if (schema.relation is not None) != (relation.kind in DISTANCES):
        raise InvalidArgument(
            "vectors are neighbours at a distance, and lists of records are not",
            value=str(relation),
            remedy="Use audits.vector for claims about answers, audits.table or audits.records for people.",
        )
    if relation.kind is Neighbours.ADD_OR_REMOVE_USER:
        _list_users(schema)
