"""Records of any kind, such as rows of a table, and lists of them, which are compared by value."""

from __future__ import annotations

import hashlib
import math
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import deepcopy
from numbers import Real
from typing import Any

import attrs
import numpy as np

from arena.dataset import Dataset
from arena.errors import InvalidArgument, UnknownRelease, count_things
from arena.released.types import name_key, take_apart
from arena.sample import LARGEST_INTEGER, freeze
from arena.sample import own_copy as own_array

_ATOMS = (bool, int, float, complex, str, bytes, type(None))  # nobody can change them
_MOST_TEXT = 60  # characters of a record that are shown


@attrs.frozen
class BlankRecord:
    """The record that stands for none where neighbours zero out one; what the mechanism receives instead is
    for its schema to say."""

    def __repr__(self) -> str:
        return "BLANK"


BLANK_RECORD = BlankRecord()


def record_key(value: object) -> bytes:
    """16 bytes that are the same for two records if and only if their values and types are, except with
    probability 2^-128. NaN equals NaN, 1, 1.0 and True differ, and so do 0.0 and −0.0.
    Raises: InvalidArgument for what cannot be compared or sent to other processes."""
    try:
        text = f"{_describe_types(value)} {name_key(take_apart(value))}"
    except UnknownRelease as error:
        raise InvalidArgument(
            "records must be made of numbers, text, dates, None, and tuples, lists and dictionaries of these",
            value=error.value,
            remedy="Let a record hold what the objects are made from, and let `pack` make them.",
        ) from error
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()[:16]


def _describe_types(value: Any) -> str:
    """The types in a value, and the order of its keys, which a mechanism can see but equality ignores."""
    kind = type(value)
    if kind in _ATOMS:
        return kind.__name__
    if kind in (list, tuple):
        return f"{kind.__name__}({','.join(map(_describe_types, value))})"
    if kind is dict:
        pairs = (f"{name_key(take_apart(key))}:{_describe_types(value[key])}" for key in value)
        return f"dict({','.join(pairs)})"
    if kind in (set, frozenset):
        return f"{kind.__name__}({','.join(sorted(map(_describe_types, value)))})"
    if isinstance(value, np.ndarray):
        parts = ",".join(map(_describe_types, value.ravel())) if value.dtype.hasobject else ""
        return f"{_name_type(kind)}({value.dtype.str}{value.shape}{parts})"
    state = getattr(value, "__dict__", {})
    return f"{_name_type(kind)}({','.join(f'{name}:{_describe_types(state[name])}' for name in state)})"


def _name_type(kind: type) -> str:
    """Its module and name, by which other processes find it, so that no other type can be taken for it."""
    found: Any = sys.modules.get(kind.__module__)
    for name in kind.__qualname__.split("."):
        found = getattr(found, name, None)
    if found is not kind:
        raise InvalidArgument(
            "the types of records must be found by their names in their modules",
            value=f"{kind.__module__}.{kind.__qualname__}",
            remedy="Define the class at the top level of a module.",
        )
    return f"{kind.__module__}.{kind.__qualname__}"


def _own_record(value: Any) -> Any:
    if type(value) in _ATOMS or (type(value) is tuple and all(type(part) in _ATOMS for part in value)):
        return value
    if type(value) in (set, frozenset):  # the order of its elements could say how it was made
        return type(value)(sorted(value, key=lambda part: name_key(take_apart(part))))
    return deepcopy(value)


