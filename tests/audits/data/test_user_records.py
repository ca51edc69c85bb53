"""Tables in files become records of a schema: their types, and the row and column of what does not fit."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from support.command_line import Command

import audits
from arena import InvalidArgument
from audits.data.schemas import find_schema
from audits.data.user_records import read_rows

pytest.importorskip("pandas")
pytest.importorskip("polars")

COLUMNS = {
    "id": st.integers(0, 1000),
    "city": st.sampled_from(["Bern", "Chur"]),
    "zip": st.text("0123456789", min_size=5, max_size=5),
    "age": st.floats(0, 120) | st.just(float("nan")),
    "born": st.dates(date(1990, 1, 1)),
    "seen": st.datetimes(datetime(2020, 1, 1)),
    "member": st.booleans(),
}
ROWS = [
    "id,city,zip,age,born,seen,member",
    "1,Bern,00501,30,2000-01-01,2024-05-06T10:00:00,True",
    "1000,Chur,20001,,1995-05-06,2024-05-06T12:00:00,False",
]


@pytest.fixture(scope="module")
def people() -> dict[str, Any]:
    """Tables of people by library: made once, since drawing the examples of each column takes long."""
    return {library: audits.table(COLUMNS, library=library) for library in ("pandas", "polars")}


def read(folder: Path, text: str, strategy: Any) -> Any:
    path = folder / "people.csv"
    path.write_text(text)
    schema = find_schema(strategy)
    return next(schema.pack_games(read_rows(schema, str(path), strategy), 1))


@pytest.mark.thorough
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_file_has_the_types_of_the_schema(tmp_path: Path, people: dict[str, Any], library: str) -> None:
    frame = read(tmp_path, "\n".join(ROWS), people[library])
    schema = find_schema(people[library])
    empty = next(schema.pack_games(schema.take_examples(0), 1))
    assert list(frame.dtypes) == list(empty.dtypes)
    assert list(frame["zip"]) == ["00501", "20001"]
    assert list(frame["id"]) == [1, 1000]
    assert list(frame["born"]) == [date(2000, 1, 1), date(1995, 5, 6)]
    assert frame["age"][1] != frame["age"][0] == 30.0


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Chur", "Genf", r"row 2, column 'city': the schema draws no such value, got 'Genf'"),
        ("30", "-3", r"row 1, column 'age': .* got -3"),
        ("30", "old", r"row 1, column 'age': .* got 'old'"),
        ("1000", "1001", r"row 2, column 'id': .* got 1001"),
        ("1000", "2.5", r"row 2, column 'id': .* got 2.5"),
        ("2000-01-01", "1889-01-01", r"row 1, column 'born'"),
        ("2000-01-01", "soon", r"row 1, column 'born': .* got 'soon'"),
        ("Bern", "", r"row 1, column 'city': .* got nan"),
        ("zip", "post", r"must have the columns"),
    ],
)
def test_what_does_not_fit_is_named_by_its_row_and_column(
    tmp_path: Path, people: dict[str, Any], old: str, new: str, message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        read(tmp_path, "\n".join(ROWS).replace(old, new), people["pandas"])


run = Command()
PIPE = """
import audits
from hypothesis import strategies as st
from support.command_line import Command

people = audits.table(city=st.sampled_from(["Bern", "Chur"]), age=st.floats(0, 120) | st.just(float("nan")))


def report(people, rng):
    return {city: len(rows) + rng.laplace() for city, rows in people.groupby("city")}
"""


@pytest.mark.thorough
@pytest.mark.parametrize("schema", [True, False])
def test_two_files_are_audited(tmp_path: Path, schema: bool) -> None:
    (tmp_path / "pipe.py").write_text(PIPE)
    for name, rows in {"a": "Bern,30\nChur,\n", "b": "Bern,30\n", "c": "Bern,x\n"}.items():
        (tmp_path / f"{name}.csv").write_text(f"city,age\n{rows}")
    words = ["audit", f"{tmp_path}/pipe.py:report", "--neighbours", "add or remove one", "--epsilon", "1"]
    words += ["--games", "1000", "--data", f"{tmp_path}/a.csv"]
    words += ["--schema", f"{tmp_path}/pipe.py:people"] if schema else []
    assert run(*words, "--neighbour", f"{tmp_path}/b.csv").exit_code == 3
    said = run.refusal(*words, "--neighbour", f"{tmp_path}/c.csv")
    assert "column 'age'" in said
    assert "'x'" in said


def test_a_neighbour_needs_data() -> None:
    assert run.refusal("audit", "laplace-count", "--neighbour", "b.csv").startswith(
        "--neighbour needs --data"
    )
