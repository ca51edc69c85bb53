"""Runs that outlast a process: `arena runs`, `resume`, `merge`, `verify`, `export`, `watch`; parts of one."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from support.command_line import Command, unify_refused_options, without_times
from support.paths import ROOT
from support.waiting import count_blocks, wait_until

from audits.runs.ledger import SCHEMA_VERSION, Ledger

ARENA = (sys.executable, "-m", "audits.cli")
arena = Command()
COUNT = ("audit", "laplace-count", "--against", "count-swap", "--games", "1_000")
PLAN = {"epsilon": 1.0, "delta": 0.0, "confidence": 0.95, "games": 100, "until_refuted": False}
GONE = "Restore a copy, or remove it and any {}-wal beside it to play every block again."


def read_json(*arguments: object, status: int = 0) -> dict:
    """The JSON object of a command, which may print notes."""
    return arena.json(*arguments, status=status, notes=True)


def without(ledger: Path, blocks: str) -> Path:
    """The ledger without the blocks of which that is true in SQL: as if the run had been killed."""
    with closing(sqlite3.connect(ledger, isolation_level=None)) as database:
        database.execute(f"DELETE FROM blocks WHERE {blocks}")
    return ledger


@contextmanager
def playing(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """An audit in another process, killed at the end."""
    process = subprocess.Popen(
        [*ARENA, *map(str, arguments)], cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def whole_ledger(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What is in the ledger of a run that is finished."""
    path = tmp_path_factory.mktemp("finished") / "run.ledger"
    arena.text(*COUNT, "--ledger", path)
    return path.read_bytes()


@pytest.fixture
def ledger(tmp_path: Path, whole_ledger: bytes) -> Path:
    """That of a run that is finished."""
    path = tmp_path / "run.ledger"
    path.write_bytes(whole_ledger)
    return path


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[Path]:
    """The ledger of a run that goes on in another process."""
    path = tmp_path / "endless.ledger"
    with playing(*COUNT[:-1], "1e9", "--ledger", path):
        wait_until(lambda: count_blocks(path) >= 3)
        yield path


# --- runs ---------------------------------------------------------------------------------------------------


def test_runs_lists_what_stands_how(tmp_path: Path, ledger: Path) -> None:
    half = tmp_path / "half"
    half.write_bytes(ledger.read_bytes())
    without(half, "block >= 5")
    refuted = ("audit", "static-erm", "--against", "reconstruct", "--epsilon", 1, "--games", 1_000)
    arena.text(*refuted, "--ledger", tmp_path / "erm", status=3)
    (tmp_path / "notes.ledger").write_text("none")
    table = [line.split() for line in arena.text("runs", "list", tmp_path).splitlines()]
    assert table[0] == ["ledger", "learner", "adversary", "games", "verdict", "state", "size"]
    found = {Path(line[0]).name: " ".join(line[1:]) for line in table[1:]}
    assert set(found) == {"erm", "half", "run.ledger"}
    assert found["half"].startswith("laplace-count count-swap 675 of 1,000 ε ≥ ")
    assert found["run.ledger"].startswith("laplace-count count-swap 1,000 of 1,000 ε ≥ ")
    assert ", claimed 1 finished " in found["run.ledger"]
    assert "unfinished" in found["half"]
    assert "1,000 of 1,000 refuted, ε ≥ " in found["erm"]


def test_runs_for_programs(tmp_path: Path, ledger: Path) -> None:
    verdict = read_json("runs", "resume", ledger)
    (found,) = read_json("runs", "list", ledger)["runs"]
    size = ledger.stat().st_size
    assert found == {
        "ledger": str(ledger),
        "learner": "laplace-count",
        "adversary": "count-swap",
        "epsilon": 1.0,
        "games": 1_000,
        "games_planned": 1_000,
        "games_tested": 1_000,
        "refuted": False,
        "epsilon_lower": verdict["epsilon_lower"],
        "finished": True,
        "running": False,
        "bytes": size,
    }
    (fast,) = read_json("runs", "list", "--fast", tmp_path)["runs"]
    assert fast == found | {"games_tested": None, "refuted": None, "epsilon_lower": None}
    (tmp_path / "below").mkdir()
    ledger.rename(tmp_path / "below" / "run.ledger")
    assert arena.text("runs", "list", tmp_path) == "There are no ledgers.\n"
    assert len(read_json("runs", "list", "-r", tmp_path)["runs"]) == 1


