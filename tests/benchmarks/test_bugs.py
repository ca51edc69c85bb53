"""The benchmark of reported bugs: entries are whole, pairs show the bugs, and the files are current."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from arena.claims import Neighbours, Relation, read_relation
from audits.data.schemas import find_schema
from benchmarks.bugs import __main__ as runner
from benchmarks.bugs import collection, page
from benchmarks.bugs.bug import Bug, build_data, find_gaussian_scale, play
from benchmarks.bugs.collection import BUGS, find_bug
from benchmarks.bugs.schemas import audit_pair, make_data

QUICK = ("tied-weights", "budget-becomes-nan", "tree-restarted")
SCHEMAS = ("microbatch-means", "two-means-for-one", "group-length-as-change", "range-as-sensitivity")
SCHEMAS += (
    "count-after-cast",
    "missing-total-becomes-zero",
    "noise-by-dimensions",
    "distinct-words-of-others",
)
ROOT = Path(__file__).parents[2]
every = pytest.mark.parametrize("bug", BUGS, ids=[bug.name for bug in BUGS])


def are_neighbours(first: Sequence[Any], second: Sequence[Any], relation: Relation, bug: Bug) -> bool:
    """Written without the schemas and relations of dp-arena, which read the entries otherwise."""
    x, y = (list(map(repr, world)) for world in sorted((first, second), key=len))
    changed = [place for place, pair in enumerate(zip(x, y, strict=False)) if len(set(pair)) > 1]
    if relation.kind is Neighbours.ADD_OR_REMOVE_ONE:
        return any(y[:place] + y[place + 1 :] == x for place in range(len(y)))
    if relation.kind is Neighbours.ADD_OR_REMOVE_USER:
        owner = list(bug.schema["columns"]).index(bug.schema["user"])
        longer = max(first, second, key=len)
        users = {row[owner] for row in longer}
        groups = [[repr(row) for row in longer if row[owner] != user] for user in users]
        return x in groups and len(y) - len(x) <= relation.size
    if relation.distance:
        gaps = np.abs(np.subtract(first, second, dtype=float))
        return bool((gaps.sum() if "L1" in str(relation) else gaps.max()) <= relation.distance)
    if relation.kind is Neighbours.ZERO_OUT_ONE:
        blank = repr(bug.schema["blank"])
        return len(x) == len(y) and len(changed) == 1 and blank in (x[changed[0]], y[changed[0]])
    return len(x) == len(y) and len(changed) <= relation.size


@every
def test_an_entry_is_whole(bug: Bug) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", bug.name)
    assert re.fullmatch(r"https://\S+", bug.address)
    assert bug.library
    assert bug.summary.endswith(".")
    assert bug.epsilon > 0
    assert 0 <= bug.delta < 0.1
    relation = read_relation(bug.relation)
    assert are_neighbours(*bug.worlds, relation, bug)
    assert not are_neighbours(bug.worlds[0], bug.worlds[0], read_relation("add or remove one"), bug)
    most = bug.schema["most"] or float("inf")
    assert all(bug.schema["least"] <= len(world) <= most for world in bug.worlds)
    assert bool(bug.asked) == (bug.form == "session")
    assert set(bug.asked) <= set(bug.queries)


@pytest.mark.thorough
@pytest.mark.parametrize("name", SCHEMAS)
def test_the_schema_describes_what_the_mechanism_receives(name: str) -> None:
    bug = find_bug(name)
    schema = find_schema(make_data(bug.schema, bug.relation))
    records = [tuple(bug.worlds[1])] if bug.schema["kind"] == "vector" else list(bug.worlds[1])
    given, drawn = build_data(bug.schema, bug.worlds[1]), schema.form.pack(records)
    assert type(given) is type(drawn)
    for mine, other in zip(
        *((part if isinstance(part, tuple) else (part,)) for part in (given, drawn)), strict=True
    ):
        np.testing.assert_array_equal(np.asarray(mine), np.asarray(other))
        if hasattr(mine, "dtypes"):
            assert list(mine.dtypes) == list(other.dtypes)


@every
def test_the_twin_is_another_mechanism(bug: Bug) -> None:
    """With the same random numbers, some release of the data that show the bug is another one."""
    assert bug.mechanism is not bug.twin

    def show(world: Sequence[Any], seed: int, twin: bool) -> str:
        try:
            return repr(play(bug, world, np.random.default_rng(seed), twin=twin))
        except (ValueError, IndexError) as error:
            return type(error).__name__

    assert any(show(world, s, False) != show(world, s, True) for s in range(900) for world in bug.worlds)


def test_there_are_many_bugs_of_many_kinds() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 50
    assert len(page.list_kinds()) >= 14


@pytest.mark.thorough
@pytest.mark.parametrize("name", QUICK)
def test_a_pair_shows_the_bug_and_not_the_twin(name: str) -> None:
    assert audit_pair(find_bug(name)).refuted
    assert not audit_pair(find_bug(name), twin=True, games=200).refuted


@pytest.mark.slow
@every
def test_every_pair_shows_its_bug(bug: Bug) -> None:
    assert audit_pair(bug).refuted
    assert not audit_pair(bug, twin=True, games=1_000).refuted


def test_the_file_for_other_tools_is_current() -> None:
    text = collection.FILE.read_text(encoding="utf-8")
    assert text == collection.write_text()
    entries = json.loads(text, parse_constant=pytest.fail)["entries"]
    assert [entry["name"] for entry in entries] == [bug.name for bug in BUGS]
    for entry, bug in zip(entries, BUGS, strict=True):
        for part in ("mechanism", "twin"):
            module, _, name = entry[part].partition(":")
            assert getattr(importlib.import_module(module), name) is getattr(bug, part)


@pytest.mark.thorough
def test_the_bugs_can_be_played_without_dp_arena() -> None:
    code = """import sys
