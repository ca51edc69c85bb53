"""Schemas of the user's data: what is drawn, packed and unpacked again, for every kind of data."""

from __future__ import annotations

import copy
import datetime
import sys
from datetime import date
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st

import audits
from arena import InvalidArgument
from arena.claims import read_relation
from arena.records import Records
from arena.schemas.forms import UserForm
from arena.schemas.schema import Schema
from audits.adversary_search.records.obvious_records import list_obvious, list_simpler
from audits.adversary_search.records.record_strategies import neighbouring_records
from audits.data.drawn_values import draw_values
from audits.data.schemas import find_schema, infer_schema

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

FRAME = pd.DataFrame(
    {
        "age": [31, 44, 29],
        "name": ["Ann", None, "Cy"],
        "city": pd.Categorical(["north", "south", "north"]),
        "born": pd.to_datetime(["1990-01-01", None, "1995-06-30"]),
        "visits": pd.array([1, None, 3], dtype="Int64"),
        "income": [1.5, np.nan, 2.0],
        "member": [True, False, True],
        "tags": [["a"], [], ["b", "c"]],
    }
)
SIMPLE = FRAME.drop(columns=["city", "tags"])
DATA = {
    "frame": FRAME,
    "labelled rows": FRAME.drop(index=1),
    "rows by name": FRAME.dropna().set_index("name"),
    "two indices": FRAME.dropna().set_index(["name", "age"]),
    "no rows": FRAME.iloc[:0],
    "polars": pl.from_pandas(SIMPLE),
    "array of integers": np.array([[1, 2], [3, 4]], dtype=np.int32),
    "numbers": np.array([0.5, 1.5]),
    "X and y": (np.array([[0.5], [1.0]]), np.array([3.5, -1.0])),
    "list": ["a", "b"],
    "tuple": (1, None),
    "columns": {"vote": np.array([0, 1]), "weight": np.array([0.5, 2.0]), "name": ["Ann", None]},
    "tables": {"people": SIMPLE, "trips": FRAME[["age", "income"]]},
}


def is_same(one: Any, other: Any) -> bool:
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other)
        return True
    if isinstance(one, pl.DataFrame):
        return bool(one.equals(other)) and one.schema == other.schema
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(is_same(one[name], other[name]) for name in one)
    if isinstance(one, tuple) and one and isinstance(one[0], np.ndarray):
        return all(map(is_same, one, other))
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_what_goes_in_is_what_is_received_in_each_game(data: Any) -> None:
    schema = infer_schema(data)
    games = list(schema.pack_games(Records(schema.form.unpack(data)), 3))
    assert all(is_same(game, data) for game in games)


@pytest.mark.parametrize("data", DATA.values(), ids=DATA)
def test_data_are_shown_as_code_that_makes_them(data: Any) -> None:
    schema = infer_schema(data)
    made = eval(
        schema.form.show(schema.form.unpack(data)), {"pd": pd, "pl": pl, "np": np, "datetime": datetime}
    )
    assert is_same(made, data)


@pytest.mark.parametrize("name", ["frame", "array of integers", "list", "X and y", "tables"])
def test_no_game_sees_what_another_has_changed(name: str) -> None:
    data, schema = DATA[name], infer_schema(DATA[name])

    def spoil(received: Any) -> None:
        if isinstance(received, pd.DataFrame):
            received.iloc[0, 0] = 99
            if "tags" in received:
                received["tags"].iloc[0].append("spoilt")
        elif isinstance(received, dict):
            spoil(received["people"])
        elif isinstance(received, tuple):
            received[0][:] = 0
        else:
            received[0] = received[1]

    for received in schema.pack_games(Records(schema.form.unpack(data)), 3):
        assert is_same(received, data)
        spoil(received)


def test_a_removed_row_is_one_change_by_its_label_or_without_labels() -> None:
    for other in (FRAME.drop(index=1), FRAME.drop(index=1).reset_index(drop=True)):
        schema = infer_schema(FRAME, other)
        worlds = [Records(schema.form.unpack(frame)) for frame in (FRAME, other)]
        assert read_relation("add or remove one").count_changes(*worlds, len) == 1


