"""Records like those of an example, with numbers beyond its range."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, isfinite, log10
from typing import Any

from arena.errors import RAISED
from arena.records import record_key
from arena.schemas.forms import Form, TablesForm, is_missing
from arena.schemas.frames import PandasForm

_Path = tuple[Any, ...]  # places and keys that lead from a record to a number in it

_LEAST_POWER = 6  # of ten, the least size of a number beyond the range
_POWERS_BEYOND = 3  # of ten: it is that many times larger than all numbers of the example
_LIMITS = (2**15 - 1, 2**8 - 1, 2**7 - 1)  # the largest numbers of types that hold none of that size
_MOST_FIELDS = 4  # that are changed alone


def list_far_records(form: Form, rows: Sequence[Any]) -> tuple[Any, ...]:
    """The first of the rows with far larger and smaller numbers than any row has: in one field, and last in
    all of them. Whole numbers 0 and 1 alone are labels, which stay as they are; so do truth values, dates,
    text and categories."""
    if isinstance(form, TablesForm):
        of_tables = {name: [record for table, record in rows if table == name] for name in form.forms}
        return tuple(
            (name, record)
            for name, own in of_tables.items()
            for record in list_far_records(form.forms[name], own)
        )
    if not rows:
        return ()
    ends: list[dict[_Path, Any]] = [{}, {}]
    for path in _list_paths(rows[0]):
        if path[:1] == (0,) and isinstance(form, PandasForm) and form.index is not None:
            continue  # the label of a row
        numbers = _list_numbers(rows, path)
        for end, sign in zip(ends, (-1, 1), strict=True):
            for value in _list_beyond(numbers, sign):
                if _holds(form, _put(rows[0], path, value), path, value):
                    end[path] = value
                    break
    alone = [_put(rows[0], path, end[path]) for end in ends for path in list(end)[:_MOST_FIELDS]]
    at_once = [_put_all(rows[0], end) for end in ends if end]
    far = {record_key(record): record for record in (*at_once[:1], *alone, *at_once[1:])}
    last = [record_key(record) for record in at_once[1:]]
    return tuple(record for key, record in far.items() if key not in last) + tuple(at_once[1:])


def _list_paths(record: Any) -> Iterator[_Path]:
    """The paths to all numbers of a record, a number or a tuple, list or dictionary of such things."""
    if isinstance(record, tuple | list | dict):
        parts = record.items() if isinstance(record, dict) else enumerate(record)
        for place, part in parts:
            yield from ((place, *path) for path in _list_paths(part))
    elif (isinstance(record, int | float) and not isinstance(record, bool)) or is_missing(record):
        yield ()


def _list_numbers(rows: Sequence[Any], path: _Path) -> list[Any]:
    """The numbers at this path in all rows, if there are only numbers and missing values."""
    values = []
    for row in rows:
        try:
            for place in path:
                row = row[place]
        except (LookupError, TypeError):
            return []
        values.append(row)
    present = [value for value in values if not is_missing(value)]
    are_numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in present)
    return present if are_numbers else []


def _list_beyond(numbers: Sequence[Any], sign: int) -> Iterator[Any]:
    """Numbers of the same type below or above all of these, the most extreme first."""
    finite = [number for number in numbers if isfinite(number)]
    if not finite or (all(isinstance(number, int) for number in finite) and set(finite) <= {0, 1}):
        return
    kind = float if any(isinstance(number, float) for number in finite) else int
    largest = max(map(abs, finite))
    power = max(_LEAST_POWER, ceil(log10(largest)) + _POWERS_BEYOND) if largest else _LEAST_POWER
    for size in (10**power, *_LIMITS, 0):
        if (sign * size > max(finite)) if sign > 0 else (-size < min(finite)):
            yield kind(sign * size)


def _holds(form: Form, record: Any, path: _Path, value: Any) -> bool:
    """Whether data of this form hold the value as it is."""
    try:
        (held,) = form.unpack(form.pack([record]))
    except RAISED:
        return False
    return _list_numbers([held], path) == [value]


def _put(record: Any, path: _Path, value: Any) -> Any:
    if not path:
        return value
    place, *rest = path
    part = _put(record[place], tuple(rest), value)
    if isinstance(record, dict):
        return {**record, place: part}
    return type(record)(part if each == place else old for each, old in enumerate(record))


def _put_all(record: Any, values: dict[_Path, Any]) -> Any:
    for path, value in values.items():
        record = _put(record, path, value)
    return record
