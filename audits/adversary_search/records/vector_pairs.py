"""Neighbouring vectors of answers to begin with: the patterns of StatDP (Ding et al. 2018, Table 1)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from arena.claims import Neighbours, Relation
from arena.records import Records
from arena.schemas.schema import Schema

_POWERS = {Neighbours.AT_L1_DISTANCE: 1.0, Neighbours.AT_L2_DISTANCE: 0.5}
_ROUNDING = 1 - 2.0**-50  # by which a step is shorter, where the rounded sum would exceed the distance


def find_step(relation: Relation, changed: int) -> float:
    """The change of each of so many entries that is the whole distance of a relation."""
    return relation.distance / changed ** _POWERS.get(relation.kind, 0.0)


def list_vector_pairs(schema: Schema, relation: Relation) -> Iterator[tuple[Records, Records]]:
    """Pairs at the whole distance: all entries, one, or one against all others; half against half, from equal
    answers and from halves that change places. Each begins with the simplest entry, then with the others."""
    length = len(schema.examples[0])
    one, half = np.arange(length) == 0, np.arange(length) < length // 2
    changes = [np.ones(length), 1.0 * one, 2.0 * one - 1, 1 - 2.0 * half, -1.0 * one, 1 - 2.0 * one]
    for start in dict.fromkeys(record[0] for record in schema.examples):
        for change in changes:
            yield from _make_pair(relation, np.full(length, start), change)
        yield from _make_pair(relation, start + find_step(relation, length) * half, 1 - 2.0 * half)


def _make_pair(relation: Relation, base: np.ndarray, change: np.ndarray) -> Iterator[tuple[Records, Records]]:
    step = find_step(relation, int(np.count_nonzero(change)))
    for factor in (1.0, _ROUNDING):
        vectors = base, base + factor * step * change
        first, second = (Records([tuple(vector.tolist())]) for vector in vectors)
        if relation.count_changes(first, second, lambda given: np.zeros(len(given))) == 1:
            yield first, second
            return