PEOPLE = {
    "pandas": audits.table(age=st.integers(0, 120), city=st.sampled_from(["north", "south"]), user="age"),
    "polars": audits.table(age=st.integers(0, 120), name=st.none() | st.text(), library="polars"),
    "records": audits.records(st.text(), pack=tuple),
    "dictionaries": audits.records(
        st.fixed_dictionaries({"id": st.integers(0, 99), "tags": st.lists(st.text())})
    ),
    "labelled": audits.labelled(features=2, targets=st.floats(-1, 1)),
    "vector": audits.vector(4, metric="l1", distance=2.0),
    "vector of counts": audits.vector(4, values=st.integers(0, 5)),
    "tables": audits.tables(
        people=audits.table(person=st.integers(0, 9), unique="person"),
        trips=audits.table(person=st.integers(0, 9), km=st.floats(0, 100)),
        user="person",
    ),
    "like a frame": audits.table_like(FRAME),
    "lists": st.lists(st.dates(), min_size=1),
}
KINDS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "records": tuple,
    "dictionaries": list,
    "labelled": tuple,
    "vector": np.ndarray,
    "vector of counts": np.ndarray,
    "tables": dict,
    "like a frame": pd.DataFrame,
    "lists": list,
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", PEOPLE)
def test_strategies_draw_what_the_mechanism_receives(name: str) -> None:
    drawn = draw_values(PEOPLE[name], "data", 30)
    assert {type(data) for data in drawn} == {KINDS[name]}
    schema = find_schema(PEOPLE[name])
    assert all(is_same(schema.form.pack(schema.form.unpack(data)), data) for data in drawn)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "relation"),
    [
        ("pandas", "add or remove one"),
        ("pandas", "add or remove a user of at most 4"),
        ("polars", "replace one"),
        ("records", "replace a group of 2"),
        ("dictionaries", "add or remove one"),
        ("labelled", "replace one"),
        ("vector", "at L1 distance at most 2"),
        ("tables", "add or remove a user of at most 5"),
        ("like a frame", "add or remove one"),
        ("lists", "add or remove one"),
    ],
)
def test_neighbours_are_neighbours_that_the_schema_allows(name: str, relation: str) -> None:
    schema, chosen = find_schema(PEOPLE[name]), read_relation(relation)

    def check(pair: tuple[Records, Records]) -> None:
        assert 1 <= chosen.count_changes(*pair, schema.users_of) <= chosen.size
        assert all(schema.allows_size(records.size) for records in pair)
        for records in pair:
            assert len(schema.drop_repetitions(records.rows())) == records.size
            next(schema.pack_games(records, 1))

    constants = (7, 55.5, "Bern", date(2000, 2, 3))
    given(neighbouring_records(schema, chosen, constants=constants))(check)()
    for pair in list_obvious(schema, chosen, constants) if schema.relation is None else ():
        check(pair)
        for simpler in list_simpler(schema, chosen, *pair):
            check(simpler)
    if schema.relation is None:
        assert list_obvious(schema, chosen)
    pair = find(audits.neighbours(PEOPLE[name], relation), lambda pair: True)
    assert {type(pair.x), type(pair.y)} == {KINDS[name]}


@pytest.mark.thorough
def test_pairs_shrink_and_show_the_code_that_makes_them() -> None:
    people = audits.table(name=st.text(), city=st.sampled_from(["north", "south"]))
    pair = find(
        audits.neighbours(people, "add or remove one"),
        lambda pair: set(pair.x["city"]) != set(pair.y["city"]) and len(pair.y) > len(pair.x) > 0,
    )
    namespace: dict[str, Any] = {"pd": pd}
    exec(repr(pair), namespace)
    assert is_same(namespace["x"], pair.x)
    assert is_same(namespace["y"], pair.y)
    assert repr(pair).endswith("# record 2 is added: ('', 'south')")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: audits.table(age=st.nothing()), "column 'age' must draw something"),
        (lambda: audits.table(age=[1, 2]), "column 'age' must be a Hypothesis strategy"),
        (lambda: audits.table(), "needs at least one column"),
        (lambda: audits.table(age=st.integers(), user="id"), "no such column"),
        (lambda: audits.table(age=st.integers(), min_size=3, max_size=2), "min_size and max_size"),
        (
            lambda: audits.records(st.text(), pack=len_of_first),
            r"len_of_first cannot pack no records, IndexError.*test_schemas.py, line \d+.*min_size=1",
        ),
        (
            lambda: audits.records(st.sampled_from(["abc", 3]), pack=count_letters),
            r"count_letters cannot pack record 1, 3, TypeError: .*test_schemas.py, line \d+",
        ),
        (lambda: find_schema(st.integers().map(len)), r"the strategy of data raised TypeError"),
        (
            lambda: infer_schema(FRAME, FRAME.assign(age=[31, "n/a", 29])).form.unpack(
                FRAME.assign(age=[31, "n/a", 29])
            ),
            r"column 'age' must have the type int64, not object, got \"'n/a' in row 2\"",
        ),
        (lambda: audits.vector(3, metric="l3"), "metric must be l1, l2 or linf"),
        (lambda: audits.table_like("people.csv"), "Read a file first"),
        (lambda: find_schema(st.integers()), "data must be a DataFrame"),
    ],
)
def test_mistakes_are_named(make: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        make()


def count_letters(records: list[str]) -> list[int]:
    return [len(record) for record in records]


def len_of_first(records: list[str]) -> int:
    return len(records[0])


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT], ids=str)
def test_a_record_without_a_user_is_refused(missing: Any) -> None:
    schema = Schema(form=infer_schema([()]).form, user=0, examples=((1,),))
    with pytest.raises(InvalidArgument, match="every record must have a user"):
        schema.users_of([(1, "a"), (missing, "b")])


