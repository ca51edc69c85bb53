"""Hypothesis strategies for neighbouring lists of records, by the schema of what a mechanism receives.

They shrink towards few, simple and equal records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from arena import InvalidArgument
from arena.claims import DISTANCES, Neighbours, Relation
from arena.records import BLANK_RECORD, Records
from arena.schemas.schema import Schema, spread_out
from audits.adversary_search.records.field_values import (
    MOST_VALUES,
    list_fields,
    list_prominent,
    offer_constants,
)
from audits.adversary_search.records.obvious_records import (
    PLACES,
    Runs,
    insert_runs,
    list_obvious,
    list_sizes,
    list_users,
    make_records,
)
from audits.adversary_search.records.vector_pairs import fits_values, move_vector

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
_LARGEST_MULTIPLE, _MOST_DRAWN = 3, 16  # of a direction: an entry, and how many are drawn
_MOST_RUNS = (6, 6, 20)  # of records that are alike


def neighbouring_records(
    schema: Schema,
    relation: Relation,
    record: Strategy | None = None,
    base: Strategy | None = None,
    constants: tuple[Any, ...] = (),
) -> st.SearchStrategy[tuple[Records, Records]]:
    """Two lists of records that a schema allows and that are neighbours. record: strategy of a record;
    default: combinations of the examples and of the values of the schema, with extreme, missing and repeated
    ones.
    base: strategy of the list from which a neighbour is made; default: lists of such records. constants: of
    the mechanism's code, for fields that may hold them and for numbers of records."""
    if relation.kind in DISTANCES:
        patterns = st.sampled_from(list_obvious(schema, relation))
        return st.one_of(patterns, *[_neighbouring_vectors(schema, relation)] * 3)
    if record is not None:
        return _neighbours(schema, relation, record, base)
    obvious = list_obvious(schema, relation, constants)
    drawn = _neighbours(offer_constants(schema, constants)[0], relation, None, base, list_sizes(constants))
    return st.one_of(st.sampled_from(obvious), drawn, drawn, drawn) if obvious else drawn


@st.composite
def _neighbours(
    draw: st.DrawFn,
    schema: Schema,
    relation: Relation,
    record: Strategy | None,
    base: Strategy | None,
    sizes: Sequence[int] = (),
) -> tuple[Records, Records]:
    records = draw(_choose_records(schema)) if record is None else record
    by_user = relation.kind is Neighbours.ADD_OR_REMOVE_USER
    changed = 1 if relation.kind is not Neighbours.REPLACE_GROUP else relation.size
    least = schema.min_size if relation.adds_or_removes else max(schema.min_size, 1)
    lists: Any = _draw_runs(records, least, _limit_sizes(schema, relation, sizes)) if base is None else base
    if base is None and schema.drawable is not None and schema.drawable.examples:
        lists = st.one_of(lists, sample_runs(schema))
    runs = draw(lists)
    if by_user:
        return draw(_change_user(schema, relation, records, runs))
    first = make_records(schema, runs)
    if relation.adds_or_removes:
        place = draw(st.sampled_from(PLACES))
        longer = make_records(schema, insert_runs(runs, [(draw(records), 1)], place))
        if longer.size == first.size:  # it repeats what is unique
            reject()
        worlds = first, longer
    else:
        worlds = first, _replace(draw, schema, relation, records, first, changed)
    if worlds[0] == worlds[1] or not all(map(schema.can_draw, worlds)):
        reject()
    return worlds[::-1] if draw(st.booleans()) else worlds


def _limit_sizes(schema: Schema, relation: Relation, sizes: Sequence[int]) -> list[int]:
    """Numbers of records of most lists, and these, that the schema allows with what neighbours add."""
    more = relation.size if relation.adds_or_removes else 0
    least = schema.min_size if relation.adds_or_removes else max(schema.min_size, 1)
    most = schema.largest
    kept = [size for size in (least, *_SIZES, *sizes) if most is None or max(size, least) + more <= most]
    return kept if most is None else [*kept, max(most - more, least)]


@lru_cache(maxsize=64)
def sample_runs(schema: Schema) -> st.SearchStrategy[Runs]:
    """The records of whole data that the user's strategy drew, as runs."""
    assert schema.drawable is not None
    examples = spread_out(schema.drawable.examples, MOST_VALUES)
    return st.sampled_from([[(row, 1) for row in data.rows()] for data in examples])


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
    return make_records(schema, parts)


def _draw_other(draw: Any, schema: Schema, records: Strategy, old: Any) -> Any:
    """A record to replace another: any, one beyond the example, or the same but for one field."""
    if schema.beyond and draw(st.booleans()):
        return draw(st.sampled_from(schema.beyond))
    if schema.columns is not None and schema.names and draw(st.booleans()):
        place = draw(st.integers(0, len(schema.names) - 1))
        return schema.form.with_field(old, schema.names[place], draw(_draw_value(schema.columns[place])))
    return draw(records)


