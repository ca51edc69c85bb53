"""Encoded releases as text, for transcripts."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from arena.points import format_point
from arena.released.encoding import (
    ARRAY,
    LEAST,
    MAP,
    MARKS,
    MISSING,
    PAIR,
    SINGLE,
    read_mark,
    texts,
)

_MOST_LETTERS = 200


def format_value(value: Any) -> str:
    """An encoded value of one game as text.

    >>> from arena.released import encode_values
    >>> format_value(encode_values([("yes", 1.5)])[0])
    "['yes' 1.5]"
    >>> format_value(encode_values([{"a": None, "b": [1, 2]}])[0])
    "{'a': None, 'b': [1 2]}"
    """
    row = np.ravel(value).astype(np.float64)
    if not ((row >= LEAST) & (row < 2 * MARKS[-1])).any():
        return format_point(value)
    if not np.ndim(value):
        return _format_entry(float(row[0]))
    numbers = row[row != MISSING].tolist()
    try:
        if numbers[:1] == [SINGLE]:
            text, rest = _format_part(numbers[1:])
        elif numbers and (read_mark(numbers[0]) or numbers[0] == PAIR):
            text, rest = _format_part(numbers)
        else:
            text, rest = f"[{' '.join(map(_format_entry, numbers))}]", []
    except IndexError:  # nobody encoded it
        rest = numbers
    if rest:
        text = format_point(numbers)
    return text if len(text) <= _MOST_LETTERS else f"{text[:_MOST_LETTERS]} ..."


def _format_part(numbers: list[float]) -> tuple[str, list[float]]:
    """The text of the first part, and the numbers after it."""
    mark = read_mark(numbers[0])
    if mark is None:
        if numbers[0] == PAIR:
            return f"{numbers[1]:.17g}{numbers[2]:+.17g}", numbers[3:]
        return _format_entry(numbers[0]), numbers[1:]
    (kind, count), rest, parts = mark, numbers[1:], []
    if kind == ARRAY:
        lengths = [read_mark(length) for length in rest[:count]]
        size = prod(length[1] for length in lengths if length is not None)
        return format_point(rest[count : count + size]), rest[count + size :]
    for _ in range(count):
        key = ""
        if kind == MAP:
            key, rest = f"{_format_entry(rest[0]).removeprefix('str ')}: ", rest[1:]
        text, rest = _format_part(rest)
        parts.append(key + text)
    return (f"{{{', '.join(parts)}}}" if kind == MAP else f"[{' '.join(parts)}]"), rest


def _format_entry(number: float) -> str:
    return texts.get(number) or format_point(number)
