"""Two tables of records in reports: which records differ, under the names of their fields."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import audits
from arena.records import Records
from audits.data.schemas import infer_schema
from audits.reports.data_pair import DataPair, compare_records

pd = pytest.importorskip("pandas")

SCRIPT = "<script>alert(1)</script>"
ORDERS = pd.DataFrame({"id": [n // 3 for n in range(90)], "item": [SCRIPT, "tea", "rye"] * 30})
LISTS = st.lists(st.integers(0, 3), max_size=8)


def count_customers(orders: Any, rng: np.random.Generator) -> dict[str, float]:
    return {"customers": orders["id"].nunique() + rng.laplace(scale=0.1)}


def compare(first: Any, second: Any) -> list[tuple[str, ...]]:
    schema = infer_schema(first, second)
    return [*compare_records(schema, *(Records(schema.form.unpack(data)) for data in (first, second)))]


@given(LISTS, LISTS)
def test_each_world_has_the_records_that_the_table_says(first: list[int], second: list[int]) -> None:
    rows = compare(first, second)
    left: dict[str, list[str]] = {"world 0 only": [], "world 1 only": []}
    for world, record in rows[1:]:
        left.get(world, []).append(record)
    counts = [np.bincount(data, minlength=4) for data in (first, second)]
    for own, difference in zip(left.values(), (counts[0] - counts[1], counts[1] - counts[0]), strict=True):
        assert sorted(own) == [str(n) for n in range(4) for _ in range(max(0, difference[n]))]


def test_a_removed_user_is_shown_among_the_rows_beside_it() -> None:
    assert compare(ORDERS, ORDERS[ORDERS["id"] != 10]) == [
        ("in", "index", "id", "item"),
        ("28 more in both", "", "", ""),
        ("both", "28", "9", "'tea'"),
        ("both", "29", "9", "'rye'"),
        ("world 0 only", "30", "10", repr(SCRIPT)),
        ("world 0 only", "31", "10", "'tea'"),
        ("world 0 only", "32", "10", "'rye'"),
        ("both", "33", "11", repr(SCRIPT)),
        ("both", "34", "11", "'tea'"),
        ("55 more in both", "", "", ""),
    ]


def test_a_replaced_row_stands_beside_what_replaces_it() -> None:
    changed = ORDERS.copy()
    changed.loc[1, "item"] = "x" * 100
    rows = compare(ORDERS, changed)
    assert [row[0] for row in rows[1:]] == [
        "both", "world 0 only", "world 1 only", "both", "both", "86 more in both"
    ]  # fmt: skip
    assert len(rows[3][-1]) == 40


def test_many_changes_are_counted() -> None:
    rows = compare(list(range(100)), [])
    assert len(rows) == 42
    assert rows[-1] == ("60 more of one world", "")


@pytest.mark.parametrize(
    ("data", "other", "names"),
    [
        ((np.eye(2), np.arange(2.0)), (np.eye(2), np.ones(2)), ("features", "target")),
        ({"people": ORDERS}, {"people": ORDERS.drop(index=0)}, ("table", "row")),
        ([{"age": 1}], [{"age": 2}], ("age",)),
        ([("Ann", 1)], [("Bob", 2)], ("0", "1")),
        ([None], [None, "x"], ("record",)),
    ],
)
def test_fields_have_their_names(data: Any, other: Any, names: tuple[str, ...]) -> None:
    header, *rows = compare(data, other)
    assert header == ("in", *names)
    assert {len(row) for row in rows} == {len(header)}


def test_code_stands_for_small_data_and_the_table_for_large_ones() -> None:
    schema = infer_schema(ORDERS, ORDERS[:0])
    for number, shown in ((1, "world_0 = pd.DataFrame({"), (90, "more of one world")):
        rows = Records(schema.form.unpack(ORDERS[:number]))
        pair = DataPair.of(schema, rows, Records(()), "The data:")
        assert pair.text().startswith("The data:\n\n")
        assert shown in pair.text()
        assert shown in pair.html()
        assert SCRIPT not in pair.html()
        assert "&lt;script&gt;" in pair.html()


@pytest.mark.thorough
def test_pages_of_searches_and_audits_show_the_rows_that_differ(tmp_path: Path) -> None:
    claim: dict[str, Any] = {"epsilon": 1.0, "neighbours": "add or remove a user of at most 3", "user": "id"}
    found = audits.search(count_customers, data=ORDERS, **claim)
    verdict = audits.audit(
        count_customers, data=ORDERS, neighbour=ORDERS[ORDERS["id"] != 10], games=500, **claim
    )
    search, audit = found.to_html(), verdict.to_html()
    for page in (search, audit):
        assert SCRIPT not in page
        assert page.index('class="verdict refuted"') < page.index('<table class="facts">')
        assert '<tr class="only-' in page
        assert "releases {&#x27;customers&#x27;:" in page
    assert "told apart by" in search
    assert "28 more in both" in audit
