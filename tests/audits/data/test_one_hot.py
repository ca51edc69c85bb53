"""Columns of data as points of 0 and 1: what is read, and every refusal."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.paths import DATA

from arena.errors import InvalidArgument
from audits.data.one_hot import MAX_RANGES, MAX_VALUES, OneHotData, _make_ranges, load_one_hot

MUSHROOM = DATA / "mushroom.csv.gz"


@pytest.fixture
def write_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(content: str) -> str:
        Path("d.csv").write_text(content)
        return "d.csv"

    return write


@pytest.mark.thorough
def test_mushrooms_are_encoded_as_the_csv_module_reads_them() -> None:
    found = load_one_hot(MUSHROOM, y="Poisonous/Edible")
    with gzip.open(MUSHROOM, "rt", newline="") as file:
        rows = list(csv.DictReader(file))
    assert (found.points.shape, len(found.names)) == ((8_124, 117), 117)
    assert found.values == ("e", "p")
    for place in (0, 7, 4_000, 8_123):
        held = {found.names[i] for i in np.flatnonzero(found.points[place])}
        assert held == {f"{column} = {rows[place][column]}" for column in found.columns}
        assert found.labels[place] == (rows[place]["Poisonous/Edible"] == "p")
    assert len(found.columns) == 22
    assert (found.points.sum(axis=1) == 22).all()


def test_each_coordinate_knows_its_column(write_file) -> None:
    found = load_one_hot(write_file("a,y,b\nu,0,1\nv,1,2\nu,1,10\n"), y="y")
    assert found.names == ("a = u", "a = v", "b = 1", "b = 10", "b = 2")
    assert found.column_of.tolist() == [0, 0, 1, 1, 1]
    assert found.points.tolist() == [[1, 0, 1, 0, 0], [0, 1, 0, 0, 1], [1, 0, 0, 1, 0]]


@pytest.mark.parametrize(
    ("labels", "positive", "values"),
    [
        (("0", "1"), None, ("0", "1")),
        (("1.0", "0"), None, ("0", "1.0")),
        (("no", "yes"), None, ("no", "yes")),
        (("p", "e"), None, ("e", "p")),
        (("<=50K", ">50K"), None, ("<=50K", ">50K")),
        (("p", "e"), "e", ("p", "e")),
    ],
)
def test_which_label_becomes_1(write_file, labels, positive, values) -> None:
    found = load_one_hot(write_file(f"a,y\nu,{labels[0]}\nv,{labels[1]}\n"), y="y", positive=positive)
    assert found.values == values
    assert found.labels.tolist() == [int(label == values[1]) for label in labels]


def test_columns_may_be_named(write_file) -> None:
    found: OneHotData = load_one_hot(write_file("a,b,y\nu,s,0\nv,t,1\n"), y="y", x=["b"])
    assert (found.names, found.columns) == (("b = s", "b = t"), ("b",))


AGES = "age,sex,y\n" + "".join(f"{20 + i},{'fm'[i % 2]},{i % 2}\n" for i in range(20))


def test_numbers_are_cut_by_quantiles(write_file) -> None:
    found = load_one_hot(write_file(AGES), y="y", quantiles=4)
    ages = ("age = 20-24", "age = 25-29", "age = 30-34", "age = 35-39")
    assert found.names == (*ages, "sex = f", "sex = m")
    assert found.points.sum(axis=0).tolist() == [5, 5, 5, 5, 10, 10]
    assert found.points[6].tolist() == [0, 1, 0, 0, 1, 0]
    assert found.column_of.tolist() == [0, 0, 0, 0, 1, 1]


def test_a_column_of_no_more_values_than_ranges_is_not_cut(write_file) -> None:
    found = load_one_hot(write_file("a,y\n3,0\n1,1\n2,0\n"), y="y", quantiles=3)
    assert found.names == ("a = 1", "a = 2", "a = 3")


def test_a_number_that_many_share_has_a_range_of_its_own(write_file) -> None:
    lines = "".join(f"{gain},{i % 2}\n" for i, gain in enumerate([0] * 40 + [7, 9, 11]))
    found = load_one_hot(write_file("gain,y\n" + lines), y="y", quantiles=3)
    assert found.names == ("gain = 0", "gain = 7-11")


def test_ranges_of_negative_numbers_can_be_read(write_file) -> None:
    found = load_one_hot(
        write_file("a,y\n" + "".join(f"{i - 5},{i % 2}\n" for i in range(10))), y="y", quantiles=2
    )
    assert found.names == ("a = -5 to -1", "a = 0 to 4")


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(2, 8))
def test_ranges_agree_with_a_naive_count(numbers: list[int], quantiles: int) -> None:
    values, which = np.unique(np.array([str(number) for number in numbers]), return_inverse=True)
    names, found = _make_ranges(values, values.astype(float), which, quantiles)
    ordered = sorted(numbers)
    # The k-th cut is the least number that k/q of the examples do not exceed.
    cuts = sorted({ordered[-(-len(numbers) * k // quantiles) - 1] for k in range(1, quantiles)})
    members: dict[int, set[int]] = {}
    for number in numbers:
        members.setdefault(sum(number > cut for cut in cuts), set()).add(number)
    ends = [members[part] for part in sorted(members)]
    assert names == [f"{min(e)}-{max(e)}" if len(e) > 1 else f"{min(e)}" for e in ends]
    assert all(number in ends[place] for number, place in zip(numbers, found, strict=True))


MANY = "a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(MAX_VALUES + 1))


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (MANY, {}, "d.csv, column 'a': a column may take at most 64 values, got 65. Cut numbers"),
        (MANY.replace("0,0", "?,0", 1), {"quantiles": 5}, "got 65. Only columns with a number in every line"),
        (MANY, {"quantiles": 1}, "quantiles must be at least 2, got 1"),
        (MANY, {"quantiles": 65}, f"quantiles must be at most {MAX_RANGES}, got 65"),
        ("a,y\nu,0\nv,1\n", {"x": ["y"]}, "a column cannot hold both the points and the labels, got 'y'"),
        ("a,y\nu,0\nv,1\n", {"x": ["a", "a"]}, "a column can be named only once, got 'a'. Remove one --x"),
        ("a,y\nu,0\nv,1\n", {"x": ["b"]}, "d.csv, line 1: no such column, got 'b'"),
        ("y\n0\n1\n", {}, "d.csv has no column beside that of the labels"),
        ("a,y\nu,0\nv,1\n", {"positive": "2"}, "d.csv, column 'y': there is no such label, got '2'"),
        ("a,y\nu,0\nv,1\nw,2\n", {}, "labels must take two values, found 3 \\(the third in line 4\\)"),
    ],
)  # fmt: skip
def test_refusals(write_file, content, options, message) -> None:
    with pytest.raises(InvalidArgument, match=message):
        load_one_hot(write_file(content), y="y", **options)
