"""Pairs of releases that differ: told apart, refused, or named in the documents as not compared."""

from __future__ import annotations

import array
import collections
import csv
import dataclasses
import datetime
import decimal
import enum
import fractions
import ipaddress
import itertools
import math
import pathlib
import re
import struct
import types
import uuid
import zoneinfo
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import numpy as np
import pytest

from arena.errors import UnknownRelease
from arena.released.encoding import encode_values, hash_values

nan, inf = math.nan, math.inf
D, F, UTC = decimal.Decimal, fractions.Fraction, datetime.UTC
NOON = datetime.datetime(2020, 1, 1, 12)
PARIS, ROME = zoneinfo.ZoneInfo("Europe/Paris"), zoneinfo.ZoneInfo("Europe/Rome")


class Point(NamedTuple):
    x: float
    y: float = 0.0


class Place(NamedTuple):
    x: float
    y: float = 0.0


@dataclasses.dataclass
class Total:
    value: Any
    unit: str = ""


@dataclasses.dataclass
class Sum:
    value: Any
    unit: str = ""


@attrs.define
class Slots:
    value: Any


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


class Flags(enum.Flag):
    A = 1
    B = 2


class Named(str):
    pass


def with_note(note: str) -> Exception:
    error = ValueError("a")
    error.add_note(note)
    return error


def caused(cause: str) -> Exception:
    error = ValueError("a")
    error.__cause__ = KeyError(cause)
    return error


def array_of(kind: str, *numbers: float) -> np.ndarray:
    return np.array(numbers, kind)


