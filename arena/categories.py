"""Released values that are not numbers: text, None, and tuples or lists with text or None in them.

Each distinct value becomes a number between 2^700 and 2^701, its code, that no mechanism releases: the same
in every process, so that counts of blocks agree. Two values share a code with probability 2^-52.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence, Set
from math import inf, ldexp
from numbers import Real
from typing import Any

import numpy as np

from arena.errors import Unsupported
from arena.points import format_point

_LEAST = ldexp(1.0, 700)
_ABSENT = "no further value"  # the value in places that other games of a batch fill
_MAX_TEXTS = 4_096  # codes whose text is remembered for transcripts

_texts: dict[float, str] = {}  # by code; only transcripts read it


def encode_values(values: Any) -> np.ndarray:
    """(n,) or (n, k): what n games released, in numbers.

    values: an array (n, ...), or a list with one value for each game. Numbers, and arrays of numbers of one
    shape, stay as they are. Everything else is taken apart into numbers and codes, one in each column.

    Raises: Unsupported if games release numbers of several shapes, or objects without a text of their own.

    >>> encode_values([1, 2.5]).tolist()
    [1.0, 2.5]
    >>> is_category(encode_values(["yes", None, 3])).tolist()
    [True, True, False]
    """
    try:
        array = np.asarray(values)
    except ValueError:  # entries of different shapes
        array = np.zeros(0, object)
    if array.dtype.kind in "biuf":
        return array
    single = not any(_is_container(value) for value in values)
    rows = [list(_take_apart(value)) for value in values]
    width = max([1, *map(len, rows)])
    if any(len(row) < width for row in rows) and all(isinstance(leaf, Real) for row in rows for leaf in row):
        raise Unsupported(
            "a release must have the same shape in every game", value="values of several shapes"
        )
    codes = [[_encode(leaf) for leaf in [*row, *[_ABSENT] * (width - len(row))]] for row in rows]
    return np.array(codes, np.float64).reshape(len(rows), width)[:, 0 if single else slice(None)]


def is_category(values: np.ndarray) -> np.ndarray:
    """Bool, of the shape of `values`: which of them are codes."""
    return np.asarray((values >= _LEAST) & (values < 2 * _LEAST))


def spread_codes(values: np.ndarray) -> np.ndarray:
    """The values as floats, with codes spread over [0, 1)."""
    return np.where(is_category(values), values / _LEAST - 1.0, values)


def format_value(value: Any) -> str:
    """A released value of one game as text.

    >>> format_value(encode_values([("yes", 1.5)])[0])
    "['yes' 1.5]"
    """
    if not is_category(np.asarray(value)).any():
        return format_point(value)
    parts = [_texts.get(float(v)) or format_point(v) for v in np.ravel(value)]
    return f"[{' '.join(parts)}]" if np.ndim(value) else parts[0]


def _is_container(value: object) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence | Mapping | Set) and not isinstance(value, str | bytes | bytearray)


def _take_apart(value: Any, *, nested: bool = False) -> Iterator[object]:
    """The numbers and other single values in a value, in order. The size of a part tells where it ends."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim):
        value = value.item()
    if isinstance(value, complex):
        value = (value.real, value.imag)
    if not _is_container(value):
        yield value
        return
    if nested:
        yield f"{type(value).__name__} of {len(value)}"
    if isinstance(value, Mapping):
        value = [part for item in sorted(value.items(), key=repr) for part in item]
    elif isinstance(value, Set):
        value = sorted(value, key=repr)
    for part in value:
        yield from _take_apart(part, nested=True)


def _encode(leaf: object) -> float:
    if isinstance(leaf, Real):
        number = _to_float(leaf)
        if abs(number) < _LEAST or abs(number) == inf:
            return number
    text = repr(leaf)
    if " at 0x" in text and not isinstance(leaf, str | bytes):  # an address differs between processes
        raise Unsupported(
            "a release must be made of numbers, text and None",
            value=type(leaf).__name__,
            remedy="Return numbers, text, None, or tuples, lists and dictionaries of these.",
        )
    digest = hashlib.sha256(f"{type(leaf).__name__} {text}".encode(errors="surrogatepass")).digest()
    code = _LEAST * (1.0 + ldexp(int.from_bytes(digest[:8], "big") >> 12, -52))
    if len(_texts) < _MAX_TEXTS:
        _texts[code] = text
    return code


def _to_float(number: Real) -> float:
    try:
        return float(number)
    except OverflowError:  # an integer without a float near it
        return float("nan")
