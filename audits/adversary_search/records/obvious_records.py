"""The neighbouring lists of records that a search plays before it draws others: few records, or many that are
alike, and others with extreme values or constants of the code; and simpler ones of those that tell the worlds
apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import islice, product
from typing import Any

import numpy as np

from arena.claims import DISTANCES, REPLACING, Neighbours, Relation
from arena.records import BLANK_RECORD, BlankRecord, Records, record_key
from arena.schemas.schema import Schema
from audits.adversary_search.records.field_values import (
    MOST_VALUES,
    list_ends,
    list_fields,
    list_prominent,
    offer_constants,
)
from audits.adversary_search.records.vector_pairs import list_vector_pairs

Runs = list[tuple[Any, int]]
_Worlds = tuple[Records, Records]
_Change = tuple[list[Any], int, list[Any], list[Any]]  # what is alike, how many, what one of them was, and is

_OBVIOUS_SIZES = (1, 4, 20)  # of the records that are alike
_MANY_USERS = 20  # records of others, from which on each belongs to another user
_DIVERSE = 12  # records that differ
_MOST_ENDS = 6  # records with extreme values
_MOST_DRAWN = 33  # pairs of data that a strategy drew, if there are many others
_MOST_REFUSED = 64  # pairs that a strategy is asked for and does not draw, as far as is known
_MOST_OFFERED = 8  # records with constants of the code
_CODE_SIZES = range(2, 5_000)  # integers of the code that may be numbers of records
_MOST_CODE_SIZES = 4
PLACES = (1.0, 0.5, 0.0)  # of records that are added: the share of the others that comes before


def list_sizes(constants: tuple[Any, ...]) -> list[int]:
    """Numbers of records from which on code may do something else, and one less."""
    whole = dict.fromkeys(
        int(value) for value in constants if isinstance(value, int) and value in _CODE_SIZES
    )
    return list(dict.fromkeys(value - less for value in whole for less in (1, 0)))[: 2 * _MOST_CODE_SIZES]


@lru_cache(maxsize=64)
def list_obvious(
    schema: Schema, relation: Relation, constants: tuple[Any, ...] = ()
) -> list[tuple[Records, Records]]:
    """The neighbours that a person would try first, the most telling first: few records or none, all alike,
    with the least or the largest values, and one at the other end of their range, missing, or with a constant
    of the code; and as many as a constant says."""
    if relation.kind in DISTANCES:
        return list(islice(dict.fromkeys(list_vector_pairs(schema, relation)), MOST_VALUES))
    changes = _list_changes(schema, relation, constants)
    drawn = (_change(schema, relation, *changed) for changed in changes)
    made = dict.fromkeys(
        (make_records(schema, first), make_records(schema, second)) for first, second in drawn
    )
    drawn_data = _list_drawn(schema, relation)
    few = MOST_VALUES - min(len(drawn_data), _MOST_DRAWN)
    obvious = [worlds for worlds in made if are_neighbours(schema, relation, *worlds)][:few]
    return list(dict.fromkeys([*obvious, *drawn_data]))[:MOST_VALUES]


def _list_drawn(schema: Schema, relation: Relation) -> list[_Worlds]:
    """Neighbours of whole data that the user's strategy drew: without one of their records, or with another
    one in its place; both ways."""
    if schema.drawable is None or relation.kind is Neighbours.ADD_OR_REMOVE_USER:
        return []
    pairs: dict[_Worlds, None] = {}
    refused = 0
    for worlds in dict.fromkeys(_list_changed(schema, relation, schema.drawable.examples)):
        if are_neighbours(schema, relation, *worlds):
            pairs[worlds] = pairs[worlds[::-1]] = None
        else:
            refused += 1
        if len(pairs) >= MOST_VALUES or refused >= _MOST_REFUSED:
            break
    return list(pairs)


def _list_changed(schema: Schema, relation: Relation, drawn: Sequence[Records]) -> Iterator[_Worlds]:
    """Each of the drawn data beside one without a record, or with another one in its place: first with the
    same change of all data, then with the next."""
    for share, new in product((1.0, 0.0, 0.5), schema.examples[:2] + schema.examples[-1:]):
        for data in drawn:
            rows = data.rows()
            if not rows:
                continue
            place = min(int(share * len(rows)), len(rows) - 1)
            if relation.adds_or_removes:
                changed = [*rows[:place], *rows[place + 1 :]]
            elif relation.kind is Neighbours.ZERO_OUT_ONE:
                changed = [*rows[:place], BLANK_RECORD, *rows[place + 1 :]]
            else:
                last = min(place + relation.size, len(rows))
                changed = [*rows[:place], *[new] * (last - place), *rows[last:]]
            yield data, Records(changed)


def list_equal_neighbours(
    schema: Schema, relation: Relation
) -> Iterator[Callable[[int], tuple[Records, Records] | None]]:
    """For the records with the least, the largest and other extreme values: what makes neighbours with so
    many of them, or None where there are none."""
    if relation.kind in DISTANCES or schema.unique:
        return
    ends = _list_extremes(schema)

    def make(own: list[Any], other: list[Any], size: int) -> tuple[Records, Records] | None:
        first, second = _change(schema, relation, own, size, other, own)
        worlds = make_records(schema, first), make_records(schema, second)
        return worlds if are_neighbours(schema, relation, *worlds) else None

    for own in ends:
        yield partial(make, own, ends[0] if own is not ends[0] else ends[-1])


def are_neighbours(schema: Schema, relation: Relation, first: Records, second: Records) -> bool:
    """Whether they are neighbours, but not equal, that the user's strategy draws, if there is one."""
    return (
        first != second
        and schema.allows_size(first.size)
        and schema.allows_size(second.size)
        and 1 <= relation.count_changes(first, second, schema.users_of) <= relation.size
        and schema.can_draw(first)
        and schema.can_draw(second)
    )


