"""The values of a field of records that a search tries first: the simplest, the ends of their range, missing
ones, and constants of the code that the field may hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Sized
from datetime import date, datetime
from functools import lru_cache, partial
from math import gcd
from typing import Any

import attrs

from arena.records import record_key
from arena.schemas.forms import is_missing
from arena.schemas.schema import Schema

MOST_VALUES = 99  # Hypothesis mixes other things into longer lists
_MOST_PROMINENT = 12  # values of a field that are drawn as often as all others together
_MOST_CONSTANTS = 8  # of the code, in one field
_LEAP_YEARS = range(2024, 1900, -4)
_SPECIAL_DAYS = ((2, 29), (12, 31))  # of a leap year, of which the last is day 366
_OVERFLOWS = tuple(2**bits for bits in (7, 8, 15, 16, 31, 32, 53))  # beyond the largest number of a type
_MANY_NUMBERS = 20  # distinct numbers, from which on those between them are numbers of the field, too
_MANY_TEXTS = 50  # and texts
_MANY_CHARACTERS = 128  # distinct ones, from which on all others of their kind may occur


def list_fields(schema: Schema) -> list[tuple[Callable[[Sequence[Any]], Any], Sequence[Sequence[Any]]]]:
    """What makes a record of the values of its fields, and these; of several tables, for each. Empty if they
    are not known."""
    if schema.parts:
        return [(partial(_join_part, name, part), part.columns or ()) for name, part in schema.parts]
    return [] if schema.columns is None else [(schema.join, schema.columns)]


def _join_part(name: str, part: Schema, values: Sequence[Any]) -> tuple[str, Any]:
    return name, part.join(values)


def list_ends(pool: Sequence[Any]) -> list[Any]:
    """The least value, the largest, a missing one if there is any, and the simplest. Text is as large as it
    is long, and so is what has no order; a list, as it has different entries."""
    special = [value for value in pool if is_missing(value)]
    ordered = _order(pool)
    return [*ordered[:1], *ordered[-1:], *special[:1], pool[0]]


def list_prominent(values: Sequence[Any]) -> list[Any]:
    """The simplest values, the ends, the middle and a missing one."""
    ordered = _order(values)
    special = [value for value in values if is_missing(value)]
    middle = ordered[len(ordered) // 2 : len(ordered) // 2 + 1]
    prominent = [*values[:3], *ordered[:1], *ordered[-1:], *special[:1], *middle, *values[3:6]]
    return list({record_key(value): value for value in prominent}.values())[:_MOST_PROMINENT]


def _order(pool: Sequence[Any]) -> list[Any]:
    """The values that are not missing, from the least to the largest; a pool has the simplest first."""
    values = [value for value in pool if not is_missing(value)]
    if any(isinstance(value, str | bytes | list | dict | set | frozenset) for value in values):
        return sorted(values, key=_measure)
    try:
        return sorted(values)
    except TypeError:  # of several types
        return values


def _measure(value: Any) -> tuple[int, int]:
    """How long it is; of a list first how many different entries it has."""
    distinct = len(set(map(repr, value))) if isinstance(value, list) else 0
    return distinct, len(value) if isinstance(value, Sized) else len(repr(value))


def list_constants_of(pool: Sequence[Any], constants: Iterable[Any]) -> list[Any]:
    """Constants of the code, as values of the type of a field, that its strategy could have drawn:
    what was drawn is all that is known of it.

    A number lies between the least and the largest, as far from them as a multiple of what all distances are
    multiples of; so does a date. Special days of a leap year, and whole numbers at which types overflow, are
    offered, too. A text is as long, has characters that
    occur in others, and those that occur in all.
    """
    values = [value for value in pool if not is_missing(value)]
    kinds = {type(value) for value in values}
    if len(kinds) != 1:
        return []
    kind = kinds.pop()
    if not issubclass(kind, int | float | str | date) or kind is bool:
        return []
    if len(set(values)) < (_MANY_TEXTS if kind is str else _MANY_NUMBERS):
        return []  # perhaps all values of a list
    fitting = (
        value for each in constants for value in _convert(each, values[0]) if _fits(value, kind, values)
    )
    chosen = list(dict.fromkeys(fitting))[:_MOST_CONSTANTS]
    special = (date(year, *day) for day in _SPECIAL_DAYS for year in _LEAP_YEARS)
    others: dict[tuple[int, ...], Any] = {}
    if issubclass(kind, date):
        for each in special:
            for day in _convert(each, values[0]):
                if _fits(day, kind, values):
                    others.setdefault((day.month, day.day), day)
    elif kind is int:
        others = {(number,): number for number in _OVERFLOWS if _fits(number, kind, values)}
    return list(dict.fromkeys([*chosen, *others.values()]))


def _convert(constant: Any, like: Any) -> list[Any]:
    """The constant as a value of this type and time zone, if it is one."""
    kind = type(like)
    try:
        if kind is str:
            return [constant] if isinstance(constant, str) else []
        if issubclass(kind, date):
            text = constant.isoformat() if isinstance(constant, date) else constant
            made = kind.fromisoformat(text)
            return [made.replace(tzinfo=like.tzinfo) if isinstance(made, datetime) else made]
        number = kind(constant)
        return [number] if number == float(constant) else []
    except (TypeError, ValueError, OverflowError):
        return []


def _fits(value: Any, kind: type, drawn: Sequence[Any]) -> bool:
    if kind is str:
        shared = set(drawn[-1]).intersection(*filter(None, drawn))
        characters = set().union(*drawn)
        is_known = len(characters) >= _MANY_CHARACTERS or characters.issuperset(value)
        lengths = [len(text) for text in drawn]
        return is_known and min(lengths) <= len(value) <= max(lengths) and shared.issubset(value)
    try:
        least, largest = min(drawn), max(drawn)
        step = gcd(*(each - least for each in drawn)) if kind is int else 1
        return bool(least < value < largest) and (kind is not int or (value - least) % step == 0)
    except TypeError:  # of dates with and without a time zone
        return False


def _can_hold(part: Schema, place: int, value: Any) -> bool:
    """Whether the user's strategy, if there is one, draws records with a value in a field."""
    if part.drawable is None or part.columns is None:
        return True
    values = [pool[0] for pool in part.columns]
    return part.drawable.can_draw_record(part.join([*values[:place], value, *values[place + 1 :]]))