@pytest.mark.thorough
def test_dates_and_missing_values_are_drawn_like_those_of_an_example() -> None:
    schema = infer_schema([date(2020, 1, 1), None])
    drawn = {
        record
        for pair in [find(neighbouring_records(schema, read_relation("replace one")), lambda pair: True)]
        for records in pair
        for record in records.rows()
    }
    assert drawn == {date(2020, 1, 1), None}


@pytest.mark.thorough
def test_neither_library_is_imported_unless_it_is_used() -> None:
    import subprocess

    code = (
        "import sys, audits; from hypothesis import strategies as st; "
        "audits.search(lambda data, rng: len(data) + rng.laplace(), data=st.lists(st.text()), epsilon=1.0, "
        "neighbours='add or remove one', examples=2, games=100); "
        "print('pandas' in sys.modules, 'polars' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "False False", done.stderr


def test_schemas_are_compared_by_what_they_say() -> None:
    schema = find_schema(PEOPLE["pandas"])
    assert schema == copy.deepcopy(schema)
    assert hash(schema) == hash(copy.deepcopy(schema))
    assert schema != find_schema(PEOPLE["lists"])


@st.composite
def shifts(draw: st.DrawFn) -> Any:
    hours = draw(st.lists(st.one_of(st.floats(0, 24), st.just(float("nan"))), max_size=8))
    return pd.DataFrame({"worker": [draw(st.integers(0, 1_000)) for _ in hours], "hours": hours})


@pytest.mark.thorough
def test_examples_of_any_strategy_have_extreme_and_missing_values() -> None:
    drawn = [record for record in find_schema(shifts()).examples if len(record) == 2]
    assert 32 <= len(drawn) <= 64
    hours = [hour for _, hour in drawn]
    known = [hour for hour in hours if hour == hour]
    assert len(known) < len(hours)
    assert min(known) == 0
    assert max(known) > 20
    assert max(worker for worker, _ in drawn) > 900


def test_what_is_drawn_does_not_depend_on_the_modules_that_are_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = draw_values(st.integers(0, 40_000), "numbers")
    (tmp_path / "numbers_of_a_user.py").write_text(f"NUMBERS = {list(range(20_000, 21_000))}\n")
    monkeypatch.syspath_prepend(tmp_path)
    import_module("numbers_of_a_user")
    assert draw_values(st.integers(0, 40_000), "numbers") == before


@pytest.mark.thorough
def test_fields_of_dictionaries_are_combined_only_if_they_are_drawn_independently() -> None:
    span = st.fixed_dictionaries({"first": st.integers(0, 9), "last": st.integers(0, 9)})
    assert find_schema(audits.records(span)).names == ["first", "last"]
    ordered = span.filter(lambda record: record["first"] <= record["last"])
    assert find_schema(audits.records(ordered)).columns is None


@pytest.mark.thorough
def test_the_extremes_of_a_field_are_known_though_they_are_hardly_ever_drawn() -> None:
    strategy = st.fixed_dictionaries(
        {"small": st.integers(-7, 99_999), "real": st.floats(-2, 3), "name": st.text("xy", max_size=500)}
    )
    schema = find_schema(audits.records(strategy))
    columns = dict(zip(schema.names, schema.columns or (), strict=True))
    numbers, reals, names = (columns[name] for name in ("small", "real", "name"))
    assert (min(numbers), max(numbers), min(reals), max(reals)) == (-7, 99_999, -2.0, 3.0)
    assert len(names[-1]) == 500
    assert set(names[-1]) <= {"x", "y"}
    assert len(find_schema(audits.records(st.text())).examples[-1]) >= 1_000


def test_no_extreme_is_made_that_a_strategy_does_not_draw() -> None:
    half_open, even = st.floats(0, 1, exclude_max=True), st.integers(0, 8).map(_double)
    shares, numbers = find_schema(audits.table(share=half_open, even=even)).columns or ()
    assert max(shares) < 1
    assert set(numbers) <= set(range(0, 17, 2))


def _double(number: int) -> int:
    return 2 * number


def test_a_column_may_be_one_of_pandas_or_polars() -> None:
    grades = pd.Categorical(["b", None], categories=["a", "b", "c"], ordered=True)
    schema = find_schema(audits.table(grade=grades, day=pd.Series(pd.to_datetime(["2024-02-29"]))))
    frame = schema.form.pack(schema.examples[:4])
    assert frame["grade"].dtype == grades.dtype
    assert set(frame["grade"].dropna()) == {"a", "b", "c"}
    assert frame["grade"].isna().sum() == 1
    assert frame["day"].dtype.kind == "M"
    kinds = pl.Series(["a"], dtype=pl.Enum(["a", "b"]))
    schema = find_schema(audits.table(kind=kinds, number=pl.Series([1], dtype=pl.Int8), library="polars"))
    assert schema.form.pack(schema.examples[:2]).schema == {"kind": kinds.dtype, "number": pl.Int8}
    assert {record[0] for record in schema.examples} == {"a", "b"}


def test_columns_of_one_length_are_one_table_and_others_are_several() -> None:
    columns = {"vote": np.array([0, 1, 1]), "weight": np.array([0.5, 1.0, 2.0])}
    shorter = {name: column[1:] for name, column in columns.items()}
    schema = infer_schema(columns, shorter)
    worlds = [Records(schema.form.unpack(data)) for data in (columns, shorter)]
    assert worlds[0].rows() == [(0, 0.5), (1, 1.0), (1, 2.0)]
    assert read_relation("add or remove one").count_changes(*worlds, len) == 1
    assert schema.form.with_field((0, 0.5), "weight", 1.5) == (0, 1.5)
    uneven = {**columns, "weight": columns["weight"][1:]}
    assert infer_schema(columns, uneven).form.unpack(uneven)[-1] == ("weight", 2.0)
    with pytest.raises(InvalidArgument, match="one length"):
        schema.form.unpack(uneven)


@pytest.mark.thorough
@pytest.mark.parametrize(("unique", "number"), [(True, 6), ([0], 3), ([lambda record: record[1]], 2)])
def test_records_may_be_unique_as_those_of_tables(unique: Any, number: int) -> None:
    strategy = audits.records(st.tuples(st.integers(0, 2), st.booleans()), unique=unique)
    schema = find_schema(strategy)
    assert len(schema.drop_repetitions(schema.examples)) == number
    assert all(world.size <= number for world in schema.make_records())


@pytest.mark.thorough
def test_a_unique_field_is_one_that_records_have() -> None:
    with pytest.raises(InvalidArgument, match="unique"):
        audits.records(st.integers(0, 2), unique=["id"])


class Packer:
    def pack(self, records: list[Any]) -> list[Any]:
        return records


@pytest.mark.parametrize(
    ("pack", "text"),
    [
        (" ".join, "' '.join(['a'])"),
        (partial(sorted, reverse=True), "sorted(['a'], reverse=True)"),
        (np.array, "np.array(['a'])"),
        (pd.DataFrame.from_records, "pd.DataFrame.from_records(['a'])"),
        (partial(pd.DataFrame, columns=["name"]), "pd.DataFrame(['a'], columns=['name'])"),
        (Packer().pack, "pack(['a'])"),
        (lambda records: records, "pack(['a'])"),
    ],
)
def test_what_a_function_packs_is_shown_as_code_that_runs(pack: Any, text: str) -> None:
    form = UserForm(pack)
    assert form.show(["a"]) == text
    made = eval(text, {"pd": pd, "np": np, "pack": pack})
    assert repr(made) == repr(pack(["a"]))
    assert form.define().startswith("# define pack as") == text.startswith("pack")


def test_a_column_called_user_says_whose_a_row_is() -> None:
    schema = find_schema(audits.table(user=st.integers(0, 9), km=st.floats(0, 1)))
    assert schema.names == ["user", "km"]
    assert schema.users_of([(3, 0.5)]).tolist() == [3]
