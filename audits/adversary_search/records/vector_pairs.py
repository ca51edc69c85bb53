"""Neighbouring vectors of answers to begin with: the patterns of StatDP (Ding et al. 2018, Table 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from arena.claims import DISTANCES, Neighbours, Relation
from arena.records import Records
from arena.schemas.schema import Schema

_POWERS = {Neighbours.AT_L1_DISTANCE: 1.0, Neighbours.AT_L2_DISTANCE: 0.5}
_PLACES_OF_LINE = 9  # of a line of vectors, between which it is searched
_ROUNDING = 1 - 2.0**-50  # by which a step is shorter, where the rounded sum would exceed the distance


def find_step(relation: Relation, changed: int) -> float:
    """The change of each of so many entries that is the whole distance of a relation."""
    return relation.distance / changed ** _POWERS.get(relation.kind, 0.0)


def list_vector_pairs(schema: Schema, relation: Relation) -> Iterator[tuple[Records, Records]]:
    """Pairs at the whole distance: all entries, one, or one against all others; half against half, from equal
    answers and from halves that change places. Each begins with the simplest entry, then with the others.
    After the first of them come vectors of the simplest entry but for one, the largest or the least there is,
    of which another changes. Their entries are values of the schema, if there are such pairs."""
    pairs = list(_list_pairs(schema, relation))
    yield from [pair for pair in pairs if _fit_values(schema, pair)] or pairs


def fits_values(schema: Schema, vector: Sequence[float]) -> bool:
    """Whether all entries lie between the least and the largest value, and are whole if all values are."""
    least, largest, is_whole = _describe_values(schema)
    return all(least <= entry <= largest and (not is_whole or entry == int(entry)) for entry in vector)


def _fit_values(schema: Schema, pair: tuple[Records, Records]) -> bool:
    return all(fits_values(schema, world.records[0]) for world in pair)


@lru_cache(maxsize=64)
def _describe_values(schema: Schema) -> tuple[float, float, bool]:
    entries = [record[0] for record in schema.examples]
    return min(entries), max(entries), all(isinstance(entry, int) for entry in entries)


def _list_pairs(schema: Schema, relation: Relation) -> Iterator[tuple[Records, Records]]:
    length = len(schema.examples[0])
    one, half = np.arange(length) == 0, np.arange(length) < length // 2
    changes = [np.ones(length), 1.0 * one, 2.0 * one - 1, 1 - 2.0 * half, -1.0 * one, 1 - 2.0 * one]
    starts = list(dict.fromkeys(record[0] for record in schema.examples))
    for start in starts:
        for change in changes:
            yield from _make_pair(relation, np.full(length, start), change)
        yield from _make_pair(relation, start + find_step(relation, length) * half, 1 - 2.0 * half)
        if start == starts[0] and length > 1:
            for end in dict.fromkeys((max(starts), min(starts))):
                for change in (1.0 * one, -1.0 * one):
                    yield from _make_pair(relation, np.where(np.arange(length) == 1, end, start), change)


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
        base = np.full(length, schema.examples[0][0], float) * (1 - direction)

        def make(entry: float, base: np.ndarray = base, direction: np.ndarray = direction) -> Any:
            near = float(round(entry)) if _describe_values(schema)[2] else entry
            for change in (direction, -direction):  # from the largest value only downwards
                for pair in _make_pair(relation, base + near * direction, change):
                    if _fit_values(schema, pair):
                        return pair
            return None

        yield make, tuple(entries[place] for place in places), find_step(relation, moved)


def _make_pair(relation: Relation, base: np.ndarray, change: np.ndarray) -> Iterator[tuple[Records, Records]]:
    step = find_step(relation, int(np.count_nonzero(change)))
    for factor in (1.0, _ROUNDING):
        vectors = base, base + factor * step * change
        first, second = (Records([tuple(vector.tolist())]) for vector in vectors)
        if relation.count_changes(first, second, lambda given: np.zeros(len(given))) == 1:
            yield first, second
            return