@lru_cache(maxsize=64)
def offer_constants(schema: Schema, constants: tuple[Any, ...]) -> tuple[Schema, tuple[Any, ...]]:
    """The schema with constants of the code among the values of its fields, and records with each of them,
    in which all other values are the largest."""
    if schema.columns is None and not schema.parts:
        fitting = [
            value
            for value in list_constants_of(schema.examples, constants)
            if schema.drawable is None or schema.drawable.can_draw_record(value)
        ]
        examples = (*schema.examples[:1], *fitting, *schema.examples[1:])
        return attrs.evolve(schema, examples=examples), tuple(fitting)
    offered: list[Any] = []
    parts, columns = [], None
    for name, part in schema.parts or (("", schema),):
        assert part.columns is not None
        words = set(map(str, part.names))
        others = tuple(value for value in constants if value not in words)
        fitting = [
            [value for value in list_constants_of(pool, others) if _can_hold(part, place, value)]
            for place, pool in enumerate(part.columns)
        ]
        columns = tuple((*pool[:1], *own, *pool[1:]) for pool, own in zip(part.columns, fitting, strict=True))
        parts.append((name, attrs.evolve(part, columns=columns)))
        largest = [list_ends(pool)[1] for pool in part.columns]
        for place, own in enumerate(fitting):
            for value in own:
                record = part.join([*largest[:place], value, *largest[place + 1 :]])
                offered.append((name, record) if schema.parts else record)
    if schema.parts:
        return attrs.evolve(schema, parts=tuple(parts)), tuple(offered)
    return attrs.evolve(schema, columns=columns), tuple(offered)
