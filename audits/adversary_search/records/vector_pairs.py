"""Neighbouring vectors of answers to begin with: the patterns of StatDP (Ding et al. 2018, Table 1), the
corners of the unit ball of the distance, and other directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from arena.claims import DISTANCES, Neighbours, Relation
from arena.randomness import generator
from arena.records import Records
from arena.schemas.schema import Schema, spread_out
from arena.schemas.vectors import shift_vector

_PLACES_OF_LINE = 9  # of a line of vectors, between which it is searched
_MOST_ENTRIES = 4  # that are changed alone, apart from the first one
_ALL_SIGNS = 4  # entries, up to which all patterns of signs are tried
_RANDOM = 4  # directions, and as many patterns of signs of longer vectors
_SEED = 0


def list_vector_pairs(schema: Schema, relation: Relation) -> Iterator[tuple[Records, Records]]:
    """Pairs at the whole distance: all entries, one, or one against all others; half against half, from equal
    answers and from halves that change places. Each begins with the simplest vector, then with the others.
    After the first of them come vectors of the simplest entry but for one, the largest or the least there is,
    of which another changes; and then every other single entry, patterns of signs, few entries, and random
    directions. Their entries are values of the schema, if there are such pairs."""
    pairs = list(_list_pairs(schema, relation))
    yield from [pair for pair in pairs if _fit_values(schema, pair)] or pairs


def fits_values(schema: Schema, vector: Sequence[float]) -> bool:
    """Whether all entries lie between the least and the largest value, and are whole if all values are."""
    least, largest, is_whole = _describe_values(schema)
    return all(least <= entry <= largest and (not is_whole or entry == int(entry)) for entry in vector)


def move_vector(schema: Schema, relation: Relation, base: np.ndarray, direction: np.ndarray) -> Any:
    """The vector at the whole distance in a direction, whole if all values of the schema are; None if there
    is none."""
    return shift_vector(relation, base, direction, whole=_describe_values(schema)[2])


def _fit_values(schema: Schema, pair: tuple[Records, Records]) -> bool:
    return all(fits_values(schema, world.records[0]) for world in pair)


@lru_cache(maxsize=64)
def _describe_values(schema: Schema) -> tuple[float, float, bool]:
    entries = [entry for record in schema.examples for entry in record]
    return min(entries), max(entries), all(isinstance(entry, int) for entry in entries)


def _list_pairs(schema: Schema, relation: Relation) -> Iterator[tuple[Records, Records]]:
    length = len(schema.examples[0])
    one, half = np.arange(length) == 0, np.arange(length) < length // 2
    changes = [np.ones(length), 1.0 * one, 2.0 * one - 1, 1 - 2.0 * half, -1.0 * one, 1 - 2.0 * one]
    starts = [np.array(record, float) for record in dict.fromkeys(schema.examples)]
    ends = [max(map(np.max, starts)), min(map(np.min, starts))]
    for start in starts:
        for change in changes:
            yield from _make_pair(schema, relation, start, change)
        raised = move_vector(schema, relation, np.zeros(length), np.ones(length))
        if raised is not None:
            yield from _make_pair(schema, relation, start + half * np.array(raised), 1 - 2.0 * half)
        if start is starts[0] and length > 1:
            for end in dict.fromkeys(ends):
                for change in (1.0 * one, -1.0 * one):
                    base = np.where(np.arange(length) == 1, end, start)
                    yield from _make_pair(schema, relation, base, change)
            for direction in _list_directions(relation, length):
                yield from _make_pair(schema, relation, start, direction)


def _list_directions(relation: Relation, length: int) -> Iterator[np.ndarray]:
    """Further directions: another single entry, the last one first; patterns of signs, of which only those of
    the L∞ distance are corners; two entries, and half of them; and random ones."""
    identity, rng = np.eye(length), generator(np.random.SeedSequence(_SEED))
    for place in spread_out(range(length - 1, 0, -1), _MOST_ENTRIES):
        yield from (identity[place], -identity[place])
    if relation.kind is Neighbours.AT_LINF_DISTANCE and length <= _ALL_SIGNS:
        yield from (np.array(signs) for signs in product((1.0, -1.0), repeat=length))
    else:
        yield (-1.0) ** np.arange(length)
        yield from rng.choice([1.0, -1.0], (_RANDOM, length))
    yield -np.ones(length)
    if length > 2:
        yield from (identity[0] + identity[1], identity[0] - identity[1])
        yield 1.0 * (np.arange(length) >= length // 2)
    yield from rng.standard_normal((_RANDOM, length))


def list_vector_lines(
    schema: Schema, relation: Relation
) -> Iterator[tuple[Callable[[float], tuple[Records, Records] | None], tuple[float, ...], float]]:
    """Lines of vectors, of one entry and of all: what makes the pair at the whole distance that begins with
    this entry there (the nearest whole one, if all values are whole), entries from the least to the largest,
    and the step between the vectors of a pair."""
    if relation.kind not in DISTANCES:
        return
    length = len(schema.examples[0])
    entries = sorted({record[0] for record in schema.examples})
    places = np.linspace(0, len(entries) - 1, min(len(entries), _PLACES_OF_LINE)).astype(int)
    for moved in dict.fromkeys((1, length)):
        direction = 1.0 * (np.arange(length) < moved)
        base = np.where(direction > 0, 0.0, np.array(schema.examples[0], float))
        step = move_vector(schema, relation, np.zeros(length), direction)
        if step is None or 0.0 in step[:moved]:  # whole numbers that cannot all change
            continue

        def make(entry: float, base: np.ndarray = base, direction: np.ndarray = direction) -> Any:
            near = float(round(entry)) if _describe_values(schema)[2] else entry
            for change in (direction, -direction):  # from the largest value only downwards
                for pair in _make_pair(schema, relation, base + near * direction, change):
                    if _fit_values(schema, pair):
                        return pair
            return None

        yield make, tuple(entries[place] for place in places), step[0]


def _make_pair(
    schema: Schema, relation: Relation, base: np.ndarray, change: np.ndarray
) -> Iterator[tuple[Records, Records]]:
    moved = move_vector(schema, relation, base, change)
    if moved is not None:
        yield Records([tuple(base.tolist())]), Records([moved])
