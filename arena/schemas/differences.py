"""What differs between two datasets, and under which relations they would be neighbours, for messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from arena.claims import DISTANCES, Neighbours, Relation
from arena.dataset import Dataset
from arena.errors import ArenaError, count_things
from arena.records import Records
from arena.schemas.schema import Schema

_MOST_SHOWN = 3  # records that only one world has
_MOST_TEXT = 80  # characters of each


def describe_difference(first: Dataset, second: Dataset, users_of: Callable[[Any], np.ndarray]) -> str:
    """How many records differ, which, and every relation under which the datasets would be neighbours."""
    sizes = f"{count_things(first.size, 'record')} in world 0 and {second.size:,} in world 1"
    parts = [sizes]
    if isinstance(first, Records) and isinstance(second, Records):
        for world, own, other in ((0, first, second), (1, second, first)):
            rest = own.subtract(other)
            if rest.size:
                more = ", ..." if rest.size > _MOST_SHOWN else ""
                most = rest.repeat(np.minimum(rest.counts, _MOST_SHOWN)).rows()[:_MOST_SHOWN]
                shown = ", ".join(repr(record)[:_MOST_TEXT] for record in most)
                parts.append(f"only in world {world}: {shown}{more}")
    relations = [str(relation) for relation in find_relations(first, second, users_of)]
    parts.append(f"neighbours that {' or '.join(relations)}" if relations else "neighbours by no relation")
    return "; ".join(parts)


def show_pair(
    schema: Schema, first: Records, second: Records, *, names: tuple[str, str] = ("world_0", "world_1")
) -> str:
    """Both datasets as code that makes what the mechanism receives, and which records are changed."""
    shown = [f"{name} = {schema.show(records)}" for name, records in zip(names, (first, second), strict=True)]
    lines = [schema.form.define(), shown[0], f"{shown[1]}  # {_describe_change(first, second)}"]
    return "\n".join(filter(None, lines))


def _describe_change(first: Records, second: Records) -> str:
    rows, keys = (first.rows(), second.rows()), (first.list_keys(), second.list_keys())
    start = next((n for n, (a, b) in enumerate(zip(*keys, strict=False)) if a != b), min(map(len, keys)))
    number = len(rows[1]) - len(rows[0])
    if not number:
        changed = sum(a != b for a, b in zip(*keys, strict=True))
        more = f", and {count_things(changed - 1, 'more record')}" if changed > 1 else ""
        return f"record {start + 1} is {rows[0][start]!r} or {rows[1][start]!r}{more}"
    own = rows[1] if number > 0 else rows[0]
    more = f", and {count_things(abs(number) - 1, 'more record')}" if abs(number) > 1 else ""
    return f"record {start + 1} is {'added' if number > 0 else 'removed'}: {own[start]!r}{more}"


def find_relations(first: Dataset, second: Dataset, users_of: Callable[[Any], np.ndarray]) -> list[Relation]:
    """The relations under which two datasets would be neighbours, with the least sizes and distances."""
    found = []
    for kind in Neighbours:
        size = max(first.size, second.size, 1)
        sized = kind in (Neighbours.REPLACE_GROUP, Neighbours.ADD_OR_REMOVE_USER)
        if kind in DISTANCES:
            continue  # of vectors, whose relation says the distance already
        try:
            changes = Relation(kind, size if sized else 1).count_changes(first, second, users_of)
        except ArenaError:  # nobody knows whose the records are
            continue
        if (changes == 1 and not sized) or (changes > 0 and sized and changes <= size):
            found.append(Relation(kind, changes if sized else 1))
    if Relation(Neighbours.REPLACE_ONE) in found:  # a group of one says no more
        found = [relation for relation in found if relation.kind is not Neighbours.REPLACE_GROUP]
    return found