sys.modules.update(arena=None, audits=None, hypothesis=None)
import numpy as np
from benchmarks.bugs.bug import play
from benchmarks.bugs.collection import BUGS
print(len([play(bug, bug.worlds[1], np.random.default_rng(0), twin=True) for bug in BUGS]))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(BUGS)


def test_the_scale_of_gaussian_noise_is_the_least() -> None:
    assert find_gaussian_scale(1.0, 1e-5) == pytest.approx(3.730632, abs=1e-5)  # Balle and Wang (2018)


def test_the_page_is_made_from_the_records() -> None:
    _, mark, tables = page.PAGE.read_text(encoding="utf-8").partition(page.MARK)
    assert mark
    assert tables == "\n" + page.write_tables(page.read_records(), page.read_records(page.PEERS))
    assert all(f"[{bug.name}]({bug.address})" in tables for bug in BUGS)


def test_what_is_recorded_is_not_searched_again() -> None:
    rows = [
        {"bug": "a", "form": "bug", "seed": "0", "seconds": "5.0", "result": "not refuted"},
        {"bug": "b", "form": "bug", "seed": "0", "seconds": "5.0", "result": "refuted"},
    ]
    tasks = [runner.Task(name, "bug", 0, seconds) for name in "abc" for seconds in (5.0, 9.0)]
    chosen = [(task.name, task.seconds) for task in runner.choose_tasks(rows, tasks)]
    assert chosen == [("a", 9.0), ("c", 5.0), ("c", 9.0)]


@pytest.mark.thorough
def test_the_command_records_what_it_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = tmp_path / "bugs.csv"
    written = tmp_path / "bugs.md"
    written.write_text(f"Head\n{page.MARK}what stood here\n", encoding="utf-8")
    monkeypatch.setattr(page, "PAGE", written)
    monkeypatch.setattr(collection, "FILE", tmp_path / "bugs.json")
    monkeypatch.setattr(runner.limits, "clock", runner.limits.clock)
    monkeypatch.setattr(page, "RECORDS", records)
    options = ["tied-weights", "--seeds", "1", "--seconds", "20", "--no-twins"]
    result = CliRunner().invoke(runner.main, options, catch_exceptions=False)
    assert "1 of 1 searches of bugs found one" in result.output
    (row,) = page.read_records(records)
    assert row["result"] == page.REFUTED
    assert int(row["calls"]) > 0
    assert float(row["epsilon"]) >= 1
    assert row["data"]
    assert written.read_text(encoding="utf-8").startswith(f"Head\n{page.MARK}\n{len(BUGS)} bugs")
    assert "what stood here" not in written.read_text(encoding="utf-8")
    again = CliRunner().invoke(runner.main, options, catch_exceptions=False)
    assert "tied-weights" not in again.output
