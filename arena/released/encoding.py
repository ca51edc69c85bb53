"""The encoding of releases: a row of numbers for each game.

Plain numbers, and arrays of numbers of one shape, stay as they are. Otherwise a game has a row, which ends in
`MISSING` where other games have longer ones:

- a single value: SINGLE and its entry; if all games release single values, the entries alone, (n,);
- a flat list: its entries, nothing else;
- anything else: LIST(n) and n parts, MAP(n) and n pairs of the code of a key and a part, in the order of the
  keys' texts, or ARRAY(dimensions), the LENGTH of each and the entries of an array of numbers.

An entry is a number, the code of a symbol, or PAIR and two numbers, whose sum is a number that no float
equals. Marks and codes are numbers from 2^700 on, which no mechanism releases. What a row says does not
depend on the other games: `arena.released.columns` reads the same features from all ways to write a value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from math import inf, isfinite, ldexp, prod
from typing import Any

import numpy as np

from arena.errors import Unsupported
from arena.points import LARGEST_INTEGER
from arena.released.known_types import MAX_DEPTH, Fields, Number, Part, Symbol, take_apart

# A symbol's code lies between 2^700 and 2^701, the same in every process, so that counts of blocks agree. Two
# symbols share one with probability 2^-52.
LEAST = ldexp(1.0, 700)
MISSING = ldexp(1.0, 710)
SINGLE, PAIR, LIST, MAP, ARRAY, LENGTH = MARKS = tuple(ldexp(1.0, 720 + 10 * kind) for kind in range(6))
_COUNT = ldexp(1.0, -40)  # a mark of n parts is the mark times 1 + n 2^-40
_MAX_CELLS = 2**27  # numbers in the rows of a batch, 1 GB
_MAX_TEXTS = 4_096  # codes whose text is remembered for transcripts
_FEW_GAMES = 64  # up to which texts that all differ are no reason for a refusal
_UNIQUE = 0.9  # share of the texts of a batch that differ from all others, from which on they are useless
_PLAIN = {bool, int, float, np.bool_, np.float16, np.float32, np.float64} | {
    np.dtype(f"{sign}int{bits}").type for sign in ("", "u") for bits in (8, 16, 32, 64)
}

texts: dict[float, str] = {}  # by code; only transcripts read it


def encode_values(values: Any) -> np.ndarray:
    """(n,) or (n, ...): what n games released, in numbers.

    values: an array (n, ...), or a list with one value for each game. What a value may hold, and which values
    count as equal, is said by `arena.released.known_types.take_apart`. An array of floats stays as it is, so
    that encoded values can be encoded again.

    Raises: Unsupported for objects whose type is not known, or more entries than memory holds.

    >>> encode_values([1, 2.5]).tolist()
    [1.0, 2.5]
    >>> is_category(encode_values(["yes", None, 3])).tolist()
    [True, True, False]
    """
    plain = _find_numbers(values)
    if plain is not None:
        return plain
    parts = [take_apart(value) for value in values]
    single = [[] if isinstance(part, list | Fields) else _encode_entry(part) for part in parts]
    if all(len(entry) == 1 for entry in single):
        return np.array(single, np.float64)[:, 0]
    rows = [_write_value(part) for part in parts]
    width = max(map(len, rows))
    if width * len(rows) > _MAX_CELLS:
        raise Unsupported(
            "the releases of a batch must fit into memory",
            value=f"up to {width:,} numbers in each of {len(rows):,} games",
            remedy="Release fewer numbers, or play smaller blocks.",
        )
    table = np.full((len(rows), width), MISSING)
    for row, entries in zip(table, rows, strict=True):
        row[: len(entries)] = entries
    return table


def list_objects(values: Sequence[Any]) -> np.ndarray:
    """(n,): the released values of n games as an array of objects, whatever these are."""
    table = np.empty(len(values), object)
    for game, value in enumerate(values):
        table[game] = value
    return table


def is_category(values: np.ndarray) -> np.ndarray:
    """Bool, of the shape of `values`: which of them are codes."""
    return np.asarray((values >= LEAST) & (values < 2 * LEAST))


def has_unique_text(encoded: np.ndarray) -> bool:
    """Whether some text or key differs in nearly all games, so that no event about it can be counted."""
    if encoded.dtype != np.float64 or encoded.ndim > 2 or len(encoded) <= _FEW_GAMES:
        return False
    for column in encoded.reshape(len(encoded), -1).T:
        codes = column[is_category(column)]
        if len(codes) > _FEW_GAMES and len(np.unique(codes)) > _UNIQUE * len(codes):
            return True
    return False


def fit_rows(values: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Encoded values (n,) or (n, k) as rows (n, width), and whether each fits into so many numbers (n,)."""
    rows = np.asarray(values, np.float64)
    if rows.ndim == 1:
        rows = np.column_stack([np.full(len(rows), SINGLE), rows])
    fits = (rows[:, width:] == MISSING).all(axis=1)
    rows = rows[:, :width]
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=MISSING), fits


# --- plain numbers ------------------------------------------------------------------------------------------


