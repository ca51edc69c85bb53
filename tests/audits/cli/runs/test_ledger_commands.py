"""Runs that outlast a process: `arena runs`, `resume`, `merge`, `verify`, `export`, `watch`; parts of one."""

from __future__ import annotations

import json
import re
import resource
import signal
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from support.command_line import ARENA, Command, start, unify_refused_options, without_times
from support.paths import ROOT
from support.processes import count_blocks, wait_until

from audits.runs.ledger import Ledger

arena = Command()
COUNT = ("audit", "laplace-count", "--against", "count-swap", "--games", "1_000")
PLAN = {"epsilon": 1.0, "delta": 0.0, "confidence": 0.95, "games": 100, "until_refuted": False}


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
    process = start(*arguments)
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


@pytest.mark.thorough
def test_runs_lists_what_stands_how(tmp_path: Path, ledger: Path) -> None:
    (tmp_path / "half").write_bytes(ledger.read_bytes())
    without(tmp_path / "half", "block >= 5")
    refuted = ("audit", "static-erm", "--against", "reconstruct", "--epsilon", 1, "--games", 1_000)
    arena.text(*refuted, "--ledger", tmp_path / "erm", status=3)
    (tmp_path / "notes.ledger").write_text("none")
    table = [line.split() for line in arena.text("runs", "list", tmp_path).splitlines()]
    found = {Path(line[0]).name: " ".join(line[1:]) for line in table[1:]}
    assert set(found) == {"erm", "half", "run.ledger"}
    assert found["half"].startswith("laplace-count count-swap 675 of 1,000 ε ≥ ")
    assert ", claimed 1 finished " in found["run.ledger"]
    assert "unfinished" in found["half"]
    assert "1,000 of 1,000 refuted, ε ≥ " in found["erm"]


@pytest.mark.thorough
def test_runs_for_programs(tmp_path: Path, ledger: Path) -> None:
    verdict = read_json("runs", "resume", ledger)
    (found,) = read_json("runs", "list", ledger)["runs"]
    assert found["epsilon_lower"] == verdict["epsilon_lower"]
    assert (found["finished"], found["running"], found["refuted"]) == (True, False, False)
    assert (found["games"], found["bytes"]) == (1_000, ledger.stat().st_size)
    (fast,) = read_json("runs", "list", "--fast", tmp_path)["runs"]
    assert fast == found | {"games_tested": None, "refuted": None, "epsilon_lower": None}
    (tmp_path / "below").mkdir()
    ledger.rename(tmp_path / "below" / "run.ledger")
    assert arena.text("runs", "list", tmp_path) == "There are no ledgers.\n"
    assert len(read_json("runs", "list", "-r", tmp_path)["runs"]) == 1


def test_runs_goes_on_past_what_it_cannot_read(tmp_path: Path, ledger: Path) -> None:
    cut = tmp_path / "cut.ledger"
    cut.write_bytes(ledger.read_bytes()[:-4096])
    Ledger.open(tmp_path / "pate.ledger", {"experiment": "pate"}).close()
    listed = arena("runs", "list", tmp_path)
    assert (listed.exit_code, len(listed.stdout.splitlines())) == (0, 2)
    damaged, other = listed.stderr.splitlines()
    assert damaged.startswith(f"arena: note: the ledger {cut} is damaged: ")
    assert f"the ledger {tmp_path / 'pate.ledger'} contains no audit: " in other
    errors = [found for found in read_json("runs", "list", tmp_path)["runs"] if "error" in found]
    assert [Path(found["ledger"]).name for found in errors] == ["cut.ledger", "pate.ledger"]
    assert arena.refusal("runs", "list", tmp_path / "gone").startswith(
        f"there is no folder {tmp_path / 'gone'}"
    )


# --- resume -------------------------------------------------------------------------------------------------


def test_a_run_that_is_gone_on_with_has_the_figures_of_an_undisturbed_one(ledger: Path) -> None:
    before = read_json("runs", "resume", ledger)
    without(ledger, "block IN (2, 7, 8)")
    again = read_json("runs", "resume", ledger)
    assert without_times(again) == without_times(before)


@pytest.mark.thorough
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
    texts = [audited, *(arena.text("runs", verb, ledger, status=3) for verb in ("resume", "watch"))]
    lines = [[line for line in text.splitlines() if not line.startswith(timed)] for text in texts]
    assert lines[0] == lines[1] == lines[2]
    assert "learner's claim   (0.9, 0)-DP for a training example (replace one)" in lines[0]


def test_a_run_begun_from_python_has_no_command(tmp_path: Path) -> None:
    path = tmp_path / "run.ledger"
    for notes in ({}, {"command": "arena audit 'x"}, {"command": "rm -r x"}):
        Ledger.open(path, PLAN, notes=lambda notes=notes: notes).close()
        for command in ("resume", "verify"):
            said = arena.refusal("runs", command, path)
            assert said.startswith(
                f"the ledger {path} records no arena audit command from which its plan could"
            )
        path.unlink()


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("gone.py:Mine --against count-swap", "the plug-in gone.py cannot be read (No such file or"),
        ("laplace-count", "Missing option '--against'."),
        ("laplace-count --against count-swap --ledger other", "No such option '--ledger'"),
    ],
)
def test_a_command_that_cannot_be_given_again(tmp_path: Path, command: str, why: str) -> None:
    path = tmp_path / "run.ledger"
    Ledger.open(path, PLAN, notes=lambda: {"command": f"arena audit {command}"}).close()
    result = arena("runs", "resume", path)
    said = result.stderr.removeprefix("arena: ")
    assert result.exit_code == 2
    assert said.startswith(f"the plan in the ledger {path} cannot be rebuilt from its command, arena audit ")
    assert why in unify_refused_options(said)