@st.composite
def _draw_runs(draw: st.DrawFn, records: Strategy, least: int, sizes: Sequence[int]) -> Runs:
    """Runs of records, at least so many in all."""
    size = max(least, draw(st.sampled_from(sizes)))
    most = draw(st.sampled_from(_MOST_RUNS))
    runs: list[tuple[Any, int]] = []
    left = size
    while left > 0:
        full = len(runs) + 1 == most
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
    users = list_users(schema)
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
    base = make_records(schema, runs)
    place = draw(st.sampled_from(PLACES))
    longer = make_records(schema, insert_runs(runs, [(record, 1) for record in drawn], place))
    if not schema.allows_size(base.size) or longer.size == base.size:
        reject()
    if longer.size - base.size > relation.size or not (schema.can_draw(base) and schema.can_draw(longer)):
        reject()
    return (longer, base) if draw(st.booleans()) else (base, longer)


@lru_cache(maxsize=64)
def _choose_records(schema: Schema) -> st.SearchStrategy[Strategy]:
    """Strategies of the records of one list: all alike, different in one field, or in all; of several tables,
    for each of them."""
    parts = [_choose_fields(make, columns) for make, columns in list_fields(schema)]
    if not parts:
        return st.just(_draw_value(schema.examples))
    return parts[0] if len(parts) == 1 else st.tuples(*parts).map(st.one_of)


def _choose_fields(
    make: Callable[[Sequence[Any]], Any], columns: Sequence[Sequence[Any]]
) -> st.SearchStrategy[Strategy]:
    fields = range(len(columns))
    free = [frozenset(fields), frozenset(fields), *(frozenset([place]) for place in fields), frozenset()]
    drawn = [_draw_value(pool) for pool in columns]
    return st.tuples(st.sampled_from(free[:MOST_VALUES]), st.tuples(*drawn)).map(
        lambda chosen: st.tuples(
            *(drawn[place] if place in chosen[0] else st.just(chosen[1][place]) for place in fields)
        ).map(make)
    )


def _draw_value(pool: Sequence[Any]) -> Strategy:
    """A value of a field, every other time one of the simplest or the ends of their range."""
    values = spread_out(pool, MOST_VALUES)
    return st.one_of(st.sampled_from(list_prominent(values)), st.sampled_from(values))


@st.composite
def _neighbouring_vectors(draw: st.DrawFn, schema: Schema, relation: Relation) -> tuple[Records, Records]:
    """Vectors that differ in one entry, in some or in all, in any direction, by as much as the relation
    allows."""
    length = len(schema.examples[0])
    entry = _draw_value(sorted({value for record in schema.examples for value in record}, key=abs))
    kind = draw(st.sampled_from(["equal", "example", "any"]))
    if kind == "example":
        first = list(draw(_draw_value(schema.examples)))
    else:
        first = [draw(entry)] * length if kind == "equal" else [draw(entry) for _ in range(length)]
    direction = draw(_draw_direction(length))
    for sign in (1.0, -1.0):
        second = move_vector(schema, relation, np.array(first, float), sign * direction)
        if second is not None and (fits_values(schema, second) or not fits_values(schema, first)):
            return Records([tuple(map(float, first))]), Records([second])
    reject()


@st.composite
def _draw_direction(draw: st.DrawFn, length: int) -> np.ndarray:
    """One entry, some in a row with signs that alternate or not, or any small multiples of each other; of a
    long vector these are repeated."""
    kind = draw(st.sampled_from(["row", "row", "signs", "multiples"]))
    if kind == "row":
        sizes = {1, length, 2, max(1, length // 2)} & set(range(1, length + 1))
        changed = draw(st.sampled_from(sorted(sizes)))
        signs = draw(st.sampled_from([(1, 1), (-1, -1), (1, -1), (-1, 1)]))
        start = draw(st.integers(0, length - changed))
        places = np.arange(length)
        pattern = np.resize(signs, changed)
        return np.where(
            (places >= start) & (places < start + changed), pattern[(places - start) % changed], 0.0
        )
    most = 1 if kind == "signs" else _LARGEST_MULTIPLE
    multiple = st.integers(-most, most)
    drawn = draw(st.lists(multiple, min_size=min(length, _MOST_DRAWN), max_size=min(length, _MOST_DRAWN)))
    return np.resize(np.array(drawn, float), length)


def check_relation(schema: Schema, relation: Relation) -> None:
    """Raises: InvalidArgument if a schema does not allow the neighbours of a claim."""
    if (schema.relation is not None) != (relation.kind in DISTANCES):
        raise InvalidArgument(
            "vectors are neighbours at a distance, and lists of records are not",
            value=str(relation),
            remedy="Use audits.vector for claims about answers, audits.table or audits.records for people.",
        )
    if relation.adds_or_removes and schema.largest == schema.min_size:
        raise InvalidArgument(
            f"the data always have {schema.min_size:,} records, so none have one more or less",
            value=str(relation),
            remedy='Test neighbours that "replace one", or let the strategy draw data of other sizes.',
        )
    if relation.kind is Neighbours.ADD_OR_REMOVE_USER:
        list_users(schema)
