"""Pairs of neighbouring data for property-based tests, as the user's mechanism receives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs
from hypothesis import strategies as st

from arena.claims import Relation, read_relation
from arena.errors import InvalidArgument
from arena.records import Records
from arena.schemas.differences import show_pair
from arena.schemas.schema import Schema
from audits.adversary_search.records.record_strategies import check_relation, neighbouring_records
from audits.data.schemas import find_schema, infer_schema, list_record_strategies


@attrs.frozen(repr=False, eq=False)
class NeighbourPair:
    """Two neighbouring data sets, in `x` and `y`, as the mechanism receives them; unpack it: `x, y = pair`.
    Its text is the code that makes both, and says in which records they differ."""

    x: Any
    y: Any
    _schema: Schema
    _records: tuple[Records, Records]

    def __iter__(self) -> Iterator[Any]:
        return iter((self.x, self.y))

    def __repr__(self) -> str:
        return show_pair(self._schema, *self._records, names=("x", "y"))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Hypothesis prints an argument of a failing test by this method: as code that may be copied."""
        x, y = map(self._schema.show, self._records)
        change = repr(self).removeprefix(f"x = {x}\ny = {y}").strip()
        with printer.group(4, "(", ""):
            for line in (f"{x},", f"{y},  {change}"):
                printer.break_()
                printer.text(line)
        printer.break_()
        printer.text(")")


def neighbours(
    data: Any, relation: Relation | str | None = None, *, user: Any = None
) -> st.SearchStrategy[NeighbourPair]:
    """A strategy of pairs of neighbouring data, of the type that `data` has or draws.

    data: a strategy of `audits.table`, `audits.records` and so on, or any that draws lists, arrays, pairs (X,
    y) or DataFrames; or an example of such data. relation: "add or remove one" and so on; `audits.vector`
    brings its own. user: whose a record is, unless the schema says it. Pairs shrink to few, simple and equal
    records.

    >>> from hypothesis import find, strategies as st
    >>> pairs = neighbours(st.lists(st.integers(0, 9)), "add or remove one")
    >>> find(pairs, lambda pair: len(pair.y) > len(pair.x))
    x = []
    y = [0]  # record 1 is added: 0
    """
    if isinstance(data, st.SearchStrategy):
        schema, (record, base) = find_schema(data), list_record_strategies(data)
    else:
        schema, record, base = infer_schema(data, within=True), None, None
    if user is not None:
        schema = attrs.evolve(schema, user=user)
    chosen = schema.relation if relation is None else read_relation(relation)
    if chosen is None:
        raise InvalidArgument(
            "neighbours differ by a relation, which is missing",
            remedy='Write neighbours(data, "add or remove one").',
        )
    check_relation(schema, chosen)
    drawn = neighbouring_records(schema, chosen, record, base)
    return drawn.map(lambda worlds: make_pair(schema, chosen, *worlds))


def make_pair(schema: Schema, relation: Relation, first: Records, second: Records) -> NeighbourPair:
    x, y = (next(schema.pack_games(records, 1)) for records in (first, second))
    return NeighbourPair(x, y, schema, (first, second))
