"""Two neighbouring data sets of records: their code, and a table that marks where they differ."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from typing import Any, Self

import attrs

from arena.records import Records
from arena.schemas.differences import show_pair
from arena.schemas.forms import LabelledForm, TablesForm
from arena.schemas.schema import Schema
from audits.reports.formatting import WIDTH, column_table
from audits.reports.report import Part, escape_text

BOTH = "both"
_ONLY = ("world 0 only", "world 1 only")
_CONTEXT = 2  # records of both worlds that are shown before and after one of a single world
_MOST_ROWS = 40  # of a table
_MOST_FIELDS = 16
_MOST_LETTERS = 40  # of a value
_MOST_CODE = 1_500  # letters of code, above which the table says more
_MOST_RECORDS = 100_000  # more are not compared one by one
_LEFT_OUT = object()  # in place of a record
Rows = tuple[tuple[str, ...], ...]


@attrs.frozen
class DataPair(Part):
    """Two data sets as one table, below a sentence. rows: as of `compare_records`. code: that makes both."""

    rows: Rows
    code: str = ""
    introduction: str = ""

    @classmethod
    def of(cls, schema: Schema, first: Records, second: Records, introduction: str = "") -> Self:
        return cls(compare_records(schema, first, second), show_pair(schema, first, second), introduction)

    def text(self, width: int = WIDTH) -> str:
        if 0 < len(self.code) <= _MOST_CODE or not self.rows:
            shown = self.code
        else:
            shown = column_table(self.rows[1:], self.rows[0])
        return f"{self.introduction}\n\n{shown}" if self.introduction else shown

    def html(self) -> str:
        parts = [f"<p>{escape_text(self.introduction)}</p>"] if self.introduction else []
        if self.rows:
            parts += ['<div class="wide" tabindex="0">', "<table>", *self._list_lines(), "</table>", "</div>"]
        if 0 < len(self.code) <= _MOST_CODE or not self.rows:
            parts.append(f'<pre class="code" tabindex="0">{escape_text(self.code)}</pre>')
        return "\n".join(parts)

    def _list_lines(self) -> Iterator[str]:
        header, *body = self.rows
        yield "<thead><tr>" + "".join(f"<th>{escape_text(name)}</th>" for name in header) + "</tr></thead>"
        for world, *cells in body:
            mark = f' class="only-{_ONLY.index(world)}"' if world in _ONLY else ""
            yield (
                f"<tr{mark}>" + "".join(f"<td>{escape_text(cell)}</td>" for cell in (world, *cells)) + "</tr>"
            )


def compare_records(schema: Schema, first: Records, second: Records) -> Rows:
    """A header and the records in which two data sets differ, with a few neighbours, each with the worlds
    that have it; empty if they have the same ones, or too many to compare."""
    if max(first.size, second.size) > _MOST_RECORDS:
        return ()
    only = first.find_excess(second), second.find_excess(first)
    if not (only[0].any() or only[1].any()):
        return ()
    merged = [*_merge(first.rows(), second.rows(), *(mask.tolist() for mask in only))]
    rows = [*_leave_out(merged)]
    if len(rows) > _MOST_ROWS:
        left = sum(world != BOTH for world, _ in rows[_MOST_ROWS:])
        rows[_MOST_ROWS:] = [(f"{left:,} more of one world", _LEFT_OUT)] if left else []
    some = next(record for world, record in merged if world != BOTH)
    names = _name_fields(schema, some)
    cells = [(world, *_list_cells(schema, record, len(names))) for world, record in rows]
    return (("in", *names), *cells)


def _merge(
    rows: Sequence[Any], others: Sequence[Any], only_0: Sequence[bool], only_1: Sequence[bool]
) -> Iterator[tuple[str, Any]]:
    """The records of both worlds in one order, with the worlds that have them."""
    place = 0
    for row, alone in zip(rows, only_0, strict=True):
        if not alone:
            while place < len(others) and only_1[place]:
                yield _ONLY[1], others[place]
                place += 1
            place += 1
        yield (_ONLY[0] if alone else BOTH), row
    for other, alone in zip(others[place:], only_1[place:], strict=True):
        if alone:
            yield _ONLY[1], other


def _leave_out(merged: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The records near those of one world only; a number stands for the others."""
    marked = [place for place, (world, _) in enumerate(merged) if world != BOTH]
    near = {place + step for place in marked for step in range(-_CONTEXT, _CONTEXT + 1)}
    left = 0
    for place, row in enumerate(merged):
        if place not in near:
            left += 1
            continue
        if left:
            yield _describe_rest(left)
        left = 0
        yield row
    if left:
        yield _describe_rest(left)


def _describe_rest(number: int) -> tuple[str, Any]:
    return f"{number:,} more in both", _LEFT_OUT


def _name_fields(schema: Schema, record: Any) -> tuple[str, ...]:
    if isinstance(schema.form, LabelledForm):
        return ("features", "target")
    if isinstance(schema.form, TablesForm):
        return ("table", "row")
    if isinstance(record, dict):
        return tuple(map(str, record))
    if not isinstance(record, tuple) or not 0 < len(record) <= _MOST_FIELDS:
        return ("record",)
    number = len(record)
    names = schema.form.list_names(number) or [*range(number)]
    return ("index",) * (number - len(names)) + tuple(map(str, names))


def _list_cells(schema: Schema, record: Any, number: int) -> tuple[str, ...]:
    if record is _LEFT_OUT:
        return ("",) * number
    values = tuple(record.values()) if isinstance(record, dict) else record
    if not isinstance(values, tuple) or len(values) != number:
        values = (record, *[""] * (number - 1))
    return tuple(map(_show_cell, values))


def _show_cell(value: Any) -> str:
    text = str(value) if isinstance(value, datetime.date | datetime.time) else repr(value)
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 3]}..."