def _find_numbers(values: Any) -> np.ndarray | None:
    """The values as an array of numbers; None if they are anything else, or not exact as such."""
    if type(values) is not np.ndarray or values.dtype == object:
        values = list(values)
        if not values:
            return np.zeros(0)
        if _find_shape(values) is None:
            return None
    numbers = np.asarray(values)
    if (
        numbers.dtype.kind not in "biuf"
        or numbers.dtype.itemsize > 8
        or (numbers.ndim > 2 and len(numbers) and not numbers.size)
    ):
        return None
    return numbers if _is_exact(numbers, values) else None


def _is_exact(numbers: np.ndarray, values: Any) -> bool:
    """Whether no integer among the values, of which `numbers` is an array, lies beyond ±2^53."""
    if numbers.dtype.kind == "b" or not numbers.size:
        return True
    if numbers.max() <= LARGEST_INTEGER and numbers.min() >= -LARGEST_INTEGER:
        return True
    if type(values) is np.ndarray or numbers.dtype.kind != "f":
        return numbers.dtype.kind == "f"
    if isinstance(values, list | tuple):
        return all(_is_exact(np.asarray(value), value) for value in values)
    return isinstance(values, float | np.floating) or abs(values) <= LARGEST_INTEGER


def _find_shape(value: Any, depth: int = 0) -> tuple[int, ...] | None:
    """The shape of an array or of lists of numbers; None if it is anything else."""
    kind = type(value)
    if kind in _PLAIN:
        return ()
    if kind is np.ndarray:
        return value.shape if value.dtype.kind in "biuf" and value.dtype.itemsize <= 8 else None
    if (kind is not list and kind is not tuple) or depth > MAX_DEPTH + 1:
        return None
    if set(map(type, value)) <= _PLAIN:
        return (len(value),)
    shapes = {_find_shape(part, depth + 1) for part in value}
    shape = shapes.pop()
    return None if shapes or shape is None else (len(value), *shape)


# --- rows ---------------------------------------------------------------------------------------------------


def _write_value(part: Part) -> list[float]:
    if isinstance(part, list):
        entries = [[] if isinstance(each, list | Fields) else _encode_entry(each) for each in part]
        if all(len(entry) == 1 for entry in entries):
            return [entry[0] for entry in entries]
    elif not isinstance(part, Fields):
        return [SINGLE, *_encode_entry(part)]
    row: list[float] = []
    _write_part(part, row)
    return row


def _write_part(part: Part, row: list[float]) -> None:
    if isinstance(part, Fields):
        row.append(_mark(MAP, len(part.parts)))
        for key in sorted(part.parts):
            row.append(_encode_text("key", key))
            _write_part(part.parts[key], row)
    elif isinstance(part, list):
        shape = _find_table(part)
        if shape is not None:
            row += [_mark(ARRAY, len(shape)), *(_mark(LENGTH, length) for length in shape)]
            row += np.ravel(np.array(part, np.float64)).tolist()
            return
        row.append(_mark(LIST, len(part)))
        for each in part:
            _write_part(each, row)
    else:
        row += _encode_entry(part)


def _find_table(part: list[Part]) -> tuple[int, ...] | None:
    """The shape of lists that are an array of two or more dimensions of floats; None otherwise."""
    shape = _find_shape(part)
    if shape is None or len(shape) < 2 or not prod(shape):
        return None
    return shape if _is_exact(np.asarray(part), part) else None


def _mark(kind: float, count: int) -> float:
    return kind * (1.0 + count * _COUNT)


def read_mark(number: float) -> tuple[float, int] | None:
    """The kind of a mark and the number of its parts; None if a number is no such mark."""
    for kind in (LIST, MAP, ARRAY, LENGTH):
        if kind <= number < 2 * kind:
            return kind, round((number / kind - 1.0) / _COUNT)
    return None


def _encode_entry(part: Symbol | Number) -> list[float]:
    """The code of a symbol; a number, or its mark and two floats that add up to it."""
    if isinstance(part, Symbol):
        return [_encode_text(part.kind, part.text)]
    if isinstance(part, float):
        return [part]
    try:
        high = float(part)
    except OverflowError:  # an integer without a float near it
        return [_encode_text("int", str(part))]
    if not isfinite(high) or high == part:
        return [_encode_text("longdouble", repr(part))] if abs(high) == inf != abs(part) else [high]
    if isinstance(part, np.longdouble):
        return [PAIR, high, float(part - np.longdouble(high))]
    rest = Fraction(part) - Fraction(high)
    low = float(rest)
    if isinstance(part, int) and low != rest:
        return [_encode_text("int", str(part))]
    return [PAIR, high, low]


def _encode_text(kind: str, text: str) -> float:
    digest = hashlib.sha256(f"{kind} {text}".encode(errors="surrogatepass")).digest()
    code = LEAST * (1.0 + ldexp(int.from_bytes(digest[:8], "big") >> 12, -52))
    if len(texts) < _MAX_TEXTS:
        texts[code] = text
    return code
