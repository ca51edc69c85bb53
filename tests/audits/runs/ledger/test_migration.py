"""Ledgers of schema 2, written by an older version: commands that read give the figures of that version.

Random numbers are drawn from seeds in another way since, so blocks that are played now are others.

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
from audits.runs.ledger import SCHEMA_VERSION, Ledger
from audits.runs.ledger.migration import migrate_notes, migrate_plan
from audits.runs.ledger.schema import describe_differences
from audits.runs.run_history import read_history

FIXTURES = Path(__file__).parent / "fixtures"
# As the older version gave them.
STATUS = {
    "unfinished": (0.1, 800, 2_000, 800, False, 0.04662167754161443, False),
    "learned": (0.5, 900, 900, 900, True, 3.2, True),
}
VERDICT = (3.2, 5.19, 3.3139051186399535, 900)  # of the finished one
BOUNDS = {  # after each block
    "unfinished": [0.0, 0.023227059706301182, 0.04015562572553895, 0.04662167754161443],
    "learned": [0.0, 0.0, 2.21, 2.67, 2.82, 3.02, 3.09, 3.15, 3.15, 3.2],
}
LOG_WEALTH = {"unfinished": -0.018797531085243298, "learned": 36.88034559568562}


@pytest.fixture
def _versions_of_the_fixtures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans of now are those of the older version."""
    with Ledger.read(FIXTURES / "learned.ledger") as ledger:
        versions = ledger.plan["versions"]
    monkeypatch.setattr("audits.runs.plan.versions", lambda: versions)


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


def figures(verdict: dict[str, Any]) -> tuple[float, ...]:
    return tuple(verdict[key] for key in ("epsilon_lower", "ceiling", "clopper_pearson", "games"))


def test_runs_and_watch_show_the_status(name: str, ledger: Path) -> None:
    keys = ("epsilon", "games", "games_planned", "games_tested", "refuted", "epsilon_lower", "finished")
    before = ledger.read_bytes()
    for status in (answer("runs", ledger)["runs"][0], answer("watch", ledger)):
        assert tuple(status[key] for key in keys) == STATUS[name]
    assert ledger.read_bytes() == before


def test_a_run_whose_random_numbers_would_be_others_is_not_continued(name: str, ledger: Path) -> None:
    for command in ("verify",) if name == "learned" else ("resume", "verify"):  # which is finished
        result = call(command, ledger)
        assert result.exit_code == 2
        assert "versions.streams: absent" in result.stderr


@pytest.mark.thorough
@pytest.mark.usefixtures("_versions_of_the_fixtures")
def test_resume_ends_with_the_same_verdict(name: str, ledger: Path) -> None:
    for options in ([], ["--estimators"], []):
        verdict = figures(answer("resume", ledger, *options))
        assert verdict == VERDICT if name == "learned" else verdict[-1] == 2_000
    assert schema_of(ledger) == SCHEMA_VERSION


@pytest.mark.usefixtures("_versions_of_the_fixtures")
def test_verify_tells_blocks_of_other_random_numbers(name: str, ledger: Path) -> None:
    blocks = list(range(4 if name == "unfinished" else 10))
    assert answer("verify", ledger, "--all") == {
        "played": blocks,
        "differing": blocks,
        "blocks": len(blocks),
    }


def test_report_shows_the_players_by_name(name: str, ledger: Path) -> None:
    page = ledger.with_suffix(".html")
    result = CliRunner().invoke(arena, ["report", str(ledger), "-o", str(page)])
    assert result.exit_code == 0, result.stderr
    players = (
        "above-threshold against reconstruct"
        if name == "unfinished"
        else "geometric-count against count-swap"
    )
    assert players in page.read_text()
    history = read_history(ledger)
    assert history.epsilon_lower[1:].tolist() == BOUNDS[name][: len(history.games) - 1]
    assert history.log_wealth[-1] == LOG_WEALTH[name]


@pytest.mark.usefixtures("_versions_of_the_fixtures")
def test_export_writes_the_same_figures(name: str, ledger: Path) -> None:
    call("resume", ledger)
    table, path = ledger.with_suffix(".csv"), ledger.with_suffix(".figures.csv")
    assert answer("export", ledger, table, "--figures", path)["rows"][str(path)] == 10
    with path.open() as file:
        bounds = [float(row["epsilon_lower"]) for row in csv.DictReader(file)]
    assert bounds[: len(BOUNDS[name])] == BOUNDS[name]


@pytest.mark.usefixtures("_versions_of_the_fixtures")
def test_old_and_new_ledgers_of_a_run_are_compared(tmp_path: Path) -> None:
    old = Path(shutil.copy(FIXTURES / "unfinished.ledger", tmp_path / "old.ledger"))
    rest = [
        "audit",
        "above-threshold",
        "--against",
        "reconstruct",
        "--games",
        "2000",
        "--seed",
        "5",
        "--epsilon",
        "0.1",
        "--part",
        "2/2",
    ]
    assert answer(*rest, "--ledger", tmp_path / "new.ledger")["blocks"] == 5
    both = call("merge", old, tmp_path / "new.ledger", "--into", tmp_path / "both.ledger")
    assert both.exit_code == 2
    assert "differs from that in" in both.stderr  # the random numbers of one block are others


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
        "arena report and export read it."
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