DIFFER: list[tuple[Any, Any]] = [
    # numbers
    *[(kind(0), kind(1)) for kind in (int, float, bool, complex, D, F)],
    *[(np.dtype(kind).type(0), np.dtype(kind).type(1)) for kind in "?bBhHiIlLefdgFDG"],
    (0.0, -0.0),
    (0, -0.0),
    (np.float32(0.0), np.float32(-0.0)),
    (D("0.0"), D("-0.0")),
    (complex(0, 0.0), complex(0, -0.0)),
    (1.0, 1.0 + 2**-52),
    (2**53, 2**53 + 1),
    (2**64, 2**64 + 1),
    (10**400, 10**400 + 1),
    (0.1, F(1, 10)),
    (0.1, D("0.1")),
    (np.longdouble(1), np.nextafter(np.longdouble(1), 2)),
    (nan, inf),
    (inf, -inf),
    (nan, None),
    (nan, 0.0),
    (D("sNaN"), D("NaN")),
    (5e-324, 0.0),
    (1.7976931348623157e308, inf),
    (1j, 1.0),
    (complex(nan, 0), complex(0, nan)),
    # text, bytes and constants
    ("a", "b"),
    ("", " "),
    ("a", "A"),
    ("é", "e\u0301"),
    ("1", 1),
    ("None", None),
    ("True", True),
    ("a", b"a"),
    (b"a", bytearray(b"a")),
    (b"a", memoryview(b"a")),
    (b"", ""),
    ("", None),
    (None, 0),
    (None, False),
    (None, ...),
    (NotImplemented, ...),
    (np.str_("a"), np.str_("b")),
    (np.bytes_(b"a"), np.bytes_(b"b")),
    (uuid.UUID(int=1), uuid.UUID(int=2)),
    (uuid.UUID(int=1), str(uuid.UUID(int=1))),
    (pathlib.PurePosixPath("a"), pathlib.PurePosixPath("b")),
    (pathlib.PurePosixPath("a"), pathlib.PureWindowsPath("a")),
    (Level.LOW, Level.HIGH),
    (Level.LOW, 1),
    (Flags.A, Flags.B),
    (Flags.A, Flags.A | Flags.B),
    # lists and arrays
    ([], [0]),
    ([0], [0, 0]),
    ([1, 2], [2, 1]),
    ([1], 1),
    ([[1]], [1]),
    ([], [[]]),
    ([[], [1]], [[1], []]),
    ([0.0, 1.0], [-0.0, 1.0]),
    ([[0.0, 1.0]], [[-0.0, 1.0]]),
    ({"a": [0.0]}, {"a": [-0.0]}),
    ([1, "a"], [1, "b"]),
    ([], {}),
    ([], ""),
    ([], None),
    ([nan], [None]),
    ((0.0, "a"), (-0.0, "a")),
    (collections.deque([1]), collections.deque([2])),
    (array.array("d", [1]), array.array("d", [2])),
    (range(2), range(3)),
    (range(2), [0, 1]),
    (slice(1), slice(2)),
    (np.zeros((0, 2)), np.zeros((0, 3))),
    (np.zeros((2, 0)), np.zeros((0, 2))),
    (np.zeros((0, 2)), np.zeros(0)),
    ([np.zeros((0, 2))], [np.zeros((0, 3))]),
    ({"a": np.zeros((0, 2))}, {"a": np.zeros((3, 0))}),
    (np.zeros((1, 0, 2)), np.zeros((1, 0, 3))),
    (np.zeros(2), np.zeros(3)),
    (np.zeros((2, 3)), np.zeros((3, 2))),
    (np.zeros((2, 3)), np.zeros(6)),
    (np.zeros((1, 2)), np.zeros(2)),
    (np.array([[0.0]]), np.array([[-0.0]])),
    (np.array(["a"]), np.array(["b"])),
    (np.array([1, None], object), np.array([1, 2], object)),
    (np.array([2**62]), np.array([2**62 + 1])),
    (np.datetime64("2020-01-01"), np.datetime64("2020-01-02")),
    (np.datetime64("2020-01-01"), np.datetime64("2020-01-01", "s")),
    (np.datetime64("NaT"), np.datetime64("2020-01-01")),
    (np.timedelta64(1, "s"), np.timedelta64(1, "m")),
    (np.timedelta64(1, "s"), np.datetime64(1, "s")),
    (np.array([(1, 2)], "i,i"), np.array([(1, 3)], "i,i")),
    (np.array([(1,)], [("a", "i")]), np.array([(1,)], [("b", "i")])),
    # dictionaries and sets
    ({}, {"a": 0}),
    ({"a": 0}, {"b": 0}),
    ({"a": 0}, {"a": 1}),
    ({"a": None}, {}),
    ({1: 0}, {"1": 0}),
    ({"a": 0.0}, {"a": -0.0}),
    ({(1, 2): 0}, {(2, 1): 0}),
    ({None: 0}, {"None": 0}),
    ({"a": {"b": 1}}, {"a": {"c": 1}}),
    ({"a": 1}, collections.OrderedDict(a=1)),
    (collections.OrderedDict(a=1, b=2), collections.OrderedDict(b=2, a=1)),
    ({"a": 1}, collections.defaultdict(int, a=1)),
    ({"a": 1}, collections.Counter(a=1)),
    ({"a": 1}, types.MappingProxyType({"a": 1})),
    ({"a": 1}, types.SimpleNamespace(a=1)),
    ({"a"}, {"b"}),
    (set(), {0}),
    ({1, 2}, {1, 3}),
    ({"a"}, frozenset("a")),
    (set(), {}),
    (set(), []),
    ({"a"}, ["a"]),
    ({"a"}, {"a": 1}),
    # objects
    (Point(1), Point(2)),
    (Point(1), Place(1)),
    (Point(1), (1.0, 0.0)),
    (Total(1), Total(2)),
    (Total(1), Sum(1)),
    (Total(0.0), Total(-0.0)),
    (Total([]), Total(None)),
    (Total(1, "m"), Total(1, "s")),
    (Slots(1), Slots(2)),
    (types.SimpleNamespace(a=1), types.SimpleNamespace(b=1)),
    # exceptions
    (ValueError("a"), ValueError("b")),
    (ValueError("a"), KeyError("a")),
    (ValueError(1), ValueError("1")),
    (ValueError(), ValueError("")),
    (ValueError("a"), with_note("b")),
    (with_note("a"), with_note("b")),
    (caused("a"), caused("b")),
    (ValueError("a"), "ValueError: a"),
    (OSError(1, "a"), OSError(2, "a")),
    (StopIteration(1), StopIteration(2)),
    # times
    (NOON, NOON.replace(microsecond=1)),
    (NOON, NOON.replace(tzinfo=UTC)),
    (NOON.replace(tzinfo=UTC), NOON.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=1)))),
    (NOON.replace(tzinfo=PARIS), NOON.replace(tzinfo=ROME)),
    (NOON, NOON.replace(fold=1)),
    (NOON.date(), NOON),
    (NOON.date(), datetime.date(2020, 1, 2)),
    (NOON.time(), datetime.time(13)),
    (datetime.time(12), datetime.time(12, tzinfo=UTC)),
    (datetime.timedelta(1), datetime.timedelta(2)),
    (datetime.timedelta(seconds=1), 1.0),
    (PARIS, ROME),
]
if find_spec("scipy"):
    from scipy import sparse

    eye = np.eye(2)
    DIFFER += [
        (sparse.csr_array(eye), sparse.csr_array(2 * eye)),
        (sparse.csr_array((2, 3)), sparse.csr_array((3, 2))),
        (sparse.csr_array(eye), sparse.csc_array(eye)),
        (sparse.csr_array(eye), sparse.csr_matrix(eye)),
        (sparse.csr_array(eye), eye),
        (sparse.csr_array(([0.0], ([0], [0])), shape=(1, 1)), sparse.csr_array((1, 1))),
    ]
