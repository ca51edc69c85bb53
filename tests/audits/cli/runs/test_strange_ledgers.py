"""Ledgers in strange places and states, and their reports: behind links, half made, with pages swapped."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from itertools import combinations
from pathlib import Path

import pytest
from support.command_line import Command, without_times
from support.ledgers import forge
from support.paths import ROOT

from audits.reports.formatting import escape_controls
from audits.runs.ledger import Ledger
from audits.runs.ledger.schema import log_of

arena = Command()
COUNT = ("audit", "laplace-count", "--against", "count-swap", "--games", "20_000", "--seed", "3")
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

# Plays five blocks of six and is killed: the ledger's log has all of them.
KILLED = """
import os, signal, sys
from audits.cli import arena
from audits.runs.ledger import Ledger
add = Ledger.add
def add_and_die(ledger, index, result):
    add(ledger, index, result)
    if index == 4:
        os.kill(os.getpid(), signal.SIGKILL)
Ledger.add = add_and_die
arena(sys.argv[1:])
"""


def reading(ledger: object, folder: Path) -> dict[str, tuple[object, ...]]:
    """The commands that read a ledger, by name."""
    return {
        "report": ("runs", "report", ledger, "-o", folder / "page.html"),
        "export": ("runs", "export", ledger, folder / "games.csv"),
        "resume": ("runs", "resume", ledger),
        "watch": ("runs", "watch", ledger),
        "verify": ("runs", "verify", ledger),
        "merge": ("runs", "merge", ledger, ledger, "--into", folder / "whole.ledger"),
    }


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("killed") / "run.ledger"
    command = [sys.executable, "-c", KILLED, *COUNT, "--epsilon", "1", "--ledger", str(path)]
    subprocess.run([*command], cwd=ROOT, capture_output=True)
    assert log_of(path).stat().st_size > 10_000
    return path


@pytest.fixture
def split(killed: Path, tmp_path: Path) -> Path:
    """A ledger whose blocks are in its log, in a folder of its own."""
    folder = tmp_path / "run"
    shutil.copytree(killed.parent, folder)
    return folder / killed.name


@pytest.fixture
def finished(tmp_path: Path) -> Path:
    path = tmp_path / "run.ledger"
    arena.text(*COUNT, "--ledger", path)
    return path


def games_of(ledger: Path) -> int:
    return int(arena.json("runs", "list", ledger)["runs"][0]["games"])


# --- links --------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["file", "relative", "folder"])
def test_a_link_leads_to_the_ledger_and_its_log(split: Path, kind: str) -> None:
    folder = split.parent.parent / "links"
    folder.mkdir()
    other = folder / "link"
    if kind == "folder":
        other.symlink_to(split.parent)
        other /= split.name
    else:
        other.symlink_to(split if kind == "file" else os.path.relpath(split, folder))
    status = arena.json("runs", "list", split)["runs"][0]
    assert 10_000 < status["games"] < 20_000
    assert arena.json("runs", "list", other)["runs"][0] == status | {"ledger": str(other)}
    tables = [split.parent / f"{number}.csv" for number in range(2)]
    for source, table in zip((split, other), tables, strict=True):
        arena.text("runs", "export", source, table)
    assert tables[0].read_text() == tables[1].read_text()
    resumed = without_times(arena.json("runs", "resume", other, "--quiet"))
    assert resumed == without_times(arena.json(*COUNT, "--epsilon", "1"))
    assert games_of(split) == 20_000
    assert not os.path.lexists(f"{other}-wal")


@pytest.mark.thorough
def test_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    dangling = tmp_path / "dangling"
    dangling.symlink_to(tmp_path / "gone")
    for words in reading(dangling, tmp_path).values():
        assert "it is a symbolic link that leads nowhere" in arena.refusal(*words)
    arena.text(*COUNT, "--ledger", dangling)  # as SQLite does
    assert games_of(tmp_path / "gone") == 20_000


@pytest.mark.thorough
def test_a_ledger_that_was_only_begun(tmp_path: Path) -> None:
    """As a run leaves it that is killed while it makes its ledger: the same command begins there."""
    path = tmp_path / "run.ledger"
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
    assert path.stat().st_size == 4_096
    assert "is empty: no run was begun in it" in arena.refusal("runs", "resume", path)
    arena.text(*COUNT, "--ledger", path)
    assert games_of(path) == 20_000


# --- pages that are not in their places ---------------------------------------------------------------------


def swap_pages(path: Path, whole: bytes, one: int, other: int) -> None:
    parts = [whole[start : start + 4_096] for start in range(0, len(whole), 4_096)]
    parts[one], parts[other] = parts[other], parts[one]
    path.write_bytes(b"".join(parts))


@pytest.mark.slow
def test_swapped_pages_never_make_another_verdict(finished: Path) -> None:
    """Every two pages of the file: `runs` never calls such a run finished with no verdict or another."""
    whole, verdict = finished.read_bytes(), arena.json("runs", "list", finished)["runs"][0]
    seen, pages = 0, len(whole) // 4_096
    for one, other in combinations(range(pages), 2):
        swap_pages(finished, whole, one, other)
        (status,) = arena.json("runs", "list", finished)["runs"]
        seen += "error" in status
        assert "error" in status or status == verdict
    assert seen > pages


# --- another kind -------------------------------------------------------------------------------------------


def test_a_ledger_of_another_command(tmp_path: Path) -> None:
    path = tmp_path / "tournament.ledger"
    Ledger.open(path, {"tournament": {"cell": 1}, "confidence": 0.95}).close()
    for verb, words in reading(path, tmp_path).items():
        expected = "records no arena audit command" if verb == "verify" else "contains no audit: "
        assert f"the ledger {path} {expected}" in arena.refusal(*words)
    assert f"the ledger {path} contains a tournament, not an audit" in arena.refusal(*COUNT, "--ledger", path)


# --- text from strangers ------------------------------------------------------------------------------------

NASTY = "\x1b[2J\x1b]0;title\x07 \u202egnp.exe\u202c \x9b31m \r\nfinished  ε ≥ 9\u2028\x00"


@pytest.mark.thorough
def test_no_text_of_a_ledger_steers_a_terminal(finished: Path, tmp_path: Path) -> None:
    notes = dict.fromkeys(("learner", "adversary", "protocol", "learner_set", "claim", "theorem"), NASTY)
    forge(
        finished,
        plan={"learner": {"name": NASTY, NASTY: NASTY}, "versions": {NASTY: NASTY}},
        notes={**notes, "transcript": f"round\n{NASTY}", "command": f"arena audit {NASTY}"},
    )
    path = finished.rename(tmp_path / "\x1b[31m\u202e\nrun.ledger")
    commands = [*reading(path, tmp_path).values(), ("runs", "list", tmp_path), (*COUNT, "--ledger", path)]
    for words in commands:
        result = arena(*words)
        assert result.exit_code in (0, 2)
        assert not UNSAFE.search(result.stdout + result.stderr), words[0]
    listed = arena("runs", "list", path).stdout.splitlines()
    assert len(listed) == 2
    assert "\\x1b[2J\\x1b]0;title\\x07 \\u202egnp.exe" in listed[1]
    page = (tmp_path / "page.html").read_text()
    assert not UNSAFE.search(page)
    assert "\\u202egnp.exe" in page


def test_what_is_escaped_and_what_is_not() -> None:
    for text in ("ε ≥ 1", "a\tb\nc", "naïve 🙂 日本語 👩‍🔬"):
        assert escape_controls(text) == text
    assert escape_controls("a\tb\nc", one_line=True) == "a\\tb\\nc"
    assert escape_controls("\x1b\x7f\x85\u2066\udc80\U000e0041") == "\\x1b\\x7f\\x85\\u2066\\udc80\\U000e0041"


AUDIT = ("audit", "laplace-count", "--against", "count-swap", "--games", "1e3")


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The content of the ledger of a finished run."""
    path = tmp_path_factory.mktemp("finished") / "run.ledger"
    arena.text(*AUDIT, "--ledger", path, "--epsilon", "0.1", status=3)
    return path.read_bytes()


