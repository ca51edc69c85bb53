"""Ledgers of schema 2, written by an older version. Commands that read give the figures of that version, but
for bounds, which are computed in another way.

Random numbers are drawn from seeds in another way since, so such a run is not continued.

`unfinished.ledger` is that of `arena audit above-threshold --against reconstruct --games 2000 --seed 5
--epsilon 0.1`, interrupted after four of ten blocks; `learned.ledger` that of `arena audit geometric-count
--against count-swap --set epsilon=4 --games 900 --seed 5 --epsilon 0.5 --witness learnt`, which is finished.
"""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from arena import InvalidArgument
from audits.cli import arena
from audits.runs.ledger import Ledger
from audits.runs.ledger.migration import migrate_notes, migrate_plan
from audits.runs.ledger.schema import describe_differences
from audits.runs.run_history import read_history

FIXTURES = Path(__file__).parent / "fixtures"
# As the older version gave them.
STATUS = {
    "unfinished": (0.1, 800, 2_000, 800, False, 0.04662167754161443, False),
    "learned": (0.5, 900, 900, 900, True, 3.2, True),
}
BLOCKS = {"unfinished": 4, "learned": 10}


@pytest.fixture(params=["unfinished", "learned"])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ledger(name: str, tmp_path: Path) -> Path:
    return Path(shutil.copy(FIXTURES / f"{name}.ledger", tmp_path / "run.ledger"))


def call(*arguments: object) -> Result:
    return CliRunner().invoke(arena, [*map(str, arguments), "--quiet"])


def answer(*arguments: object) -> dict[str, Any]:
    result = call(*arguments, "--json")
    assert result.exit_code in (0, 3, 130), result.stderr
    return dict(json.loads(result.stdout))


def schema_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


def test_runs_and_watch_show_the_status(name: str, ledger: Path) -> None:
    keys = ("epsilon", "games", "games_planned", "games_tested", "refuted", "epsilon_lower", "finished")
    before = ledger.read_bytes()
    for status in (answer("runs", "list", ledger)["runs"][0], answer("runs", "watch", ledger)):
        assert tuple(status[key] for key in keys) == pytest.approx(STATUS[name], rel=0.06)
    assert ledger.read_bytes() == before


def test_a_run_whose_random_numbers_would_be_others_is_not_continued(name: str, ledger: Path) -> None:
    for command in ("verify",) if name == "learned" else ("resume", "verify"):  # which is finished
        result = call("runs", command, ledger)
        assert result.exit_code == 2
        assert 'versions.streams: absent -> "2"' in result.stderr


def test_report_shows_the_players_by_name(name: str, ledger: Path) -> None:
    page = ledger.with_suffix(".html")
    result = CliRunner().invoke(arena, ["runs", "report", str(ledger), "-o", str(page)])
    assert result.exit_code == 0, result.stderr
    players = (
        "above-threshold against reconstruct"
        if name == "unfinished"
        else "geometric-count against count-swap"
    )
    assert players in page.read_text()
    history = read_history(ledger)
    assert len(history.games) - 1 == BLOCKS[name]
    assert history.epsilon_lower[-1] == pytest.approx(STATUS[name][5], rel=0.06)


def test_export_writes_the_figures(name: str, ledger: Path) -> None:
    table, path = ledger.with_suffix(".csv"), ledger.with_suffix(".figures.csv")
    assert answer("runs", "export", ledger, table, "--figures", path)["rows"][str(path)] == BLOCKS[name]
    with path.open() as file:
        bounds = [float(row["epsilon_lower"]) for row in csv.DictReader(file)]
    assert bounds == read_history(ledger).epsilon_lower[1:].tolist()


def test_reading_migrates_the_plan_and_the_command(name: str, ledger: Path) -> None:
    with Ledger.read(ledger) as old:
        plan, notes = old.plan, old.notes
    assert (plan["learner"]["name"], plan["adversary"]["name"]) == (notes["learner"], notes["adversary"])
    assert "class" not in plan["learner"]
    assert plan["referee"]["name"] == notes["protocol"]
    if name == "unfinished":
        assert plan["distinguisher"] == "score"
        assert plan["adversary"]["learner"] == plan["learner"]
        assert plan["learner"]["concepts"]["class"] == "Thresholds"
    else:
        assert plan["distinguisher"] == "learned"
        assert notes["command"].endswith("--distinguisher learned")


def test_a_plug_in_keeps_its_module() -> None:
    plan = {"learner": {"class": "arena_plugin_mine_0123:Mine"}, "witness": "likelihood"}
    assert migrate_plan(plan, {"learner": "mine"}) == {
        "learner": {"name": "mine", "class": "arena_plugin_mine_0123:Mine"},
        "distinguisher": "likelihood",
    }


def test_other_commands_stay_as_they_are() -> None:
    for command in ("arena audit x --against y", "arena audit 'unfinished"):
        assert migrate_notes({"command": command}) == {"command": command}


def test_a_ledger_that_does_not_name_its_players_can_be_read_but_not_resumed(ledger: Path) -> None:
    with Ledger.read(ledger) as old:
        plan = old.plan
    nameless = ledger.with_name("nameless.ledger")
    stored = {**plan, "learner": {"class": "learners.laplace_count:LaplaceCount", "epsilon": 1.0}}
    Ledger.open(nameless, stored).close()
    with closing(sqlite3.connect(nameless, isolation_level=None)) as database:
        database.execute("PRAGMA user_version = 2")
    with Ledger.read(nameless) as old:
        assert old.plan["learner"] == {"class": "LaplaceCount", "epsilon": 1.0}
    with pytest.raises(InvalidArgument) as refused:
        Ledger.open(nameless, plan)
    assert str(refused.value) == (
        f"the ledger {nameless} of an older dp-arena does not name its players, only their classes "
        "(LaplaceCount), so its plan cannot be compared. Finish the run with the dp-arena that wrote it; "
        "arena runs report and export read it."
    )
    assert schema_of(nameless) == 2


OLD = {"learner": {"name": "a", "rate": 0.5, "size": 3, "inner": {"class": "B", "depth": 2}}, "seed": 1}


@pytest.mark.parametrize(
    ("new", "differences"),
    [
        ({"name": "a", "learning_rate": 0.5, "size": 3, "inner": {"class": "B", "depth": 2}}, ""),
        ({"name": "a", "rate": 0.5, "size": 3, "inner": {"class": "B", "levels": 2}}, ""),
        ({"name": "a", "rate": 0.5, "count": 3, "nested": {"class": "B", "depth": 2}}, ""),
        (
            {"name": "a", "learning_rate": 0.25, "size": 3, "inner": {"class": "B", "depth": 2}},
            "learner.learning_rate: absent -> 0.25; learner.rate: 0.5 -> absent",
        ),
        (
            {"name": "a", "rate": 0.5, "size": 3, "inner": {"class": "C", "depth": 2}},
            'learner.inner.class: "B" -> "C"',
        ),
        (
            {"name": "a", "rate": 0.5, "inner": {"class": "B", "depth": 2}},
            "learner.size: 3 -> absent",
        ),
    ],
)
def test_a_setting_may_be_renamed_but_not_changed(new: dict[str, Any], differences: str) -> None:
    assert describe_differences(OLD, OLD | {"learner": new}) == differences
