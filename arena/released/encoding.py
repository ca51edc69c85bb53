"""Releases as arrays of numbers: their encoding, a row for each game, and the features of it, by name.

Plain numbers, and arrays of numbers of one shape, stay as they are. Otherwise a game has a row, which ends in
`MISSING` where other games have longer ones:

- a single value: SINGLE and its entry; if all games release single values, the entries alone, (n,);
- a flat list: its entries, nothing else;
- anything else: LIST(n) and n parts, MAP(n) and n pairs of the code of a key and a part, in the order of the
  keys' texts, or ARRAY(dimensions), the LENGTH of each and the entries of an array of numbers.

An entry is a number, the code of a symbol, or PAIR and two numbers, whose sum is a number that no float
equals. Marks and codes are numbers from 2^700 on, which no mechanism releases.

Features are a function of one game's value, however it was written: `value` is the number that is released,
`value[3]` an entry of a list or, in the order of numpy, of an array, `value{1f...}` the part at a key, by a
hash. Behind such a name, ` text` is the code of a symbol, spread over [0, 1), ` low` what is to be added to
the number, ` sign` is -1 of a negative zero, ` shape` that of an array, as a code, and ` size` stands for an
empty list in another (0) or an empty dictionary (1). What a game does not have is `ABSENT`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from fractions import Fraction
from math import inf, isfinite, ldexp, prod
from typing import Any

import numpy as np

from arena.errors import Unsupported, count_things
from arena.released.paths import write_feature
from arena.released.types import MAX_DEPTH, Fields, Number, Part, Symbol, take_apart
from arena.sample import LARGEST_INTEGER, hash_rows

# A symbol's code lies between 2^700 and 2^701, the same in every process, so that counts of blocks agree. Two
# symbols share one with probability 2^-52.
LEAST = ldexp(1.0, 700)
MISSING = ldexp(1.0, 710)
SINGLE, PAIR, LIST, MAP, ARRAY, LENGTH = MARKS = tuple(ldexp(1.0, 720 + 10 * kind) for kind in range(6))
_COUNT = ldexp(1.0, -40)  # a mark of n parts is the mark times 1 + n 2^-40
_MAX_CELLS = 2**27  # numbers in the rows of a batch, 1 GB
_MAX_TEXTS = 8_192  # codes whose text is remembered
_FEW_GAMES = 63  # up to which texts that all differ are no reason for a refusal
_UNIQUE = 0.9  # share of the texts of a batch that differ from all others, from which on they are useless
_PLAIN = {bool, int, float, np.bool_, np.float16, np.float32, np.float64} | {
    np.dtype(f"{sign}int{bits}").type for sign in ("", "u") for bits in (8, 16, 32, 64)
}

texts: dict[float, str] = {}  # by code; for people only
ABSENT = -3e300  # below every other feature; numbers beyond 1e299 are no magnitudes
_FIRST_KEY = re.compile(r"value\{[0-9a-f]+\}")
_MOST_KEYS = 12  # that a description names
_NOT_COMPARED = "not compared: types of numbers and lists, order of keys"
_MAX_COLUMNS = 4_096  # of releases with keys or lists in lists
_SUFFIXES = (" text", " low", " sign", " shape", " size")


def encode_values(values: Any) -> np.ndarray:
    """(n,) or (n, ...): what n games released, in numbers; an array of floats stays as it is. values: an
    array (n, ...), or a list with one value for each game. Raises: Unsupported for objects whose type is not
    known, or more entries than memory holds.

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
    return np.fromiter(values, object, len(values))


def is_category(values: np.ndarray) -> np.ndarray:
    """Bool, of the shape of `values`: which of them are codes."""
    return np.asarray((values >= LEAST) & (values < 2 * LEAST))


def has_unique_text(encoded: np.ndarray) -> bool:
    """Whether some text or key differs in nearly all games, so that no event about it can be counted."""
    if encoded.dtype != np.float64 or encoded.ndim > 2 or len(encoded) <= _FEW_GAMES:
        return False
    if not (encoded >= LEAST).any():
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
    if numbers.max().item() <= LARGEST_INTEGER and numbers.min().item() >= -LARGEST_INTEGER:
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
    if code not in texts and len(texts) >= _MAX_TEXTS:
        del texts[next(iter(texts))]  # the oldest
    texts[code] = text
    return code


def code_of_text(kind: str, text: str) -> float:
    """The code of a symbol as features have it, in [0, 1)."""
    return _encode_text(kind, text) / LEAST - 1.0


