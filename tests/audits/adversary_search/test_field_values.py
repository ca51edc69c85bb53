"""Values of fields: constants of the code that a strategy could have drawn, and the ends of their range."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import strategies as st

import audits
from arena.claims import read_relation
from audits.adversary_search.code_constants import list_code_values
from audits.adversary_search.records.field_values import list_constants_of, list_ends
from audits.adversary_search.records.obvious_records import list_obvious, list_simpler
from audits.data.drawn_values import draw_values
from audits.data.schemas import find_schema
from learners.foreign.function import Function

CONSTANTS = (999, 0.25, "qa-bot", "2020-03-01", "bob@site.ch", date(1999, 12, 31), None)
SPAN = date(1980, 1, 1), date(2020, 12, 31)
OFFERED: dict[str, tuple[st.SearchStrategy[Any], list[Any]]] = {
    "integers": (st.integers(0, 2_000), [999, 128, 256]),
    "missing values": (st.none() | st.integers(0, 2_000), [999, 128, 256]),
    "even numbers": (st.integers(0, 1_000).map(lambda number: 2 * number), [128, 256]),
    "all are known": (st.integers(0, 9), []),
    "a list of numbers": (st.sampled_from(range(0, 2_000, 3)), [999]),
    "a short list": (st.sampled_from([0, 500, 2_000]), []),
    "floats": (st.floats(0, 1), [0.25]),
    "booleans": (st.booleans(), []),
    "text": (st.text(), ["qa-bot", "2020-03-01", "bob@site.ch"]),
    "other letters": (st.text("xyz"), []),
    "longer text": (st.text(min_size=11), ["bob@site.ch"]),
    "addresses": (st.from_regex(r"[a-z]+@[a-z]+\.ch", fullmatch=True), ["bob@site.ch"]),
    "dates": (
        st.dates(*SPAN),
        [date(2020, 3, 1), date(1999, 12, 31), date(2020, 2, 29), date(2016, 12, 31)],
    ),
    "times": (
        st.datetimes(*(datetime(day.year, 1, 2) for day in SPAN), timezones=st.just(UTC)),
        [
            datetime(1999, 12, 31, tzinfo=UTC),
            datetime(2016, 2, 29, tzinfo=UTC),
            datetime(2016, 12, 31, tzinfo=UTC),
        ],
    ),
    "lists": (st.lists(st.text()), []),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", OFFERED)
def test_a_field_is_offered_the_constants_that_it_could_hold(name: str) -> None:
    strategy, offered = OFFERED[name]
    drawn = draw_values(strategy, "a field")
    found = list_constants_of(drawn, CONSTANTS)
    assert [value for value in found if value not in drawn] == [v for v in offered if v not in drawn]


@pytest.mark.parametrize(
    ("pool", "least", "largest"),
    [
        ([3, 0, -20, None, 7], -20, 7),
        (["", "b", "aaa", "c"], "", "aaa"),
        ([["a"], ["b", "b", "b"], ["a", "b"]], ["a"], ["a", "b"]),
        ([date(2020, 1, 1), date(2019, 1, 1)], date(2019, 1, 1), date(2020, 1, 1)),
    ],
)
def test_text_is_as_large_as_it_is_long_and_a_list_as_it_is_varied(
    pool: list[Any], least: Any, largest: Any
) -> None:
    assert list_ends(pool)[:2] == [least, largest]


def test_dates_and_texts_of_the_code_are_found() -> None:
    def report(rows: Any, rng: Any) -> float:
        cut = timedelta(days=3) + date(1970, 1, 2).__class__(2021, 5, 6).today().__class__.resolution
        return sum(row["day"] == "1900-01-01" for row in rows) + cut.days

    values = list_code_values(Function(function=report, epsilon=1.0))
    assert {date(1970, 1, 2), date(2021, 5, 6), "1900-01-01", 3} <= set(values)


@pytest.mark.thorough
def test_the_obvious_records_have_constants_and_are_as_many_as_a_constant_says() -> None:
    schema = find_schema(audits.table(name=st.text(), age=st.integers(0, 120)))
    relation = read_relation("add or remove one")
    pairs = list_obvious(schema, relation, (10, "qa-bot", "age"))
    assert (9, 10) in {(first.size, second.size) for first, second in pairs}
    names = {record[0] for pair in pairs for records in pair for record in records.records}
    assert "qa-bot" in names
    assert "age" not in names
    wide = next(pair for pair in pairs if pair[1].size == 10)
    halved = next(list_simpler(schema, relation, *wide))
    assert [records.size for records in halved] == [4, 5]
