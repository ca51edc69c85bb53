"""Which files are ledgers, and which of them a run has now."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from support.paths import ROOT

from arena import InvalidArgument
from audits.runs.ledger import Ledger
from audits.runs.ledger.discovery import find_ledgers, is_ledger, is_running

HOLD = """
import sys
from audits.runs.ledger import Ledger
with Ledger.open(sys.argv[1], {"seed": 1}):
    print("open", flush=True)
    sys.stdin.readline()
print("closed", flush=True)
sys.stdin.readline()
"""


def test_ledgers_are_told_by_what_is_in_them(tmp_path: Path) -> None:
    below = tmp_path / "below"
    below.mkdir()
    for path in (tmp_path / "b", tmp_path / "a.db", below / "c.ledger"):
        Ledger.open(path, {"seed": 1}).close()
    with closing(sqlite3.connect(tmp_path / "foreign.ledger")) as database:
        database.execute("CREATE TABLE t (a)")
    (tmp_path / "text.ledger").write_text("nothing of the kind")
    (tmp_path / "empty.ledger").touch()
    (tmp_path / "gone.ledger").symlink_to(tmp_path / "nowhere")
    assert list(find_ledgers(tmp_path)) == [tmp_path / "a.db", tmp_path / "b"]
    assert list(find_ledgers(tmp_path, recursive=True)) == [
        tmp_path / "a.db",
        tmp_path / "b",
        below / "c.ledger",
    ]


def test_there_must_be_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument) as refused:
        find_ledgers(tmp_path / "gone")
    assert str(refused.value) == (
        f"there is no folder {tmp_path / 'gone'}. Name folders that contain ledgers, or ledgers."
    )


@pytest.mark.thorough
def test_a_run_that_has_it_is_seen_and_not_disturbed(tmp_path: Path) -> None:
    path = tmp_path / "run.ledger"
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "open\n"
        # Its log has all that it wrote so far, and yet the file says what it is.
        assert (is_running(path), is_running(path), is_ledger(path)) == (True, True, True)
        holder.stdin.write("\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == "closed\n"
        assert is_running(path) is False
    assert is_running(tmp_path / "gone") is None