Place = tuple[str, int, float]  # the name of a feature, where it is in the row, or -1 and the feature


def value_columns(value: np.ndarray, name: str) -> dict[str, np.ndarray]:
    """The features (n,) of the encoded values (n, ...) of n games, by their names, which begin with `name`.
    Raises: Unsupported if there are more than 4,096, since the keys of dictionaries differ too much."""
    floats = np.asarray(value, np.float64)
    columns = _list_features(floats, name)
    signs = np.signbit(floats) & (floats == 0.0) if np.asarray(value).dtype.kind == "f" else np.zeros(0, bool)
    if not signs.any():
        return columns
    marks = _list_features(np.where(signs, 1.0, np.where(np.abs(floats) < LEAST, 0.0, floats)), name)
    zeros = {
        f"{feature} sign": np.where(column == 1.0, -1.0, ABSENT)
        for feature, column in marks.items()
        if not name_suffix(feature)
    }
    return columns | {feature: column for feature, column in zeros.items() if (column != ABSENT).any()}


def _list_features(floats: np.ndarray, name: str) -> dict[str, np.ndarray]:
    """The features as numbers, without the signs of zeros."""
    if floats.ndim > 2:
        shape = f"{name} shape", np.full(len(floats), _code_of_shape(floats.shape[1:]))
        return _list_features(floats.reshape(len(floats), -1), name) | dict([shape])
    special = (floats >= LEAST) & (floats < 2 * MARKS[-1])
    if floats.ndim == 1:
        return _split_column(floats, special, name)
    marked = np.flatnonzero((special & (floats >= SINGLE)).any(axis=1))
    if not len(marked):
        return _list_columns(floats, special, name)
    plain = np.setdiff1d(np.arange(len(floats)), marked)
    columns: dict[str, np.ndarray] = {}
    if len(plain):
        _add_columns(columns, _list_columns(floats[plain], special[plain], name), plain, len(floats))
    rows = floats[marked]
    skeletons = np.where(special[marked], rows, 0.0)
    skeletons[rows == MISSING] = MISSING
    order = np.lexsort(skeletons.T[::-1])
    starts = np.flatnonzero(np.append(True, (np.diff(skeletons[order], axis=0) != 0).any(axis=1)))
    for games in np.split(order, starts[1:]):
        part = rows[games]
        read = {}
        for feature, place, number in _read_row(part[0], name):
            column = np.full(len(part), number) if place < 0 else part[:, place]
            read[feature] = column / LEAST - 1.0 if feature.endswith(" text") else column
        _add_columns(columns, read, marked[games], len(floats))
    return columns


def align_columns(parts: Sequence[dict[str, np.ndarray]], *, fill: float) -> list[np.ndarray]:
    """The features of several batches as arrays (n, F) with the same columns; `fill` where one lacks it."""
    names = dict.fromkeys(name for part in parts for name in part)
    absent = [np.full(len(next(iter(part.values()))), fill) for part in parts]
    return [
        np.stack([part.get(name, missing) for name in names], axis=1)
        for part, missing in zip(parts, absent, strict=True)
    ]


def hash_values(value: np.ndarray) -> np.ndarray:
    """(n,) uint64: hashes of encoded values (n, ...), whatever the other games released. Collisions:
    2^-64."""
    total = np.zeros(len(value), np.uint64)
    for name, column in value_columns(value, "value").items():
        bits = np.where(np.isnan(column), np.nan, column + 0.0)  # one NaN, and no -0
        key = float(int.from_bytes(hashlib.sha256(name.encode()).digest()[:6], "big"))
        hashes = hash_rows(np.column_stack([np.full(len(bits), key), bits]))
        total += np.where(column == ABSENT, np.uint64(0), hashes)
    return total


def name_suffix(name: str) -> str:
    """What a feature says besides a number: " text", " low", " shape", " size", or nothing."""
    return next((suffix for suffix in _SUFFIXES if name.endswith(suffix)), "")


def describe_feature(name: str) -> str:
    """A feature of a released value in the user's terms, such as `coef_[1]`, `key "k3"` or `the text`. Keys
    are known in processes that have encoded a value with them; of others it says the hash."""
    return write_feature(name, lambda digits: texts.get(LEAST * (1.0 + ldexp(int(digits, 16), -52))))


