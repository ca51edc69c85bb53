"""Pairs of neighbouring data for property-based tests, as the user's mechanism receives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
from hypothesis import strategies as st

from arena.claims import Neighbours, Relation, read_relation
from arena.errors import InvalidArgument
from arena.records import Records
from arena.schema import Schema
from audits.adversary_search.record_strategies import check_relation, neighbouring_records
from audits.data.schemas import find_schema, infer_schema, list_record_strategies


@attrs.frozen(repr=False, eq=False)
class NeighbourPair:
    """Two neighbouring data sets, in `x` and `y`, as the mechanism receives them; unpack it: `x, y = pair`.
    Its text is the code that makes both, with the records in which they differ marked."""

    x: Any
    y: Any
    text: str

    def __iter__(self) -> Iterator[Any]:
        return iter((self.x, self.y))

    def __repr__(self) -> str:
        return self.text


def neighbours(
    data: Any, relation: Relation | str | None = None, *, user: Any = None
) -> st.SearchStrategy[NeighbourPair]:
    """A strategy of pairs of neighbouring data, of the type that `data` has or draws.

    data: a strategy of `audits.table`, `audits.records` and so on, or any that draws lists, arrays, pairs (X,
    y) or DataFrames; or an example of such data. relation: "add or remove one" and so on; default: that of
    vectors.
    user: whose a record is, unless the schema says it. They shrink to few, simple and equal records.

    >>> from hypothesis import find, strategies as st
    >>> pairs = neighbours(st.lists(st.integers(0, 9)), "add or remove one")
    >>> find(pairs, lambda pair: len(pair.y) > len(pair.x))
    x = []
    y = [0]  # record 1 is added: 0
    """
    if isinstance(data, st.SearchStrategy):
        schema, (record, base) = find_schema(data), list_record_strategies(data)
    else:
        schema, record, base = infer_schema(data), None, None
    if user is not None:
        schema = attrs.evolve(schema, user=user)
    chosen = schema.relation if relation is None else read_relation(relation)
    if chosen is None:
        raise InvalidArgument(
            "pairs need to be neighbours by a relation", remedy='Write neighbours(data, "add or remove one").'
        )
    check_relation(schema, chosen)
    drawn = neighbouring_records(schema, chosen, record, base)
    return drawn.map(lambda worlds: make_pair(schema, chosen, *worlds))


def make_pair(schema: Schema, relation: Relation, first: Records, second: Records) -> NeighbourPair:
    x, y = (next(schema.pack_games(records, 1)) for records in (first, second))
    return NeighbourPair(x, y, show_pair(schema, first, second, names=("x", "y")))


def show_pair(
    schema: Schema, first: Records, second: Records, *, names: tuple[str, str] = ("world_0", "world_1")
) -> str:
    """Both data sets as the user would write them, with a comment on the records in which they differ."""
    rows = first.rows(), second.rows()
    same = [a == b for a, b in zip(first.list_keys(), second.list_keys(), strict=False)]
    start = same.index(False) if False in same else len(same)
    changed = [f"{rows[world][start]!r}" for world in (0, 1) if start < len(rows[world])]
    longer = len(rows[1]) - len(rows[0])
    if longer:
        number = abs(longer)
        what = "record" if number == 1 else f"and {number - 1} more records"
        text = f"{'record ' if number == 1 else 'records from '}{start + 1}"
        side = rows[1] if longer > 0 else rows[0]
        verb = "added" if longer > 0 else "removed"
        text += f" {'is' if number == 1 else 'on are'} {verb}: {side[start]!r}" + (
            "" if number == 1 else f" {what}"
        )
    else:
        text = f"record {start + 1} differs" + (f": {' and '.join(changed)}" if changed else "")
    lines = [f"{name} = {schema.show(records)}" for name, records in zip(names, (first, second), strict=True)]
    return "\n".join([lines[0], f"{lines[1]}  # {text}"])


__all__ = ["NeighbourPair", "Neighbours", "neighbours"]