def test_a_plan_that_is_another_today(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without(ledger, "block = 3")
    monkeypatch.setattr("audits.runs.plan.versions", lambda: {"dp-arena": "9.9", "numpy": "1.0"})
    for verb in ("resume", "verify"):
        said = arena("runs", verb, ledger).stderr.splitlines()[-1]
        assert said.startswith(f"arena: the ledger {ledger} holds another plan: versions.dp-arena: ")
        assert '-> "9.9"; versions.numpy: ' in said


@pytest.mark.thorough
def test_a_run_that_another_process_has(endless: Path) -> None:
    said = arena.refusal("runs", "resume", endless)
    assert said.startswith(f"the ledger {endless} is in use by another run. Wait until it ends, or ")
    (found,) = read_json("runs", "list", endless)["runs"]
    assert found["running"]
    assert not found["finished"]
    assert found["games"] > 0
    assert arena.text("runs", "report", endless).endswith(".html.\n")


# --- parts and merges ---------------------------------------------------------------------------------------


def test_what_goes_with_a_part(tmp_path: Path) -> None:
    a = tmp_path / "a"
    for words, fault in (
        (("--part", "1/2"), "--part needs --ledger FILE"),
        (("--part", "1/2", "--ledger", a, "--html", "x.html"), "A part has no verdict"),
        (("--part", "3/2", "--ledger", a), "Invalid value for '--part': a part is K/M with 1 <= K <= M"),
    ):
        assert arena.refusal(*COUNT, *words).startswith(fault)
    assert not a.exists()


@pytest.mark.thorough
def test_machines_share_a_run(tmp_path: Path, ledger: Path) -> None:
    a, b, c = (tmp_path / name for name in "abc")
    assert arena.text(*COUNT, "--ledger", a, "--part", "1/2").startswith(
        f"Part 1/2: 3 of 3 blocks, 425 of 425 games in each world, are in {a}.\n"
    )
    assert read_json(*COUNT, "--ledger", b, "--part", "2/2")["games"] == 575
    said = arena.text("runs", "merge", a, b, "--into", c)
    assert "6 blocks, 1,000 of 1,000 games" in said
    assert without_times(read_json("runs", "resume", c)) == without_times(read_json("runs", "resume", ledger))
    assert read_json("runs", "merge", b, a, "--into", a)["blocks"] == 6


# --- verify -------------------------------------------------------------------------------------------------


def test_verify(ledger: Path) -> None:
    assert arena.refusal("runs", "verify", ledger, "--all", "--blocks", "3").startswith("--all replays all")
    said = arena.text("runs", "verify", ledger, "--blocks", 3)
    assert "If one block were forged, this would have missed it with probability 0.50" in said
    seed = re.search(r"--seed (\d+)", said)[1]
    assert read_json("runs", "verify", ledger, "--blocks", 3)["seed"] != int(seed)  # nobody can foresee it
    chosen = read_json("runs", "verify", ledger, "--blocks", 3, "--seed", seed)
    assert (chosen["seed"], len(chosen["played"]), chosen["miss_probability"]) == (int(seed), 3, 0.5)
    whole = read_json("runs", "verify", ledger, "--all")
    assert (whole["played"], whole["differing"], whole["miss_probability"]) == ([*range(6)], [], 0.0)


@pytest.mark.thorough
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


# --- export and watch ---------------------------------------------------------------------------------------


def test_export(tmp_path: Path, ledger: Path) -> None:
    games, after = tmp_path / "games.csv", tmp_path / "figures.csv"
    printed = arena.text("runs", "export", ledger, games, "--figures", after)
    assert printed == f"{games} has 1,000 rows.\n{after} has 6 rows.\n"
    assert read_json("runs", "export", ledger, games) == {"rows": {str(games): 1_000}}
    assert "must end in .csv or .parquet" in arena.refusal(
        "runs", "export", ledger, games, "--figures", tmp_path / "f.txt"
    )
    before = games.read_bytes()
    said = arena.refusal("runs", "export", ledger, games, "--figures", games)
    assert said.startswith("the games and the figures need two tables, got ")
    assert games.read_bytes() == before


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
        output, _ = audit.communicate()
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
    watcher = start("runs", "watch", endless, "--every", "0.05", "--html", page)
    wait_until(page.exists)
    watcher.send_signal(signal.SIGINT)
    output, errors = watcher.communicate()
    assert (watcher.returncode, errors.strip()) == (130, "")
    assert "Interrupted; the games played so far count." in output


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
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert ended.returncode == 2
    assert f"arena: the disk of the ledger {ledger} failed (disk I/O error): block " in ended.stderr
    found = json.loads(ended.stdout)
    assert found["interrupted"]
    assert found["games"] > 0
    (standing,) = read_json("runs", "list", ledger)["runs"]
    assert standing["games"] >= found["games"]
