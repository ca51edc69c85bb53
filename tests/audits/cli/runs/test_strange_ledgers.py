"""Ledgers in strange places and states: behind links, half made, of another kind, with pages swapped."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from itertools import combinations
from pathlib import Path

import pytest
from support.command_line import Command, without_times
from support.forged_ledgers import forge
from support.paths import ROOT

from audits.data.terminal_text import escape_controls
from audits.runs.ledger import Ledger
from audits.runs.ledger.copying import log_of

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


def link_file(path: Path) -> Path:
    link = path.parent.parent / "link"
    link.symlink_to(path)
    return link


def link_relative(path: Path) -> Path:
    folder = path.parent.parent / "links"
    folder.mkdir()
    (folder / "link").symlink_to(os.path.relpath(path, folder))
    return folder / "link"


def link_chain(path: Path) -> Path:
    link = link_file(path)
    for name in ("second", "third"):
        link.with_name(name).symlink_to(link)
        link = link.with_name(name)
    return link


def link_folder(path: Path) -> Path:
    link = path.parent.parent / "folder"
    link.symlink_to(path.parent)
    return link / path.name


@pytest.mark.thorough
@pytest.mark.parametrize("link", [link_file, link_relative, link_chain, link_folder])
def test_a_link_leads_to_the_ledger_and_its_log(split: Path, link: Callable[[Path], Path]) -> None:
    other, calm = link(split), without_times(arena.json(*COUNT, "--epsilon", "1"))
    status = arena.json("runs", "list", split)["runs"][0]
    assert status["games"] > 10_000
    assert arena.json("runs", "list", other)["runs"][0] == status | {"ledger": str(other)}
    assert arena.json("runs", "watch", other, status=130) == arena.json(
        "runs", "watch", split, status=130
    ) | {"ledger": str(other)}
    tables = [split.parent / f"{number}.csv" for number in range(2)]
    for source, table in zip((split, other), tables, strict=True):
        arena.text("runs", "export", source, table)
    assert tables[0].read_text() == tables[1].read_text()
    resumed = without_times(arena.json("runs", "resume", other, "--quiet"))
    assert resumed == calm
    assert games_of(split) == 20_000
    assert not os.path.lexists(f"{other}-wal")


def test_links_that_lead_nowhere(tmp_path: Path) -> None:
    dangling, loop = tmp_path / "dangling", tmp_path / "loop"
    dangling.symlink_to(tmp_path / "gone")
    loop.symlink_to(loop)
    for link in (dangling, loop):
        for words in reading(link, tmp_path).values():
            assert "it is a symbolic link that leads nowhere" in arena.refusal(*words)
    assert "it is a symbolic link that leads in a circle" in arena.refusal(*COUNT, "--ledger", loop)
    arena.text(*COUNT, "--ledger", dangling)  # as SQLite does
    assert games_of(tmp_path / "gone") == 20_000


@pytest.mark.thorough
def test_a_hard_link_that_splits_a_ledger_from_its_log_is_refused(split: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.ledger"
    os.link(split, other)
    fault = (
        "is one of 2 names of a file (hard links), and its latest blocks may be in a log beside another one"
    )
    for words in (*reading(other, tmp_path).values(), (*COUNT, "--epsilon", "1", "--ledger", other)):
        assert fault in arena.refusal(*words)
    assert fault in arena("runs", "list", other).stderr
    whole = games_of(split)  # under the name that has the log
    assert 10_000 < whole < 20_000
    other.unlink()
    assert games_of(split) == whole


@pytest.mark.thorough
def test_a_pipe_or_a_device_is_no_ledger(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        for words in reading(path, tmp_path).values():
            assert "it is a device or a pipe" in arena.refusal(*words)
        assert "it is a device or a pipe" in arena.refusal(*COUNT, "--ledger", path)
    assert arena.text("runs", "list", tmp_path) == "There are no ledgers.\n"


# --- half made ----------------------------------------------------------------------------------------------


def test_a_ledger_in_which_no_run_was_begun(tmp_path: Path) -> None:
    path = tmp_path / "run.ledger"
    for make in (path.touch, lambda: make_header(path)):
        make()
        expected = (
            f"no run was begun in {path}: it is empty, as a run leaves it that is killed while it makes its "
            f"ledger. To begin, give the arena audit command again, with --ledger {path}."
        )
        for words in reading(path, tmp_path).values():
            assert arena.refusal(*words) == expected
        assert arena("runs", "list", path).stderr == f"arena: note: {expected}\n"
    arena.text(*COUNT, "--ledger", path)
    assert games_of(path) == 20_000


def make_header(path: Path) -> None:
    """What a run makes first."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
    assert path.stat().st_size == 4_096


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


@pytest.mark.thorough
def test_a_ledger_with_swapped_pages_is_listed_with_its_error(finished: Path, tmp_path: Path) -> None:
    swap_pages(finished, finished.read_bytes(), 1, 3)  # the roots of two tables
    for words in (("runs", "list", finished), ("runs", "list", "--fast", finished)):
        (status,) = arena.json(*words)["runs"]
        assert set(status) == {"ledger", "error"}
    for words in reading(finished, tmp_path).values():
        assert "is damaged" in arena.refusal(*words)


# --- another kind -------------------------------------------------------------------------------------------


def test_a_tournaments_ledger_is_named_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "pairs.ledger"
    Ledger.open(path, {"tournament": {"pair": ["rivest"] * 50}, "seed": 30}).close()
    expected = (
        f"the ledger {path} contains a tournament, not an audit. "
        "To resume it, give it to the same arena tournament again."
    )
    for words in (*reading(path, tmp_path).values(), (*COUNT, "--ledger", path)):
        assert arena.refusal(*words) == expected
    assert arena("runs", "list", path).stderr == f"arena: note: {expected}\n"
    whole = tmp_path / "whole.ledger"
    arena.text(*COUNT, "--ledger", whole)
    assert arena.refusal("runs", "merge", whole, path, "--into", tmp_path / "new.ledger") == expected
    assert arena.refusal("runs", "merge", whole, whole, "--into", path) == expected


def test_an_audits_ledger_is_no_tournaments(finished: Path) -> None:
    words = ("tournament", "laplace-count", "--against", "count-swap", "--games", "10")
    assert arena.refusal(*words, "--ledger", finished) == (
        f"the ledger {finished} contains an audit, not a tournament. "
        "To resume it, give it to the same arena audit again."
    )


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