def test_runs_goes_on_past_what_is_damaged_or_newer(tmp_path: Path, ledger: Path) -> None:
    newer, cut = tmp_path / "newer.ledger", tmp_path / "cut.ledger"
    newer.write_bytes(ledger.read_bytes())
    cut.write_bytes(ledger.read_bytes()[:-4096])
    with closing(sqlite3.connect(newer)) as database:
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    Ledger.open(tmp_path / "pairs.ledger", {"tournament": {}}).close()
    listed = arena("runs", "list", tmp_path)
    assert listed.exit_code == 0
    assert len(listed.stdout.splitlines()) == 2
    notes = listed.stderr.splitlines()
    assert len(notes) == 3
    assert all(note.startswith("arena: note: the ledger ") for note in notes)
    assert f"{cut} is damaged: " in notes[0]
    assert f"{newer} has schema {SCHEMA_VERSION + 1}; " in notes[1]
    assert notes[2].endswith(
        "pairs.ledger contains a tournament, not an audit. "
        "To resume it, give it to the same arena tournament again."
    )
    errors = [found for found in read_json("runs", "list", tmp_path)["runs"] if "error" in found]
    assert [Path(found["ledger"]).name for found in errors] == ["cut.ledger", "newer.ledger", "pairs.ledger"]


def test_runs_needs_a_folder(tmp_path: Path) -> None:
    assert arena.refusal("runs", "list", tmp_path / "gone") == (
        f"there is no folder {tmp_path / 'gone'}. Name folders that contain ledgers, or ledgers."
    )


def test_verify_replays_some_blocks_or_all(ledger: Path) -> None:
    said = arena.refusal("runs", "verify", ledger, "--all", "--blocks", "3")
    assert said.startswith("--all replays all blocks, so it excludes --blocks.")


# --- resume -------------------------------------------------------------------------------------------------


def test_a_run_that_is_gone_on_with_has_the_figures_of_an_undisturbed_one(ledger: Path) -> None:
    before = read_json("runs", "resume", ledger)
    without(ledger, "block IN (2, 7, 8)")
    again = read_json("runs", "resume", ledger)
    assert without_times(again) == without_times(before)