def _own_records(records: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(_own_record(record) for record in records)


@attrs.frozen(eq=False, slots=False, repr=False)
class Records(Dataset):
    """An ordered list of records of any kind: numbers, text, dates, None, tuples and dictionaries of these,
    and objects of classes that a module defines; possibly none.

    counts: (k,), how often each is repeated in a row; default: once. Equality is by `record_key`, and records
    are copied. Raises: InvalidArgument.

    >>> Records([("Ann", 31), ("Bob", None)], [2, 1])
    Records(3 records: 2 x ('Ann', 31), 1 x ('Bob', None))
    """

    records: tuple[Any, ...] = attrs.field(converter=_own_records)
    counts: np.ndarray = attrs.field(default=None, converter=attrs.converters.optional(own_array))
    keys: np.ndarray = attrs.field(init=False)  # (k, 2) uint64

    def __attrs_post_init__(self) -> None:
        k = len(self.records)
        counts = np.ones(k, np.int64) if self.counts is None else self.counts
        if counts.shape != (k,) or (k and counts.dtype.kind not in "iu") or (counts < 1).any():
            raise InvalidArgument(
                "counts must be one integer of at least 1 for each record", value=counts.tolist()[:5]
            )
        if counts.astype(float).sum() > LARGEST_INTEGER:
            raise InvalidArgument("a list holds at most 2^53 records", value=float(counts.sum()))
        object.__setattr__(self, "counts", own_array(counts.astype(np.int64)))
        keys = b"".join(map(record_key, self.records))
        object.__setattr__(self, "keys", freeze(np.frombuffer(keys, np.uint64).reshape(k, 2)))

    @property
    def blank(self) -> np.ndarray:  # type: ignore[override]
        return np.array([isinstance(record, BlankRecord) for record in self.records], bool)

    def own_copy(self) -> Records:
        return Records(self.records, self.counts)

    def is_comparable(self, other: Dataset) -> bool:
        return isinstance(other, Records)

    def differ(self, runs: np.ndarray, other: Records, others: np.ndarray) -> np.ndarray:
        return np.asarray((self.keys[runs] != other.keys[others]).any(axis=1))

    def select(self, runs: np.ndarray) -> Records:
        chosen = np.arange(len(self.records))[runs]
        return Records([self.records[run] for run in chosen], self.counts[chosen])

    def repeat(self, counts: np.ndarray) -> Records:
        return Records(self.records, counts)

    def vary(self) -> Records:
        return self.select(np.roll(np.arange(len(self.records)), 1))

    def list_for_users(self) -> tuple[Any, ...]:
        return _own_records(self.records)

    def list_numbers(self) -> list[float] | None:
        parts = [part for record in self.rows() for part in (record if np.ndim(record) else [record])]
        is_number = all(isinstance(part, Real) and math.isfinite(part) for part in parts)
        return parts if is_number else None

    def merge_runs(self) -> tuple[np.ndarray, ...]:
        new = np.ones(len(self.keys), bool)
        new[1:] = (self.keys[1:] != self.keys[:-1]).any(axis=1)
        starts = np.flatnonzero(new)
        return self.keys[starts], np.add.reduceat(self.counts, starts) if len(starts) else self.counts

    def rows(self) -> list[Any]:
        """Every record in order, as copies that a mechanism may change."""
        return [
            _own_record(record)
            for record, count in zip(self.records, self.counts.tolist(), strict=True)
            for _ in range(count)
        ]

    def list_keys(self) -> list[bytes]:
        """The key of every record in order."""
        return [key.tobytes() for key in np.repeat(self.keys, self.counts, axis=0)]

    def join(self, runs: Sequence[tuple[Any, int]], at: int | None = None) -> Records:
        """The list with further runs of a record and its count, before run `at`; default: at the end."""
        at = len(self.records) if at is None else at
        records, counts = list(self.records), self.counts.tolist()
        records[at:at], counts[at:at] = [r for r, _ in runs], [n for _, n in runs]
        return Records(records, np.array(counts, np.int64))

    def find_excess(self, other: Records) -> np.ndarray:
        """(size,) bool: which records, in order, another list has not as often, the last of equal ones."""
        left = Counter(other.list_keys())
        excess = np.zeros(self.size, bool)
        for place, key in enumerate(self.list_keys()):
            excess[place] = left[key] < 1
            left[key] -= 1
        return excess

    def subtract(self, other: Records) -> Records:
        """The records that another list has not as often, equal ones in a row as one run."""
        left: Counter[bytes] = Counter()
        for key, count in zip(other.keys, other.counts.tolist(), strict=True):
            left[key.tobytes()] += count
        runs: list[tuple[bytes, Any, int]] = []
        for record, row, count in zip(self.records, self.keys, self.counts.tolist(), strict=True):
            key = row.tobytes()
            taken = min(left[key], count)
            left[key] -= taken
            if runs and runs[-1][0] == key:
                count += runs.pop()[2]
            if count > taken:
                runs.append((key, record, count - taken))
        return Records([record for _, record, _ in runs], np.array([n for *_, n in runs], np.int64))

    def describe(self, most: int = 4, *, reads: Any = "both") -> str:
        runs = [
            f"{count:,} x {_shorten(repr(record))}"
            for record, count in zip(self.records[:most], self.counts.tolist(), strict=False)
        ]
        left = len(self.records) - most
        more = f", and {count_things(left, 'more run')}" if left > 0 else ""
        return count_things(self.size, "record") + (f": {', '.join(runs)}{more}" if runs else "")

    def __repr__(self) -> str:
        return f"Records({self.describe()})"


def _shorten(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[: _MOST_TEXT - 3]}..."
