"""Kinds of data that strategies draw, each with an exact condition that all of them meet, written by hand."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from typing import Any

import attrs
import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import audits
from arena.claims import read_relation
from audits.adversary_search.records.obvious_records import (
    list_equal_neighbours,
    list_obvious,
    list_simpler,
)
from audits.adversary_search.records.record_strategies import neighbouring_records
from audits.data.drawn_values import draw_all
from audits.data.schemas import find_schema

CONSTANTS = (7, 21, 37, 100, 2_000, 0.25, "ill", "unwell")  # of the code of a mechanism
ADD, REPLACE = "add or remove one", "replace one"
BITS = st.integers(0, 1)


@attrs.frozen
class Kind:
    """A strategy of data, whether it draws some data, and a relation of neighbours that it has."""

    data: Callable[[], st.SearchStrategy[Any]]
    draws: Callable[[Any], bool]
    relation: str = ADD


@dataclasses.dataclass
class Person:
    age: int
    city: str


def is_list_of(low: int, high: float, holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda data: type(data) is list and low <= len(data) <= high and all(map(holds, data))


def is_integer(low: int, high: int) -> Callable[[Any], bool]:
    return lambda value: type(value) is int and low <= value <= high


def is_float(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: type(value) is float and low <= value <= high


def is_one_of(*values: Any) -> Callable[[Any], bool]:
    return lambda value: any(type(value) is type(each) and value == each for each in values)


def is_array(sizes: range, dtype: str, holds: Callable[[Any], bool], width: int = 0) -> Callable[[Any], bool]:
    def draws(data: Any) -> bool:
        shape = data.shape[1:] == ((width,) if width else ())
        return data.dtype == dtype and len(data) in sizes and shape and all(map(holds, data.ravel().tolist()))

    return draws


def _columns(data: Any) -> bool:
    same = len(data["vote"]) == len(data["weight"]) <= 12
    votes = all(vote in (0, 1) for vote in data["vote"])
    return same and votes and all(0 <= weight <= 100 for weight in data["weight"])


@st.composite
def draw_columns(draw: st.DrawFn) -> dict[str, np.ndarray]:
    rows = draw(st.lists(st.tuples(BITS, st.floats(0, 100)), max_size=12))
    return {"vote": np.array([r[0] for r in rows], int), "weight": np.array([r[1] for r in rows], float)}


@st.composite
def draw_frames(draw: st.DrawFn) -> Any:
    import pandas as pd

    return pd.DataFrame({"a": draw(st.lists(BITS, max_size=8))}).astype("int64")


@st.composite
def draw_two_columns(draw: st.DrawFn) -> Any:
    import pandas as pd

    size = draw(st.integers(1, 6))
    ages = draw(st.lists(st.integers(18, 99), min_size=size, max_size=size))
    cities = draw(st.lists(st.sampled_from(["n", "s"]), min_size=size, max_size=size))
    return pd.DataFrame({"age": pd.Series(ages, dtype="int64"), "city": pd.Series(cities, dtype=object)})


@st.composite
def draw_derived(draw: st.DrawFn) -> list[tuple[int, int]]:
    return [(value, 2 * value) for value in draw(st.lists(st.integers(0, 50), max_size=6))]


@st.composite
def draw_in_turn(draw: st.DrawFn) -> list[tuple[int, str]]:
    return [
        (draw(st.integers(0, 120)), draw(st.sampled_from(["ill", "well"])))
        for _ in range(draw(st.integers(0, 6)))
    ]


@st.composite
def draw_below(draw: st.DrawFn) -> list[int]:
    values = draw(st.lists(st.integers(0, 30), max_size=10))
    assume(sum(values) <= 60)
    return values


@st.composite
def draw_model_data(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    size = draw(st.integers(1, 8))
    features = draw(hnp.arrays(float, (size, 2), elements=st.floats(0, 1)))
    return features, draw(hnp.arrays(int, size, elements=BITS))


def _is_model_data(data: Any) -> bool:
    x, y = data
    same = len(x) == len(y) and 1 <= len(x) <= 8 and x.shape[1] == 2
    return same and bool(((x >= 0) & (x <= 1)).all()) and set(y.tolist()) <= {0, 1}


def _nests(value: Any) -> int:
    return sum(map(_nests, value)) if isinstance(value, list) else 1


def _is_nested(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) <= 2 and all(map(_is_nested, value))
    return type(value) is int and 0 <= value <= 3


def _has_optional(record: Any) -> bool:
    keys = set(record) in ({"age"}, {"age", "note"})
    note = record.get("note", "")
    return keys and 0 <= record["age"] <= 120 and len(note) <= 4 and set(note) <= set("xy")


def _is_frame(data: Any, names: tuple[str, ...], sizes: range, *holds: Callable[[Any], bool]) -> bool:
    columns = [data[name].tolist() for name in names]
    fits = all(all(map(condition, column)) for condition, column in zip(holds, columns, strict=True))
    return tuple(data.columns) == names and len(data) in sizes and fits


DAY = date(2020, 3, 1)
KINDS = {
    "lists": Kind(lambda: st.lists(BITS, max_size=8), is_list_of(0, 8, is_integer(0, 1))),
    "lists of a size": Kind(
        lambda: st.lists(BITS, min_size=20, max_size=20), is_list_of(20, 20, is_integer(0, 1)), REPLACE
    ),
    "lists of many": Kind(
        lambda: st.lists(BITS, min_size=1_024, max_size=1_024),
        is_list_of(1_024, 1_024, is_integer(0, 1)),
        REPLACE,
    ),
    "unique lists": Kind(
        lambda: st.lists(st.integers(0, 9), unique=True, max_size=5),
        lambda data: is_list_of(0, 5, is_integer(0, 9))(data) and len(set(data)) == len(data),
    ),
    "unique keys": Kind(
        lambda: st.lists(st.tuples(st.integers(0, 20), BITS), unique_by=lambda row: row[0], max_size=7),
        lambda data: (
            len({row[0] for row in data}) == len(data) <= 7
            and all(0 <= a <= 20 and b in (0, 1) for a, b in data)
        ),
    ),
    "unique choices": Kind(
        lambda: st.lists(st.sampled_from("abcd"), unique=True),
        lambda data: len(set(data)) == len(data) and set(data) <= set("abcd"),
    ),
    "tuples": Kind(
        lambda: st.tuples(BITS, BITS, BITS),
        lambda data: type(data) is tuple and len(data) == 3 and set(data) <= {0, 1},
        REPLACE,
    ),
    "mixed tuples": Kind(
        lambda: st.tuples(st.integers(0, 9), st.sampled_from("ab"), st.booleans()),
        lambda data: (
            len(data) == 3
            and type(data[0]) is int
            and 0 <= data[0] <= 9
            and data[1] in ("a", "b")
            and type(data[2]) is bool
        ),
        REPLACE,
    ),
    "dictionaries": Kind(
        lambda: st.lists(
            st.fixed_dictionaries({"age": st.integers(0, 120)}, optional={"note": st.text("xy", max_size=4)}),
            max_size=5,
        ),
        lambda data: len(data) <= 5 and all(map(_has_optional, data)),
    ),
    "free keys": Kind(
        lambda: st.lists(st.dictionaries(st.sampled_from("abc"), BITS, max_size=2), max_size=4),
        lambda data: (
            len(data) <= 4
            and all(set(r) <= set("abc") and len(r) <= 2 and set(r.values()) <= {0, 1} for r in data)
        ),
    ),
    "array of a size": Kind(
        lambda: hnp.arrays(float, 5, elements=st.floats(0, 1)),
        is_array(range(5, 6), "float64", is_float(0, 1)),
        REPLACE,
    ),
    "array of sizes": Kind(
        lambda: hnp.arrays(int, st.integers(2, 9), elements=st.integers(-3, 3)),
        is_array(range(2, 10), "int64", is_integer(-3, 3)),
    ),
    "array of rows": Kind(
        lambda: hnp.arrays(np.int8, (4, 3), elements=st.integers(0, 5)),
        is_array(range(4, 5), "int8", is_integer(0, 5), 3),
        REPLACE,
    ),
    "unique array": Kind(
        lambda: hnp.arrays(int, 6, elements=st.integers(0, 50), unique=True),
        lambda data: is_array(range(6, 7), "int64", is_integer(0, 50))(data) and len(set(data.tolist())) == 6,
        REPLACE,
    ),
    "array of bits": Kind(
        lambda: st.lists(st.booleans(), max_size=6).map(np.array).filter(len),
        is_array(range(1, 7), "bool", lambda cell: True),
    ),
    "columns": Kind(draw_columns, _columns),
    "columns of lists": Kind(
        lambda: st.integers(1, 5).flatmap(
            lambda size: st.fixed_dictionaries(
                {
                    "a": st.lists(BITS, min_size=size, max_size=size),
                    "b": st.lists(st.floats(0, 1), min_size=size, max_size=size),
                }
            )
        ),
        lambda data: (
            len(data["a"]) == len(data["b"]) in range(1, 6)
            and set(data["a"]) <= {0, 1}
            and all(map(is_float(0, 1), data["b"]))
        ),
    ),
    "two lists": Kind(
        lambda: st.fixed_dictionaries(
            {"a": st.lists(BITS, max_size=3), "b": st.lists(st.sampled_from("xy"), max_size=4)}
        ),
        lambda data: (
            is_list_of(0, 3, is_integer(0, 1))(data["a"]) and is_list_of(0, 4, is_one_of("x", "y"))(data["b"])
        ),
    ),
    "composite of frames": Kind(
        draw_frames, lambda data: _is_frame(data, ("a",), range(9), is_integer(0, 1))
    ),
    "composite of columns": Kind(
        draw_two_columns,
        lambda data: _is_frame(data, ("age", "city"), range(1, 7), is_integer(18, 99), is_one_of("n", "s")),
    ),
    "composite of derived fields": Kind(
        draw_derived, lambda data: len(data) <= 6 and all(0 <= a <= 50 and b == 2 * a for a, b in data)
    ),
    "composite in turn": Kind(
        draw_in_turn,
        lambda data: len(data) <= 6 and all(0 <= a <= 120 and b in ("ill", "well") for a, b in data),
    ),
    "composite with assume": Kind(
        draw_below, lambda data: is_list_of(0, 10, is_integer(0, 30))(data) and sum(data) <= 60
    ),
    "composite of X and y": Kind(draw_model_data, _is_model_data),
    "filtered records": Kind(
        lambda: st.lists(st.integers(0, 99).filter(lambda n: n % 7 == 3), max_size=6),
        is_list_of(0, 6, lambda n: 0 <= n <= 99 and n % 7 == 3),
    ),
    "filtered data": Kind(
        lambda: st.lists(st.integers(0, 9), max_size=6).filter(lambda data: sum(data) % 2 == 0),
        lambda data: is_list_of(0, 6, is_integer(0, 9))(data) and sum(data) % 2 == 0,
        REPLACE,
    ),
    "sorted": Kind(
        lambda: st.lists(st.integers(0, 9), max_size=5).map(sorted),
        lambda data: is_list_of(0, 5, is_integer(0, 9))(data) and data == sorted(data),
    ),
    "scaled": Kind(
        lambda: st.lists(st.integers(0, 9), max_size=5).map(lambda data: [2.5 * value for value in data]),
        is_list_of(0, 5, lambda value: type(value) is float and value in {2.5 * n for n in range(10)}),
    ),
    "as many as the largest": Kind(
        lambda: st.integers(0, 4).flatmap(lambda n: st.lists(st.integers(0, n), min_size=n, max_size=n)),
        lambda data: is_list_of(0, 4, is_integer(0, 4))(data) and all(value <= len(data) for value in data),
        REPLACE,
    ),
    "one of two sizes": Kind(
        lambda: st.one_of(
            st.lists(BITS, min_size=2, max_size=2), st.lists(st.integers(5, 6), min_size=3, max_size=3)
        ),
        lambda data: is_list_of(2, 2, is_integer(0, 1))(data) or is_list_of(3, 3, is_integer(5, 6))(data),
        REPLACE,
    ),
    "builds": Kind(
        lambda: st.lists(st.builds(Person, st.integers(0, 120), st.sampled_from(["n", "s"])), max_size=4),
        is_list_of(0, 4, lambda p: type(p) is Person and 0 <= p.age <= 120 and p.city in ("n", "s")),
    ),
    "recursive": Kind(
        lambda: st.lists(
            st.recursive(st.integers(0, 3), lambda part: st.lists(part, max_size=2), max_leaves=4), max_size=3
        ),
        is_list_of(0, 3, lambda value: _is_nested(value) and _nests(value) <= 4),
    ),
    "text": Kind(
        lambda: st.lists(st.text("abc", min_size=1, max_size=5), max_size=4),
        is_list_of(0, 4, lambda t: 1 <= len(t) <= 5 and set(t) <= set("abc")),
    ),
    "pattern": Kind(
        lambda: st.lists(st.from_regex(r"[A-Z]{2}[0-9]", fullmatch=True), max_size=4),
        is_list_of(0, 4, lambda t: len(t) == 3 and t[:2].isupper() and t[2] in "0123456789"),
    ),
    "joined text": Kind(
        lambda: audits.records(st.sampled_from(["ill", "well"]), pack=" ".join, max_size=4),
        lambda data: len(data.split()) <= 4 and set(data.split()) <= {"ill", "well"},
    ),
    "dates": Kind(
        lambda: st.lists(st.dates(DAY, DAY + timedelta(days=400)), max_size=4),
        is_list_of(0, 4, lambda d: type(d) is date and DAY <= d <= DAY + timedelta(days=400)),
    ),
    "times": Kind(
        lambda: st.lists(st.datetimes(datetime(2020, 1, 1), datetime(2021, 1, 1)), min_size=1, max_size=3),
        is_list_of(1, 3, lambda d: type(d) is datetime and datetime(2020, 1, 1) <= d <= datetime(2021, 1, 1)),
    ),
    "choices": Kind(
        lambda: st.lists(st.sampled_from([None, 3, "x", 2.5]), max_size=5),
        is_list_of(0, 5, is_one_of(None, 3, "x", 2.5)),
    ),
    "open ranges": Kind(
        lambda: st.lists(st.floats(0, 1, exclude_min=True, exclude_max=True), max_size=4),
        is_list_of(0, 4, lambda x: type(x) is float and 0 < x < 1),
    ),
    "missing numbers": Kind(
        lambda: st.lists(st.one_of(st.none(), st.floats(-1, 1), st.just(math.nan)), max_size=4),
        is_list_of(0, 4, lambda x: x is None or (type(x) is float and (math.isnan(x) or -1 <= x <= 1))),
    ),
    "sets": Kind(
        lambda: st.lists(st.frozensets(st.integers(0, 4), max_size=3), max_size=4),
        is_list_of(0, 4, lambda s: type(s) is frozenset and len(s) <= 3 and s <= set(range(5))),
    ),
    "a set": Kind(
        lambda: audits.records(st.integers(0, 9), pack=set, unique=True, max_size=5),
        lambda data: len(data) <= 5 and data <= set(range(10)),
    ),
    "table": Kind(
        lambda: audits.table(
            id=st.integers(0, 99), age=st.integers(18, 30).filter(lambda n: n != 21), unique="id", max_size=6
        ),
        lambda data: (
            _is_frame(data, ("id", "age"), range(7), is_integer(0, 99), lambda n: 18 <= n <= 30 and n != 21)
            and data["id"].is_unique
        ),
    ),
}


def list_played(kind: Kind, number: int) -> Iterator[Any]:
    """The data of both worlds of the adversaries that a search plays: the obvious ones, so many others, those
    that are simpler, and those with which checks play."""
    schema, relation = find_schema(kind.data()), read_relation(kind.relation)
    pairs = list_obvious(schema, relation, CONSTANTS)
    drawn = neighbouring_records(schema, relation, constants=CONSTANTS)
    pairs = [*pairs, *draw_all(drawn, "neighbours", number)]
    simpler = [two for pair in pairs[::20] for two in list_simpler(schema, relation, *pair)]
    equal = [make(size) for make in list_equal_neighbours(schema, relation) for size in (1, 2, 4, 64)]
    worlds = [world for pair in (*pairs, *simpler, *filter(None, equal)) for world in pair]
    for records in (*worlds, *schema.make_records()):
        yield next(schema.pack_games(records, 1))
