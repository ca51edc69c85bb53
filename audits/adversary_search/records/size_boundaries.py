"""Numbers of equal records at which a release becomes another kind of release: an exception, another type or
shape, or a number that is not finite. Neighbours on both sides of such a boundary are told apart at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from arena.claims import Relation
from arena.records import Records
from arena.schemas.schema import Schema
from audits.adversary_search.records.obvious_records import list_equal_neighbours

_SIZES = tuple(2**power for power in range(13))
_Worlds = tuple[Records, Records]


def find_boundaries(
    schema: Schema, relation: Relation, find_kind: Callable[[Records], Hashable]
) -> Iterator[_Worlds]:
    """Neighbours of which one is just below, and one just above, a boundary between the sizes 1, 2, 4, …,
    4,096. find_kind: of the releases on some records."""
    for make_neighbours in list_equal_neighbours(schema, relation):
        low, low_kind = 0, None
        for high in _SIZES:
            worlds = make_neighbours(high)
            if worlds is None:
                continue
            kind = find_kind(worlds[0])
            if low_kind is not None and kind != low_kind:
                yield from _bisect(make_neighbours, find_kind, low, high, low_kind)
            low, low_kind = high, kind


def _bisect(
    make_neighbours: Callable[[int], _Worlds | None],
    find_kind: Callable[[Records], Hashable],
    low: int,
    high: int,
    low_kind: Hashable,
) -> Iterator[_Worlds]:
    while high - low > 1:
        middle = (low + high) // 2
        worlds = make_neighbours(middle)
        if worlds is None:
            return
        if find_kind(worlds[0]) == low_kind:
            low = middle
        else:
            high = middle
    for size in (low, high):  # whose neighbour has one record more, or as many
        worlds = make_neighbours(size)
        if worlds is not None:
            yield worlds