def fit_sizes(schema: Schema, relation: Relation, sizes: Sequence[int]) -> list[int]:
    """Of these numbers of records, next to those in which neighbours differ, the ones that the schema allows;
    with the least and the largest there are, if these are limited."""
    least, most, more = schema.min_size, schema.largest, relation.size
    fewest = max(0, least if relation.adds_or_removes else least - more)
    limits = [] if most is None else [max(most - more, fewest)]
    limits += [fewest] if least > 0 else []
    beside = more if relation.adds_or_removes else 1  # of a group, as many are replaced as there is room for
    kept = [size for size in sizes if size >= fewest and (most is None or size + beside <= most)]
    return list(dict.fromkeys([*kept, *limits]))


def list_simpler(schema: Schema, relation: Relation, first: Records, second: Records) -> Iterator[_Worlds]:
    """The same neighbours with half of the records that are alike, or with the simplest value in one field of
    all records, where that changes them and leaves them neighbours."""
    halved = [Records(world.records, np.maximum(world.counts // 2, 1)) for world in (first, second)]
    simpler = [(halved[0], halved[1])]
    for name, part in schema.parts or (("", schema),):
        for field, pool in zip(part.names, part.columns or (), strict=False):
            rows = (
                [_simplify(schema, name, record, field, pool[0]) for record in world.records]
                for world in (first, second)
            )
            simpler.append((Records(next(rows), first.counts), Records(next(rows), second.counts)))
    for worlds in simpler:
        is_allowed = all(len(schema.drop_repetitions(world.rows())) == world.size for world in worlds)
        if is_allowed and worlds != (first, second) and are_neighbours(schema, relation, *worlds):
            yield worlds


def _simplify(schema: Schema, table: str, record: Any, field: Any, value: Any) -> Any:
    is_other = isinstance(record, BlankRecord) or (schema.parts and record[0] != table)
    return record if is_other else schema.form.with_field(record, field, value)


def _list_changes(schema: Schema, relation: Relation, constants: tuple[Any, ...]) -> Iterator[_Change]:
    extended, offered = offer_constants(schema, constants)
    far = [[record] for record in schema.beyond]
    offers = [*far, *([record] for record in offered[:_MOST_OFFERED])]
    ends = _list_extremes(schema)
    replaced = ends if relation.kind in REPLACING else ends[:1]
    if relation.kind is not Neighbours.ADD_OR_REMOVE_USER:
        ends = [[record] for level in ends for record in level]
    else:
        ends = [*ends, _cycle_records(extended, relation.size)]
    top = ends[1 % len(ends)]
    yield from (([], 0, far[0], far[-1]) for _ in far[1:2])
    yield from (([], 0, old, new) for new in ends for old in replaced if old is not new or len(replaced) == 1)
    yield from (([], 0, top, new) for new in offers)
    yield from ((top, size, ends[0], top) for size in list_sizes(constants))
    (diverse,) = fit_sizes(schema, relation, [_DIVERSE])[:1]
    varied = _cycle_records(extended, diverse)
    bases = [varied, varied[::-1]]
    if schema.unique:  # then records that differ are all that there may be many of
        every = schema.drop_repetitions([*schema.examples, *varied])
        bases += [every if schema.largest is None else every[: schema.largest]]
    yield from (
        (others, len(others), old, new)
        for base in bases
        for new in ends[:2]
        for old in replaced[:2]
        for others in [_drop_conflicts(schema, base, [*new, *old])]
        if others
    )
    news = [*ends, *offers]
    sizes = fit_sizes(schema, relation, _OBVIOUS_SIZES)
    for same in (False, True):
        yield from (
            (base, size, old, new)
            for new in news
            for base in ends
            for size in sizes
            for old in replaced
            if (base is new) is same
        )


def _drop_conflicts(schema: Schema, base: list[Any], new: list[Any]) -> list[Any]:
    """The records that may be beside new ones, if what is unique does not occur twice."""
    if not schema.unique:
        return base
    apart = schema.drop_repetitions(new)
    return schema.drop_repetitions([*apart, *base])[len(apart) :]


def _list_extremes(schema: Schema) -> list[list[Any]]:
    """Records with the least values, the largest, missing ones and the simplest; of several tables, one of
    each."""
    parts = list_fields(schema)
    if not parts:
        return [[record] for record in list_prominent(schema.examples)[:_MOST_ENDS]]
    ends = [[list_ends(pool) for pool in columns] for _, columns in parts]
    kinds = max(len(own) for columns in ends for own in columns)
    levels = [
        [
            make([own[min(kind, len(own) - 1)] for own in columns])
            for (make, _), columns in zip(parts, ends, strict=True)
        ]
        for kind in range(kinds)
    ]
    return list({record_key(level): level for level in levels}.values())


def _change(
    schema: Schema, relation: Relation, base: list[Any], size: int, old: list[Any], new: list[Any]
) -> tuple[Runs, Runs]:
    """So many records that are alike, and among them, in front of them or after them those that differ."""
    others = [
        (record, size // len(base) + (place < size % len(base)))
        for place, record in enumerate(base)
        if size // len(base) + (place < size % len(base))
    ]
    place = PLACES[_OBVIOUS_SIZES.index(size) % len(PLACES)] if size in _OBVIOUS_SIZES else 1.0
    runs: list[Runs] = [[], [(new[0], 1)]]
    if relation.kind is Neighbours.ADD_OR_REMOVE_USER:
        others, runs[1] = _add_user(schema, others, relation.size, new)
    elif relation.kind is Neighbours.ZERO_OUT_ONE:
        runs[0] = [(BLANK_RECORD, 1)]
    elif not relation.adds_or_removes:
        room = size if schema.largest is None else schema.largest - size
        number = min(relation.size, max(room, 1))
        runs = [[(record[0], number)] for record in (old, new)]
    return insert_runs(others, runs[0], place), insert_runs(others, runs[1], place)


def insert_runs(runs: Runs, more: Runs, place: float) -> Runs:
    """The runs with more of them, before which this share of the records comes."""
    left = int(place * sum(count for _, count in runs))
    parts: tuple[Runs, Runs] = [], []
    for record, count in runs:
        first = min(count, left)
        left -= first
        for part, number in zip(parts, (first, count - first), strict=True):
            if number:
                part.append((record, number))
    return [*parts[0], *more, *parts[1]]


def _add_user(schema: Schema, runs: Runs, number: int, own: list[Any]) -> tuple[Runs, Runs]:
    """The runs as records of others, and so many of one user, which are like those given."""
    users = list_users(schema)
    if isinstance(users, dict):
        user = max(users, key=lambda each: len(users[each]))
        others = [(record, count) for record, count in runs if schema.users_of([record])[0] != user]
        own = users[user]
    else:
        user, *rest = users
        if len(runs) > 1 or sum(count for _, count in runs) >= _MANY_USERS:
            runs = [(record, 1) for record, count in runs for _ in range(count)]
        others = [
            (schema.form.with_field(record, schema.user, rest[place % len(rest)]), count)
            for place, (record, count) in enumerate(runs)
            if rest
        ]
        own = [schema.form.with_field(each, schema.user, user) for each in own]
    return others, [(own[place % len(own)], 1) for place in range(number)]


def _cycle_records(schema: Schema, number: int) -> list[Any]:
    parts = list_fields(schema)
    if not parts:
        return [schema.examples[place % len(schema.examples)] for place in range(number)]
    return [
        make([pool[place // len(parts) % len(pool)] for pool in columns])
        for place in range(number)
        for make, columns in [parts[place % len(parts)]]
    ]


def make_records(schema: Schema, runs: Sequence[tuple[Any, int]]) -> Records:
    if schema.unique:
        kept = schema.drop_repetitions([record for record, count in runs for _ in range(count)])
        runs = [(record, 1) for record in kept]
    return Records([record for record, _ in runs], np.array([count for _, count in runs], np.int64))


@lru_cache(maxsize=64)
def list_users(schema: Schema) -> tuple[Any, ...] | dict[Any, list[Any]]:
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