def describe_content(value: np.ndarray) -> str:
    """What the adversary sees of an encoded value (1, ...): its numbers and texts, their first names, and
    what it does not see. Names are known in processes that have encoded it.

    >>> describe_content(encode_values([{"total": 1.5, "unit": "m"}]))
    '1 number, 1 text (key "total", key "unit"); not compared: types of numbers and lists, order of keys'
    """
    columns = value_columns(value, "value")
    numbers = sum(not name_suffix(name) for name in columns)
    words = sum(name.endswith(" text") for name in columns)
    parts = [count_things(number, noun) for number, noun in ((numbers, "number"), (words, "text")) if number]
    first = dict.fromkeys(match[0] for match in map(_FIRST_KEY.match, columns) if match is not None)
    keys = [key for key in map(describe_feature, first) if key != "the type"]
    more = [f"{len(keys) - _MOST_KEYS:,} more"] if len(keys) > _MOST_KEYS else []
    named = f" ({', '.join([*keys[:_MOST_KEYS], *more])})" if keys else ""
    return f"{', '.join(parts) or 'nothing but its shape'}{named}; {_NOT_COMPARED}"


def _split_column(column: np.ndarray, special: np.ndarray, name: str) -> dict[str, np.ndarray]:
    if not special.any():
        return {name: column}
    codes, missing = is_category(column), column == MISSING
    columns = {}
    if not (codes | missing).all():
        columns[name] = np.where(codes | missing, ABSENT, column)
    if codes.any():
        columns[f"{name} text"] = np.where(codes, column / LEAST - 1.0, ABSENT)
    return columns


def _list_columns(rows: np.ndarray, special: np.ndarray, name: str) -> dict[str, np.ndarray]:
    columns: dict[str, np.ndarray] = {}
    for index, (column, codes) in enumerate(zip(rows.T, special.T, strict=True)):
        columns |= _split_column(column, codes, f"{name}[{index}]")
    return columns


def _add_columns(
    columns: dict[str, np.ndarray], added: dict[str, np.ndarray], games: np.ndarray, n: int
) -> None:
    for feature, column in added.items():
        if feature not in columns:
            if len(columns) >= _MAX_COLUMNS:
                raise Unsupported(
                    "releases must have few different keys in all",
                    value=f"more than {_MAX_COLUMNS:,}",
                    remedy="Release fewer numbers, and what is drawn or computed as values, not as keys; or "
                    "bin the keys.",
                )
            columns[feature] = np.full(n, ABSENT)
        columns[feature][games] = column


def _read_row(row: np.ndarray, name: str) -> list[Place]:
    """The features of a row, and where they are in it. A row that nobody encoded is read as a list."""
    places: list[Place] = []
    try:
        end = _read_entry(row, 1, name, places) if row[0] == SINGLE else _read_part(row, 0, name, places)
        complete = bool((row[end:] == MISSING).all())
    except IndexError:
        complete = False
    if complete:
        return places
    return [(f"{name}[{index}]", index, 0.0) for index in range(len(row)) if row[index] != MISSING]


def _read_part(row: np.ndarray, at: int, name: str, places: list[Place]) -> int:
    mark = read_mark(float(row[at]))
    if mark is None:
        return _read_entry(row, at, name, places)
    (kind, count), at = mark, at + 1
    if kind == ARRAY:
        marks = [read_mark(float(row[place])) for place in range(at, at + count)]
        shape = tuple(length[1] for length in marks if length is not None)
        at, size = at + count, prod(shape)
        if at + size > len(row):
            raise IndexError
        places += [(f"{name}[{index}]", at + index, 0.0) for index in range(size)]
        places.append((f"{name} shape", -1, _code_of_shape(shape)))
        return at + size
    if not count:
        places.append((f"{name} size", -1, 1.0 if kind == MAP else 0.0))
    for index in range(count):
        inner = f"{name}[{index}]"
        if kind == MAP:
            digits = int((float(row[at]) / LEAST - 1.0) * 2**52)  # the 52 bits of the code
            inner, at = f"{name}{{{digits:013x}}}", at + 1
        at = _read_part(row, at, inner, places)
    return at


def _read_entry(row: np.ndarray, at: int, name: str, places: list[Place]) -> int:
    if row[at] != PAIR:
        places.append((f"{name} text" if is_category(row[at]) else name, at, 0.0))
        return at + 1
    if at + 2 >= len(row):
        raise IndexError
    places += [(name, at + 1, 0.0), (f"{name} low", at + 2, 0.0)]
    return at + 3


def _code_of_shape(shape: tuple[int, ...]) -> float:
    """A number in [0, 1) that differs between shapes of a few dimensions."""
    code = 0
    for length in (len(shape), *shape):
        code = (code * 1_000_003 + length + 1) % 2**52
    return code / 2**52