if find_spec("pandas"):
    import pandas as pd

    S, T, frame = pd.Series, pd.Timestamp, pd.DataFrame
    DIFFER += [
        (S([1]), S([2])),
        (S([1]), S([1.0])),
        (S([1], dtype="int8"), S([1], dtype="int16")),
        (S([1]), S([1], dtype="Int64")),
        (S([1]), S([1], dtype=object)),
        (S([], dtype=float), S([], dtype=object)),
        (S([True]), S([1])),
        (S([0.0]), S([-0.0])),
        (S(["a"]), S(["a"], dtype="category")),
        (S(["a"], dtype="category"), S(pd.Categorical(["a"], ["a", "b"]))),
        (S(pd.Categorical(["a"], ordered=True)), S(pd.Categorical(["a"]))),
        (S([1], name="a"), S([1], name="b")),
        (S([1], index=["a"]), S([1], index=["b"])),
        (S([1], index=pd.Index([0], name="a")), S([1], index=pd.Index([0], name="b"))),
        (S([1], index=[0]), S([1], index=[0.0])),
        (S([1]), S([1], index=[0])),
        (S([1]), [1]),
        (S([1]), frame([1])),
        (frame({"a": [1]}), frame({"b": [1]})),
        (frame({"a": [1], "b": [2]}), frame({"b": [2], "a": [1]})),
        (frame({"a": [1]}), frame({"a": [1.0]})),
        (frame({"a": []}), frame({"a": []}, dtype=object)),
        (frame(index=[0, 1]), frame(index=[0, 1, 2])),
        (frame(columns=["a"]), frame(columns=["b"])),
        (frame([[1]]).rename_axis("a"), frame([[1]])),
        (frame([[1]]).rename_axis("a", axis=1), frame([[1]])),
        (frame([[1]]), frame([[1]]).set_flags(allows_duplicate_labels=False)),
        (pd.Index([1]), pd.Index([1.0])),
        (pd.Index([1]), S([1])),
        (pd.MultiIndex.from_tuples([(1, 2)]), pd.MultiIndex.from_tuples([(1, 2.0)])),
        (pd.RangeIndex(3), pd.RangeIndex(4)),
        (pd.RangeIndex(3), pd.Index([0, 1, 2])),
        (
            pd.date_range("2020", periods=3, freq="D"),
            pd.DatetimeIndex(["2020-01-01", "2020-01-02", "2020-01-03"]),
        ),
        (T("2020"), T("2021")),
        (T("2020"), T("2020", tz="UTC")),
        (T(5), pd.Timedelta(5)),
        (pd.Timedelta(1), pd.Timedelta(2)),
        (pd.NaT, pd.NA),
        (pd.NA, None),
        (pd.Period("2020"), pd.Period("2020-01")),
        (pd.Interval(0, 1), pd.Interval(0, 1, "left")),
        (pd.array([1, None]), pd.array([1, 2])),
        (pd.array([1], dtype="Int8"), pd.array([1], dtype="Int16")),
    ]
