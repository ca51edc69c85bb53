"""A search plays, and refutes with, only data that the user's strategy draws."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from support.drawn_kinds import BITS, KINDS, Kind, list_played

import audits
from arena import InvalidArgument
from arena.claims import read_relation
from audits.adversary_search.records.obvious_records import list_obvious
from audits.adversary_search.records.record_strategies import check_relation
from audits.data import membership
from audits.data.schemas import find_schema

ADD, REPLACE = "add or remove one", "replace one"
pytest.importorskip("pandas")


def test_lists_are_as_long_as_their_strategy_says() -> None:
    schema = find_schema(st.lists(BITS, max_size=8))
    assert (schema.min_size, schema.max_size) == (0, 8)
    pairs = list_obvious(schema, read_relation(ADD))
    assert {len(world.rows()) for pair in pairs for world in pair} >= {0, 1, 7, 8}
    assert max(world.size for pair in pairs for world in pair) == 8


def test_unique_records_are_played_together() -> None:
    pairs = list_obvious(find_schema(st.lists(st.integers(0, 29), unique=True)), read_relation(ADD))
    assert max(world.size for pair in pairs for world in pair) == 30
    assert all(len(set(world.rows())) == world.size for pair in pairs for world in pair)


@pytest.mark.thorough
@pytest.mark.parametrize("name", KINDS)
def test_all_that_is_played_can_be_drawn(name: str) -> None:
    played = list(list_played(KINDS[name], 60))
    assert len(played) > 40
    assert [data for data in played if not KINDS[name].draws(data)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_all_of_very_many_can_be_drawn(name: str) -> None:
    """About a million datasets in all, in about an hour."""
    played = list(list_played(KINDS[name], 12_000))
    assert [data for data in played if not KINDS[name].draws(data)] == []


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["lists", "tuples", "columns", "composite with assume", "filtered data"])
def test_without_what_hypothesis_does_not_promise_to_keep_nothing_else_is_played(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for table in ("_JUDGES", "_SIMPLE_JUDGES", "_LISTS", "_PROGRAMS"):
        monkeypatch.setattr(membership, table, {})
    monkeypatch.setattr("audits.data.schemas.read_list", lambda strategy: None)
    monkeypatch.setattr("audits.data.schemas.read_sizes", lambda strategy: None)
    kind = KINDS[name]
    fresh = Kind(lambda: kind.data().filter(lambda data: True), kind.draws, kind.relation)
    played = list(list_played(fresh, 40))
    assert len(played) > 3
    assert [data for data in played if not kind.draws(data)] == []


@pytest.mark.thorough
def test_data_of_one_size_have_no_neighbours_of_another() -> None:
    schema = find_schema(hnp.arrays(float, 5, elements=st.floats(0, 1)))
    check_relation(schema, read_relation(REPLACE))
    with pytest.raises(InvalidArgument, match="always have 5 records"):
        check_relation(schema, read_relation(ADD))


@pytest.mark.thorough
def test_data_of_which_no_neighbours_are_known_are_refused() -> None:
    def release(data: list[int], rng: Any) -> float:
        return float(data[0] + rng.laplace())

    with pytest.raises(InvalidArgument, match=r"audits\.records"):
        audits.search(release, data=st.permutations([1, 2, 3]), epsilon=1.0, neighbours=REPLACE)


COLUMNS = {"vote": np.array([0, 1, 1]), "weight": np.array([0.5, 1.0, 2.0])}
SHORTER = {name: column[:-1] for name, column in COLUMNS.items()}


def sum_votes(columns: dict[str, np.ndarray], rng: Any) -> float:
    if len(columns["vote"]) != len(columns["weight"]):
        raise ValueError("columns of two lengths")
    return float(np.clip(columns["weight"], 0, 1) @ columns["vote"] + rng.laplace())


@pytest.mark.thorough
def test_columns_of_one_length_are_one_table() -> None:
    verdict = audits.audit(sum_votes, data=COLUMNS, neighbour=SHORTER, neighbours=ADD, epsilon=1.0, games=400)
    assert not verdict.refuted
    schema = find_schema(KINDS["columns"].data())
    assert schema.form.list_names(2) == ["vote", "weight"]
    assert not audits.search(
        sum_votes, data=KINDS["columns"].data(), neighbours=ADD, epsilon=1.0, max_calls=3_000
    ).refuted


class Server:
    """Answers a query about up to six people; refuses more."""

    def __init__(self, data: list[int], rng: Any) -> None:
        PLAYED[is_data(data)] += 1
        self.data, self.rng, self.left = data, rng, 1

    def ask(self, limit: int) -> float | None:
        self.left -= 1
        return sum(value < limit for value in self.data) + self.rng.laplace() if self.left >= 0 else None


class Running:
    """Publishes a noisy sum of up to four records, and raises for the fifth."""

    def __init__(self, rng: Any) -> None:
        self.rng, self.rounds = rng, 0

    def update(self, record: int) -> float:
        self.rounds += 1
        PLAYED[self.rounds <= 4 and record in (0, 1)] += 1
        return record + float(self.rng.laplace())


PLAYED: Counter[bool] = Counter()


def is_data(data: list[int]) -> bool:
    return len(data) <= 6 and all(0 <= value <= 9 for value in data)


@pytest.mark.thorough
def test_sessions_receive_what_can_be_drawn() -> None:
    PLAYED.clear()
    data = st.lists(st.integers(0, 9), max_size=6)
    server = audits.session(Server, data=data, ask=st.integers(0, 10), epsilon=1.0, neighbours=ADD)
    assert not audits.search(server, max_calls=3_000).refuted
    assert PLAYED[True] > 100
    assert not PLAYED[False]


@pytest.mark.thorough
@pytest.mark.parametrize("data", [st.lists(BITS, min_size=2, max_size=4), audits.records(BITS, max_size=4)])
def test_streams_are_as_long_as_can_be_drawn(data: Any) -> None:
    PLAYED.clear()
    found = audits.search(audits.stream(Running), data=data, epsilon=1.0, neighbours=REPLACE, max_calls=3_000)
    assert not found.refuted
    assert PLAYED[True] > 100
    assert not PLAYED[False]