@pytest.fixture
def ledger(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "run.ledger"
    path.write_bytes(content)
    return path


@pytest.mark.thorough
def test_a_page_is_written_beside_the_ledger(ledger: Path) -> None:
    done = arena("runs", "report", str(ledger))
    page = ledger.with_suffix(".html")
    assert (done.exit_code, done.stdout) == (0, f"The report is in {page}.\n")
    assert "<h1>laplace-count against count-swap</h1>" in page.read_text()
    assert sorted(path.name for path in ledger.parent.iterdir()) == ["run.html", "run.ledger"]


@pytest.mark.thorough
def test_it_is_the_page_that_an_audit_writes(ledger: Path, tmp_path: Path) -> None:
    pages = [tmp_path / f"{number}.html" for number in range(3)]
    arena("runs", "report", str(ledger), "-o", str(pages[0]))
    arena(*AUDIT, "--epsilon", "0.1", "--html", str(pages[1]))
    arena(
        *AUDIT, "--epsilon", "0.1", "--html", str(pages[2]), "--ledger", str(ledger), "--json", "--jobs", "2"
    )
    assert pages[0].read_bytes() == pages[1].read_bytes() == pages[2].read_bytes()


def test_an_audit_without_games_has_no_page(tmp_path: Path, monkeypatch) -> None:
    def interrupt(*block: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("audits.runs.blocks.play_block", interrupt)
    done = arena(*AUDIT, "--html", str(tmp_path / "report.html"))
    assert (done.exit_code, list(tmp_path.iterdir())) == (130, [])
    assert done.stderr == "arena: note: no block of games was finished, so there is no page\n"


# --- bad use ------------------------------------------------------------------------------------------


def test_the_page_needs_games_and_a_place(ledger: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty.ledger"
    plan = {"epsilon": 1.0, "delta": 0.0, "confidence": 0.95, "games": 100, "until_refuted": False}
    Ledger.open(empty, plan).close()
    assert "contains no games yet" in arena.refusal("runs", "report", empty)
    assert arena.refusal("runs", "report") == "Missing argument 'RUN'. See arena runs report --help."
    assert "is a directory. Name a file in it." in arena.refusal("runs", "report", ledger, "-o", tmp_path)
    nowhere = tmp_path / "none" / "report.html"
    assert "does not exist. Create it first." in arena.refusal("runs", "report", ledger, "-o", nowhere)


def test_the_page_does_not_take_the_place_of_the_ledger(ledger: Path) -> None:
    before = ledger.read_bytes()
    for words in (("runs", "report", ledger, "-o", ledger), (*AUDIT, "--ledger", ledger, "--html", ledger)):
        assert "would take the place of the ledger. Name another file." in arena.refusal(*words)
    assert ledger.read_bytes() == before
    named = ledger.rename(ledger.with_suffix(".html"))
    assert "would take the place of the ledger" in arena.refusal("runs", "report", named)
