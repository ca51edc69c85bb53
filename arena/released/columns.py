"""The features of encoded releases, by name.

They are a function of one game's value: neither the other games of the batch nor the way in which
`arena.released.encoding` wrote them matters. A feature that a game does not have is `ABSENT`, whether its
batch has a column for it or not, so that columns may be added and dropped.

`value` is the number that is released, `value[3]` an entry of a list or, in the order of numpy, of an array,
and `value{1f...}` the part at a key, by a hash of it. Behind such a name, ` text` is the code of a symbol,
spread over [0, 1), ` low` what is to be added to the number, ` shape` that of an array, as a code, and
` size` stands for an empty list in another (0) or an empty dictionary (1).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from math import prod

import numpy as np

from arena.errors import Unsupported
from arena.points import hash_rows
from arena.released.encoding import ARRAY, LEAST, MAP, MARKS, MISSING, PAIR, SINGLE, is_category, read_mark

ABSENT = -3e300  # below every other feature; numbers beyond 1e299 are no magnitudes
_MAX_COLUMNS = 4_096  # of releases with keys or lists in lists
_SUFFIXES = (" text", " low", " shape", " size")

Place = tuple[str, int, float]  # the name of a feature, where it is in the row, or -1 and the feature


def value_columns(value: np.ndarray, name: str) -> dict[str, np.ndarray]:
    """The features (n,) of the encoded values (n, ...) of n games, by their names, which begin with `name`.

    Raises: Unsupported if the keys of dictionaries differ so much that there are more than 4,096 features.
    """
    floats = np.asarray(value, np.float64)
    if floats.ndim > 2:
        shape = f"{name} shape", np.full(len(floats), _code_of_shape(floats.shape[1:]))
        return value_columns(floats.reshape(len(floats), -1), name) | dict([shape])
    special = _is_special(floats)
    if floats.ndim == 1:
        return _split_column(floats, special, name)
    marked = np.flatnonzero((special & _is_mark(floats)).any(axis=1))
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
        read = {
            feature: np.full(len(part), number) if place < 0 else part[:, place]
            for feature, place, number in _read_row(part[0], name)
        }
        read = {
            feature: column / LEAST - 1.0 if feature.endswith(" text") else column
            for feature, column in read.items()
        }
        _add_columns(columns, read, marked[games], len(floats))
    return columns


def align_columns(parts: Sequence[dict[str, np.ndarray]], *, fill: float) -> list[np.ndarray]:
    """The features of several batches, each with one or more, as arrays (n, F) with the same columns.

    fill: the feature of games whose batch does not have it.
    """
    names = dict.fromkeys(name for part in parts for name in part)
    absent = [np.full(len(next(iter(part.values()))), fill) for part in parts]
    return [
        np.stack([part.get(name, missing) for name in names], axis=1)
        for part, missing in zip(parts, absent, strict=True)
    ]


def hash_values(value: np.ndarray) -> np.ndarray:
    """(n,) uint64: hashes of encoded values (n, ...), whatever the other games released.

    Different values share one with probability about 2^-64.
    """
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


def _is_special(floats: np.ndarray) -> np.ndarray:
    return np.asarray((floats >= LEAST) & (floats < 2 * MARKS[-1]))


def _is_mark(floats: np.ndarray) -> np.ndarray:
    return np.asarray((floats >= SINGLE) & (floats < 2 * MARKS[-1]))


def _split_column(column: np.ndarray, special: np.ndarray, name: str) -> dict[str, np.ndarray]:
    """A column of entries as numbers and as codes."""
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
                    remedy="Release what is drawn or computed as values, not as keys, or bin the keys.",
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
    """Add the features of the part that begins at this place, and return the place after it."""
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
            inner, at = f"{name}{{{_hash_of(float(row[at]))}}}", at + 1
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


def _hash_of(code: float) -> str:
    """The 52 bits of a code in hexadecimal."""
    return f"{int((code / LEAST - 1.0) * 2**52):013x}"


def _code_of_shape(shape: tuple[int, ...]) -> float:
    """A number in [0, 1) that differs between shapes of a few dimensions."""
    code = 0
    for length in (len(shape), *shape):
        code = (code * 1_000_003 + length + 1) % 2**52
    return code / 2**52