def test_a_finished_run_needs_no_players(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = tmp_path / "run.ledger"
    command = (*COUNT, "--set", "epsilon=0.9", "--epsilon", "0.1")
    audited = arena.text(*command, "--ledger", ledger, status=3)
    first = json.loads(arena(*command, "--json").stdout)
    monkeypatch.setattr("audits.cli.runs.resume.rebuild_plan", None)
    again = json.loads(arena("runs", "resume", ledger, "--json").stdout)
    assert without_times(again | {"command": ""}) == without_times(first | {"command": ""})
    settings = {"epsilon": "0.9", "neighbours": "replace one"}
    assert again["players"]["learner"] == {"name": "laplace-count", "settings": settings}
    timed = ("games ", "speed ")
    texts = [
        audited,
        arena.text("runs", "resume", ledger, status=3),
        arena.text("runs", "watch", ledger, status=3),
    ]
    lines = [[line for line in text.splitlines() if not line.startswith(timed)] for text in texts]
    assert lines[0] == lines[1] == lines[2]
    assert "learner's claim   (0.9, 0)-DP for a training example (replace one)" in lines[0]


@pytest.mark.thorough
def test_resume_gives_the_page_and_the_estimators(tmp_path: Path, ledger: Path) -> None:
    page = tmp_path / "page.html"
    assert "All estimators, on the same games." in arena.text(
        "runs", "resume", ledger, "--estimators", "--html", page
    )
    assert page.exists()


def test_a_part_of_what_is_missing(ledger: Path) -> None:
    without(ledger, "1")
    assert read_json("runs", "resume", ledger, "--part", "2/2") == {
        "part": "2/2",
        "blocks": 3,
        "blocks_planned": 3,
        "games": 575,
        "games_planned": 575,
        "interrupted": False,
    }


def test_a_run_begun_from_python_has_no_command(tmp_path: Path) -> None:
    path = tmp_path / "run.ledger"
    for notes in ({}, {"command": "python mine.py"}, {"command": "arena audit 'x"}, {"command": "rm -r x"}):
        Ledger.open(path, PLAN, notes=lambda notes=notes: notes).close()
        for command in ("resume", "verify"):
            assert arena.refusal("runs", command, path) == (
                f"the ledger {path} records no arena audit command from which its plan could be rebuilt. "
                "Give the ledger to the program that began the run, which continues it."
            )
        path.unlink()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (
            "gone.py:Mine --against count-swap",
            "the plug-in gone.py cannot be read (No such file or",
        ),
        ("laplace-cuont --against count-swap", "there is no learner of that name, got 'laplace-cuont'."),
        ("static-erm --against reconstruct --data gone.csv --x a --y b", "gone.csv"),
        ("laplace-count", "Missing option '--against'."),
        ("laplace-count --against count-swap --frobnicate", "No such option"),
        ("laplace-count --against count-swap --html page.html", "No such option '--html'"),
        ("laplace-count --against count-swap --ledger other", "No such option '--ledger'"),
        ("--help", "No such option '--help'"),
    ],
)
def test_a_command_that_cannot_be_given_again(tmp_path: Path, command: str, why: str) -> None:
    path = tmp_path / "run.ledger"
    Ledger.open(path, PLAN, notes=lambda: {"command": f"arena audit {command}"}).close()
    result = arena("runs", "resume", path)
    said = result.stderr.removeprefix("arena: ").rstrip("\n")
    assert result.exit_code == 2
    assert said.startswith(
        f"the plan in the ledger {path} cannot be rebuilt from its command, arena audit {command}: "
    )
    assert why in unify_refused_options(said)
    assert said.endswith(
        "Relative paths start from the folder in which the run was begun: try again from there."
    )