if find_spec("polars"):
    import polars as pl

    DIFFER += [
        (pl.Series("a", [1]), pl.Series("a", [2])),
        (pl.Series("a", [1]), pl.Series("b", [1])),
        (pl.Series("a", [1], pl.Int8), pl.Series("a", [1], pl.Int16)),
        (pl.Series("a", [1]), pl.Series("a", [1.0])),
        (pl.Series("a", [0.0]), pl.Series("a", [-0.0])),
        (pl.Series("a", []), pl.Series("a", [], pl.Int8)),
        (pl.DataFrame({"a": [1]}), pl.DataFrame({"b": [1]})),
        (pl.DataFrame({"a": [1]}), pl.DataFrame({"a": [1.0]})),
        (pl.DataFrame({"a": [1], "b": [2]}), pl.DataFrame({"b": [2], "a": [1]})),
        (pl.DataFrame({"a": [1]}), pl.Series("a", [1])),
    ]

# What is not compared, and words with which the table of what is compared names it.
NAMED: list[tuple[Any, Any, str]] = [
    (1, 1.0, "type of a number"),
    (1, True, "type of a number"),
    (1.0, np.float32(1), "type of a number"),
    (0.5, F(1, 2), "type of a number"),
    (D("1.0"), D("1.00"), "the digits of a `Decimal`"),
    (np.array(1.0), 1.0, "type of a number"),
    (array_of("f4", 1), array_of("f8", 1), "an array's numbers"),
    (array_of("i8", 1), array_of("f8", 1), "an array's numbers"),
    (nan, struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0], "which NaN"),
    (nan, -nan, "which NaN"),
    ([1], (1,), "which of these types"),
    ([1], np.array([1]), "which of these types"),
    ([1], collections.deque([1]), "which of these types"),
    (["a"], ("a",), "which of these types"),
    ({"a": [1]}, {"a": (1,)}, "which of these types"),
    ("a", Named("a"), "a subclass without attributes"),
    ("a", np.str_("a"), "a subclass without attributes"),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "not their order"),
    ({1: 0}, {1.0: 0}, "type of a number"),
    (ValueError(f"{object()}"), ValueError(f"{object()} "[:-1]), "addresses in memory"),
]

REFUSED: list[Any] = [
    object(),
    (x for x in [1]),
    iter([1]),
    map(str, [1]),
    zip([1], [2], strict=True),
    itertools.count(),
    len,
    lambda: 1,
    int,
    re.compile("a"),
    ipaddress.ip_address("1.1.1.1"),
    collections.ChainMap({"a": 1}),
    collections.UserDict(a=1),
    np.ma.array([1.0], mask=[True]),
    np.random.default_rng(0),
    np.dtype("f8"),
    types,
    Path,
    memoryview,
    super,
]


@pytest.mark.parametrize("number", range(len(DIFFER)))  # texts of sets differ between workers
def test_releases_that_differ_are_told_apart(number: int) -> None:
    """In one batch, and in batches of their own."""
    pair = DIFFER[number]
    together = hash_values(encode_values(list(pair)))
    assert together[0] != together[1]
    assert [hash_values(encode_values([value]))[0] for value in pair] == together.tolist()


@pytest.mark.parametrize(("first", "second", "words"), NAMED)
def test_what_is_not_compared_is_named(first: Any, second: Any, words: str) -> None:
    hashes = hash_values(encode_values([first, second]))
    assert hashes[0] == hashes[1]
    table = Path(__file__).parents[2] / "docs/tables/reference/released_objects.csv"
    with table.open(newline="") as lines:
        assert any(words in row[1].replace("*", "") for row in csv.reader(lines))


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_cannot_be_compared_is_refused(number: int) -> None:
    value = REFUSED[number]
    for release in (value, [value], {"a": value}):
        with pytest.raises(UnknownRelease):
            encode_values([release])


def test_there_are_many_kinds() -> None:
    assert len(DIFFER) + len(NAMED) + len(REFUSED) >= 150
