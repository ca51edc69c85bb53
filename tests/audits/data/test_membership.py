"""Whether a strategy can draw a value: of what Hypothesis offers, and of strategies that compute."""

from __future__ import annotations

import copy
import math
import pickle
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from audits.data import membership
from audits.data.membership import Membership, is_same, read_list, read_sizes

BITS = st.integers(0, 1)


@st.composite
def draw_in_turn(draw: st.DrawFn) -> list[tuple[int, str]]:
    return [(draw(st.integers(0, 9)), draw(st.sampled_from("ab"))) for _ in range(draw(st.integers(0, 6)))]


@st.composite
def draw_columns(draw: st.DrawFn) -> dict[str, np.ndarray]:
    rows = draw(st.lists(st.tuples(BITS, st.floats(0, 9)), max_size=5))
    return {"a": np.array([row[0] for row in rows], int), "b": np.array([row[1] for row in rows], float)}


@st.composite
def draw_reversed(draw: st.DrawFn) -> list[tuple[int, int]]:
    second = draw(st.lists(st.integers(0, 9), min_size=1, max_size=3))
    first = draw(st.lists(st.integers(0, 9), min_size=len(second), max_size=len(second)))
    return list(zip(first, second, strict=True))


NUMBERS = st.recursive(st.integers(0, 3), lambda part: st.lists(part, max_size=2), max_leaves=4)
KNOWN = {  # a strategy, values that it can draw, and values that it cannot
    "integers": (st.integers(0, 9), [0, 9], [-1, 10, 1.0, True, "1"]),
    "no limits": (st.integers(), [10**30], [0.5]),
    "floats": (st.floats(0, 1), [0.0, 1.0, 0.25], [-0.0, math.nan, 1.5, 1]),
    "open ranges": (st.floats(0, 1, exclude_min=True), [1.0], [0.0]),
    "any floats": (st.floats(), [math.nan, -math.inf], [None]),
    "text": (st.text("ab", max_size=2), ["", "ab"], ["abc", "c", b"a"]),
    "bytes": (st.binary(max_size=1), [b"", b"x"], [b"xy"]),
    "choices": (st.sampled_from([1, "x", None]), ["x", None], [True, 2]),
    "choices that are computed": (st.sampled_from([1, 2]).map(lambda n: n * n), [1, 4], [2]),
    "filters": (st.integers(0, 99).filter(lambda n: n % 7 == 3), [3, 94], [4, 101]),
    "one of": (st.none() | st.booleans(), [None, True], [0]),
    "dates": (st.dates(date(2020, 1, 1), date(2020, 12, 31)), [date(2020, 2, 29)], [date(2021, 1, 1)]),
    "lists": (st.lists(BITS, min_size=1, max_size=3), [[0, 1]], [[], [0] * 4, [2], (0,)]),
    "unique": (st.lists(st.integers(0, 9), unique=True), [[1, 2]], [[1, 1]]),
    "unique keys": (
        st.lists(st.tuples(BITS, BITS), unique_by=lambda t: t[0]),
        [[(0, 1), (1, 1)]],
        [[(0, 0), (0, 1)]],
    ),
    "tuples": (st.tuples(BITS, st.text("a")), [(0, "aa")], [(0,), ("a", 0), [0, "a"]]),
    "keys": (
        st.fixed_dictionaries({"a": BITS}, optional={"b": BITS}),
        [{"a": 1}, {"b": 0, "a": 1}],
        [{"b": 0}, {"a": 2}, {"a": 0, "c": 0}],
    ),
    "dictionaries": (st.dictionaries(st.sampled_from("ab"), BITS), [{}, {"a": 0}], [{"c": 0}, {"a": 2}]),
    "sets": (st.sets(st.integers(0, 3), max_size=2), [{0, 3}], [{4}, {0, 1, 2}, frozenset({0})]),
    "permutations": (st.permutations([1, 2, 2]), [[2, 1, 2]], [[1, 2], [1, 1, 2]]),
    "recursive": (NUMBERS, [2, [1, [2, 3]]], [4, [1, 2, 3]]),
    "patterns": (st.from_regex("[a-c]{2}", fullmatch=True), ["ab"], ["abc"]),
    "flatmap": (
        st.integers(1, 3).flatmap(lambda n: st.lists(BITS, min_size=n, max_size=n)),
        [[0, 1]],
        [[], [0] * 4],
    ),
    "arrays": (
        hnp.arrays(float, 2, elements=st.integers(0, 3)),
        [np.array([0.0, 3.0])],
        [np.zeros(3), np.array([0, 3]), np.array([0.0, 4.0])],
    ),
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_built_in_is_known_either_way(name: str) -> None:
    strategy, drawn, others = KNOWN[name]
    asked = Membership(strategy)
    assert [asked.contains(value) for value in drawn] == [True] * len(drawn)
    assert [asked.contains(value) for value in others] == [False] * len(others)


COMPUTED = {
    "in turn": (
        draw_in_turn(),
        [[(3, "b"), (7, "a"), (0, "a")], []],
        [[(3, "c")], [(10, "a")], [(0, "a")] * 7],
    ),
    "columns": (
        draw_columns(),
        [{"a": np.array([0, 1]), "b": np.array([2.5, 8.75])}],
        [{"a": np.array([0]), "b": np.array([])}, {"a": np.array([2]), "b": np.array([0.5])}],
    ),
    "drawn in another order": (draw_reversed(), [[(1, 2), (3, 4), (5, 6)]], [[], [(1, 10)]]),
    "a field that is computed": (
        st.lists(st.integers(0, 50), max_size=4).map(lambda rows: [(n, 2 * n) for n in rows]),
        [[(1, 2), (50, 100)]],
        [[(1, 3)]],
    ),
    "text that is joined": (
        st.lists(st.sampled_from(["ill", "well"]), max_size=5).map(" ".join),
        ["ill ill well ill"],
        ["fine", " ".join(["ill"] * 6)],
    ),
    "sorted": (st.lists(st.integers(0, 10**6)).map(sorted), [[17, 4_321]], [[2, 1]]),
    "many sizes": (
        st.integers(0, 10**6).flatmap(lambda n: st.lists(st.integers(0, n), min_size=1)),
        [[3, 70_001]],
        [[]],
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", COMPUTED)
def test_what_a_strategy_computes_is_found_again_or_not_known(name: str) -> None:
    strategy, drawn, others = COMPUTED[name]
    asked = Membership(strategy)
    assert [asked.contains(value) for value in drawn] == [True] * len(drawn)
    assert True not in [asked.contains(value) for value in others]


@pytest.mark.thorough
def test_of_an_unknown_strategy_only_what_it_drew_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    for judges in ("_JUDGES", "_SIMPLE_JUDGES"):  # as if all of Hypothesis was written anew
        monkeypatch.setattr(membership, judges, {})
    asked = Membership(st.lists(BITS, max_size=3))
    assert asked.contains([0]) is True
    assert asked.contains([0] * 4) is None
    assert asked.contains([2]) is None


def test_a_missing_attribute_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> bool:
        raise AttributeError("start")

    monkeypatch.setitem(membership._SIMPLE_JUDGES, "IntegersStrategy", fail)
    assert Membership(st.tuples(st.integers(0, 9))).contains((99,)) is None
    assert Membership(st.tuples(st.integers(0, 9))).contains((99, 1)) is False


def test_sizes_are_read_where_a_strategy_says_them() -> None:
    assert read_sizes(st.lists(BITS, max_size=8)) == (0, 8)
    assert read_sizes(st.lists(BITS)) == (0, None)
    assert read_sizes(st.lists(BITS, min_size=2).filter(bool)) == (2, None)
    assert read_sizes(st.tuples(BITS, BITS)) == (2, 2)
    assert read_sizes(hnp.arrays(float, (5, 2))) == (5, 5)
    assert read_sizes(draw_columns()) is None
    assert read_list(st.lists(BITS, max_size=8)) is not None
    assert read_list(st.lists(BITS).filter(lambda data: sum(data) < 2)) is None


def test_answers_travel_to_other_processes() -> None:
    for strategy in (
        NUMBERS,
        st.none() | st.text(),
        st.floats(0, 1).filter(bool),
        st.lists(BITS).map(sorted),
    ):
        text = repr(strategy)
        assert repr(pickle.loads(pickle.dumps(Membership(strategy)))._strategy) == text


def test_values_are_the_same_if_their_types_are() -> None:
    same = [math.nan, [0.0, "x"], {"a": 1, "b": (2,)}, np.array([1.0, np.nan]), date(2020, 1, 1), None]
    assert all(is_same(value, copy.deepcopy(value)) for value in same)
    others = [
        (0.0, -0.0),
        (1, 1.0),
        (1, True),
        ([1], (1,)),
        (np.zeros(1), np.zeros(1, int)),
        ({"a": 1}, {"b": 1}),
    ]
    assert not any(is_same(one, other) for one, other in others)