def test_a_plan_that_is_another_today(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(ledger, "block = 3")
    monkeypatch.setattr("audits.runs.plan.versions", lambda: {"dp-arena": "9.9", "numpy": "1.0"})
    said = arena.refusal("runs", "resume", ledger)
    assert said.startswith(f"the ledger {ledger} holds another plan: versions.dp-arena: ")
    assert '-> "9.9"; versions.numpy: ' in said
    assert arena.refusal("runs", "verify", ledger) == said


@pytest.mark.thorough
def test_a_run_that_another_process_has(endless: Path) -> None:
    assert arena.refusal("runs", "resume", endless) == (
        f"the ledger {endless} is in use by another run. Wait until it ends, or give another path."
    )
    (found,) = read_json("runs", "list", endless)["runs"]
    assert found["running"]
    assert not found["finished"]
    assert found["games"] > 0
    assert arena.text("runs", "report", endless).endswith(".html.\n")


# --- parts and merges ---------------------------------------------------------------------------------------


def test_machines_share_a_run(tmp_path: Path, ledger: Path) -> None:
    a, b, c = (tmp_path / name for name in "abc")
    assert arena.text(*COUNT, "--ledger", a, "--part", "1/2") == (
        f"Part 1/2: 3 of 3 blocks, 425 of 425 games in each world, are in {a}.\n"
        "A part has no verdict: arena runs merge combines the ledgers of all parts, and "
        "arena runs resume tests them.\n"
    )
    assert read_json(*COUNT, "--ledger", b, "--part", "2/2")["games"] == 575
    said = arena.text("runs", "merge", a, b, "--into", c)
    assert [line.split() for line in said.splitlines()] == [
        [str(a), "3", "blocks"],
        [str(b), "3", "blocks"],
        ["in", str(c), "6", "blocks,", "1,000", "of", "1,000", "games"],
        [],
        ["arena", "runs", "resume", str(c), "prints", "the", "verdict."],
    ]
    assert without_times(read_json("runs", "resume", c)) == without_times(read_json("runs", "resume", ledger))
    assert read_json("runs", "merge", b, a, "--into", a)["blocks"] == 6


def test_what_goes_with_a_part(tmp_path: Path) -> None:
    a = tmp_path / "a"
    assert arena.refusal(*COUNT, "--part", "1/2").startswith("--part needs --ledger FILE")
    assert arena.refusal(*COUNT, "--part", "1/2", "--ledger", a, "--html", "x.html").startswith(
        "A part has no verdict"
    )
    assert arena.refusal(*COUNT, "--part", "3/2", "--ledger", a).startswith(
        "Invalid value for '--part': a part is K/M with 1 <= K <= M, got '3/2'."
    )
    assert "a part of a run cannot know when the claim is refuted" in arena.refusal(
        *COUNT, "--until-refuted", "--part", "1/2", "--ledger", a
    )
    assert not a.exists()


def test_what_cannot_be_merged(tmp_path: Path, ledger: Path) -> None:
    other, text = tmp_path / "other", tmp_path / "text"
    arena.text(*COUNT, "--seed", 1, "--ledger", other)
    text.write_text("nothing of the kind")
    into = tmp_path / "into"
    assert arena.refusal("runs", "merge", ledger, other, "--into", into) == (
        f"{ledger} and {other} have different plans: seed: 0 -> 1. "
        "Merge ledgers of one plan, played with the same versions."
    )
    assert arena.refusal("runs", "merge", ledger, text, "--into", into).startswith(f"{text} is not a ledger")
    assert arena.refusal("runs", "merge", ledger, tmp_path / "gone", "--into", into).endswith(
        "there is no such file. Give the path of a ledger."
    )
    assert arena.refusal("runs", "merge", ledger, ledger, "--into", into / "c").startswith(
        f"the ledger {into / 'c'} cannot"
    )
    assert not into.exists()
    assert arena.refusal("runs", "merge", ledger, "--into", into).startswith("a merge needs two ledgers.")


# --- verify -------------------------------------------------------------------------------------------------


def test_verify(ledger: Path) -> None:
    said, seed = re.fullmatch(
        r"(.*)--seed (\d+)(.*)", arena.text("runs", "verify", ledger, "--blocks", 3), re.S
    ).group(1, 2)
    assert said == (
        "All checksums of 6 blocks are correct, and 3 replayed blocks are equal bit for bit.\n"
        "If one block were forged, this would have missed it with probability 0.50; --all plays all. ("
    )
    chosen = read_json("runs", "verify", ledger, "--blocks", 3, "--seed", seed)
    assert (chosen["seed"], len(chosen["played"]), chosen["miss_probability"]) == (int(seed), 3, 0.5)
    assert read_json("runs", "verify", ledger, "--all") == {
        "played": list(range(6)),
        "differing": [],
        "blocks": 6,
        "seed": None,
        "signatures": "none",
        "miss_probability": 0.0,
    }


def test_nobody_can_foresee_which_blocks_are_replayed(ledger: Path) -> None:
    choices = [read_json("runs", "verify", ledger, "--blocks", 1)["seed"] for _ in range(3)]
    assert len(set(choices)) == 3


def test_verify_finds_what_was_put_there(tmp_path: Path, ledger: Path) -> None:
    other = tmp_path / "other"
    arena.text(*COUNT, "--seed", 1, "--ledger", other)
    with Ledger.read(other) as source:
        foreign = source.block(4)
        plan = source.plan | {"seed": 0}
    without(ledger, "block = 4")
    with Ledger.open(ledger, plan) as forged:
        forged.add(4, foreign)
    assert read_json("runs", "verify", ledger, "--all", status=3)["differing"] == [4]
    assert arena.text("runs", "verify", ledger, "--all", status=3).startswith(
        "1 of 6 replayed blocks differ from the ledger: 4.\n"
    )


def test_verify_checks_all_checksums(ledger: Path) -> None:
    with closing(sqlite3.connect(ledger, isolation_level=None)) as database:
        database.execute("UPDATE blocks SET pairs = pairs + 1 WHERE block = 5")
    assert arena.refusal("runs", "verify", ledger, "--blocks", 1) == (
        f"the ledger {ledger} is damaged: block 5 does not match its checksum. {GONE.format('run.ledger')}"
    )


# --- export and watch ---------------------------------------------------------------------------------------


def test_export(tmp_path: Path, ledger: Path) -> None:
    games, after = tmp_path / "games.csv", tmp_path / "figures.csv"
    assert arena.text("runs", "export", ledger, games, "--figures", after) == (
        f"{games} has 1,000 rows.\n{after} has 6 rows.\n"
    )
    assert read_json("runs", "export", ledger, games) == {"rows": {str(games): 1_000}}
    assert "must end in .csv or .parquet" in arena.refusal("runs", "export", ledger, tmp_path / "games.txt")
    assert "must end in .csv or .parquet" in arena.refusal(
        "runs", "export", ledger, games, "--figures", tmp_path / "f.txt"
    )
    before = games.read_bytes()
    assert arena.refusal("runs", "export", ledger, games, "--figures", games) == (
        f"the games and the figures need two tables, got '{games}'. Name another for --figures."
    )
    assert games.read_bytes() == before


@pytest.mark.thorough
def test_watch_tells_a_finished_run(tmp_path: Path, ledger: Path) -> None:
    page = tmp_path / "page.html"
    assert "Not refuted" in arena.text("runs", "watch", ledger, "--html", page)
    assert page.exists()
    assert read_json("runs", "watch", ledger)["finished"]


def test_watch_tells_who_could_go_on(ledger: Path) -> None:
    without(ledger, "block >= 5")
    watched = arena("runs", "watch", ledger)
    assert watched.exit_code == 130
    assert "Interrupted; the games played so far count." in watched.stdout
    assert watched.stderr == f"arena: note: no process plays it; arena runs resume {ledger} continues it\n"
    without(ledger, "block = 0")
    assert arena("runs", "watch", ledger).stderr.startswith(
        "arena: note: block 0, which the test reads first, is missing\n"
    )
    lacking = f"the ledger {ledger} lacks block 0, and the test uses the blocks in order. Let the run go on, "
    assert arena.refusal("runs", "report", ledger) == lacking + "or merge the ledgers of the other parts."
    without(ledger, "1")
    assert arena("runs", "watch", ledger).stderr.startswith(
        "arena: note: no block of games is finished yet\n"
    )


@pytest.mark.slow
def test_watch_follows_a_run_to_its_end(tmp_path: Path) -> None:
    ledger, page = tmp_path / "run.ledger", tmp_path / "page.html"
    with playing(*COUNT[:-1], "1.5e5", "--ledger", ledger, "--json") as audit:
        wait_until(lambda: count_blocks(ledger) >= 3)
        watched = arena("runs", "watch", ledger, "--every", "0.05", "--json", "--html", page)
        output, _ = audit.communicate(timeout=60)
    looks = [json.loads(line) for line in watched.stdout.splitlines()]
    assert len(looks) > 1
    assert looks[0]["running"]
    games = [look["games"] for look in looks]
    assert games == sorted(games)
    assert (looks[-1]["finished"], games[-1]) == (True, 150_000)
    assert looks[-1]["epsilon_lower"] == json.loads(output)["epsilon_lower"]
    assert "</html>" in page.read_text()


@pytest.mark.slow
def test_watch_until_told_to_stop(tmp_path: Path, endless: Path) -> None:
    page = tmp_path / "page.html"
    watcher = subprocess.Popen(
        [*ARENA, "runs", "watch", str(endless), "--every", "0.05", "--html", str(page)],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    wait_until(page.exists)
    watcher.send_signal(signal.SIGINT)
    output, errors = watcher.communicate(timeout=60)
    assert (watcher.returncode, errors.strip()) == (130, "")
    assert "Interrupted; the games played so far count." in output


@pytest.mark.parametrize("seconds", ["0", "-1", "1e9"])
def test_watch_looks_at_times_that_come(ledger: Path, seconds: str) -> None:
    assert arena.refusal("runs", "watch", ledger, "--every", seconds).startswith(
        "--every must be more than 0 seconds and at most a day, got "
    )


# --- bad input ----------------------------------------------------------------------------------------------

READERS = [
    ("resume",),
    ("verify",),
    ("watch",),
    ("report",),
    ("export", "{}/t.csv"),
    ("merge", "{}/whole.ledger", "--into", "{}/c"),
]


@pytest.mark.parametrize("command", READERS, ids=lambda command: command[0])
def test_what_no_command_takes_for_a_ledger(tmp_path: Path, ledger: Path, command: tuple[str, ...]) -> None:
    whole, bad = ledger.rename(tmp_path / "whole.ledger"), tmp_path / "bad.ledger"
    words = ("runs", command[0], bad, *(word.format(tmp_path) for word in command[1:]))
    content = whole.read_bytes()
    assert arena.refusal(*words) == (
        f"the ledger {bad} cannot be read: there is no such file. Give the path of a ledger."
    )
    bad.mkdir()
    assert arena.refusal(*words).endswith("it is a directory. Give the path of a ledger.")
    bad.rmdir()
    bad.write_bytes(content[:20_000])
    assert arena.refusal(*words).startswith(f"the ledger {bad} is damaged: ")
    bad.write_bytes(content)
    with closing(sqlite3.connect(bad)) as database:
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    assert arena.refusal(*words) == (
        f"the ledger {bad} has schema {SCHEMA_VERSION + 1}; this dp-arena reads schemas up to "
        f"{SCHEMA_VERSION}. Use the newer dp-arena that wrote it."
    )
    bad.unlink()
    with closing(sqlite3.connect(bad)) as database:
        database.execute("CREATE TABLE t (a)")
    assert (
        arena.refusal(*words) == f"{bad} is an SQLite database, but not a ledger. Give the path of a ledger."
    )
    assert whole.read_bytes() == content
    assert not (tmp_path / "c").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="file permissions do not bind root")
def test_a_ledger_that_may_not_be_read(ledger: Path) -> None:
    ledger.chmod(0)
    assert arena.refusal("runs", "resume", ledger) == (
        f"the ledger {ledger} cannot be read (Permission denied). Give one that can be read."
    )


@pytest.mark.thorough
@pytest.mark.parametrize("jobs", ["1", pytest.param("2", marks=pytest.mark.slow)])
def test_a_disk_that_fails_ends_a_run_with_its_figures(tmp_path: Path, jobs: str) -> None:
    """It fails at about the 73rd block of 11 kB, of which two workers bring 64 at most before the first."""
    ledger, limit = tmp_path / "run.ledger", 850_000
    ended = subprocess.run(
        [*ARENA, *COUNT[:-1], "2e6", "--ledger", str(ledger), "--jobs", jobs, "--json"],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"arena: the disk of the ledger {ledger} failed (disk I/O error): block ")
    assert ended.stderr.endswith(
        " was not stored, but every block that was added before is safe. Repair it and give the same command "
        "again: it resumes the run.\n"
    )
    found = json.loads(ended.stdout)
    assert found["interrupted"]
    assert found["games"] > 0
    (standing,) = read_json("runs", "list", ledger)["runs"]
    assert standing["games"] >= found["games"]
