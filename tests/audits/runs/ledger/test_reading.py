"""Reading a ledger for a report: what is there now, whoever writes to it, and not a byte changed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from support.paths import ROOT

from arena import InvalidArgument
from audits.runs.ledger import Ledger, schema
from audits.runs.ledger.schema import is_ledger
from audits.runs.run_history import is_running
from audits.statistics.score_pairs import PairCounts

PLAN = {"seed": 1, "points": (0.5, 2.0)}
NOTES = {"learner": "Laplace"}

# Writes blocks, large and small, until it is killed.
WRITER = """
import sys
from itertools import count
import numpy as np
from audits.runs.ledger import Ledger
from audits.statistics.score_pairs import PairCounts

ledger = Ledger.open(sys.argv[1], {"seed": 1})
for block in count():
    size = 1 + block * 37 % 3_000
    ledger.add(block, PairCounts.of(np.arange(float(size)), np.full(size, float(block))))
    print(block, flush=True)
"""


def scores(block: int) -> PairCounts:
    return PairCounts.of(np.arange(8.0), np.full(8, float(block)))


@pytest.fixture
def ledger_of_three(tmp_path: Path) -> Path:
    path = tmp_path / "run.ledger"
    with Ledger.open(path, PLAN, notes=lambda: NOTES) as ledger:
        for block in range(3):
            ledger.add(block, scores(block))
    return path


def refusal(path: Path) -> str:
    with pytest.raises(InvalidArgument) as refused, Ledger.read(path):
        pass
    return str(refused.value)


def test_it_gives_back_what_was_stored(ledger_of_three: Path) -> None:
    before = ledger_of_three.read_bytes()
    with Ledger.read(ledger_of_three) as ledger:
        assert ledger.plan == {"seed": 1, "points": [0.5, 2.0]}
        assert ledger.notes == NOTES
        assert [(block, counts.to_bytes()) for block, counts in ledger.blocks()] == [
            (block, scores(block).to_bytes()) for block in range(3)
        ]
    assert ledger_of_three.read_bytes() == before
    assert os.listdir(ledger_of_three.parent) == ["run.ledger"]


def test_notes_are_asked_for_only_where_a_ledger_is_new(ledger_of_three: Path) -> None:
    def never() -> dict[str, object]:
        raise AssertionError

    with Ledger.open(ledger_of_three, PLAN, notes=never) as ledger:
        assert ledger.notes == NOTES


def test_a_ledger_may_be_read_where_nothing_can_be_written(ledger_of_three: Path) -> None:
    ledger_of_three.chmod(0o444)
    ledger_of_three.parent.chmod(0o555)
    with Ledger.read(ledger_of_three) as ledger:
        assert len(ledger.block_indices()) == 3
    ledger_of_three.parent.chmod(0o755)


def test_a_log_that_is_begun_anew_while_it_is_copied_is_copied_again(
    ledger_of_three: Path, monkeypatch
) -> None:
    log, copies = ledger_of_three.with_name("run.ledger-wal"), []
    copyfile = shutil.copyfile

    def copy(source: Path, to: Path) -> None:
        copyfile(source, to)
        if source == ledger_of_three:
            copies.append(source)
            if len(copies) < 3:
                log.write_bytes(bytes([len(copies)]) * 64)
            else:
                log.unlink(missing_ok=True)

    monkeypatch.setattr(shutil, "copyfile", copy)
    with Ledger.read(ledger_of_three) as ledger:
        assert len(ledger.block_indices()) == 3
    assert len(copies) == 4


def test_a_ledger_that_cannot_be_copied_whole_is_refused(ledger_of_three: Path, monkeypatch) -> None:
    heads = iter(range(1_000))
    start = schema.read_start
    monkeypatch.setattr(
        schema, "read_start", lambda path, n: bytes([next(heads) % 256]) if n == 32 else start(path, n)
    )
    assert refusal(ledger_of_three).startswith(f"the ledger {ledger_of_three} is written faster than it can")


def test_blocks_are_checked_when_they_are_asked_for(ledger_of_three: Path) -> None:
    with closing(sqlite3.connect(ledger_of_three, isolation_level=None)) as database:
        database.execute("UPDATE blocks SET pairs = 1 WHERE block = 1")
    with Ledger.read(ledger_of_three) as ledger:
        assert ledger.block(2).to_bytes() == scores(2).to_bytes()
        assert [index for index, _ in ledger.blocks(start=2)] == [2]
        assert ledger.count_pairs() == 17
        with pytest.raises(KeyError):
            ledger.block(3)
        with pytest.raises(InvalidArgument, match="the checksum of block 1 is wrong"):
            ledger.block(1)
        with pytest.raises(InvalidArgument, match="the checksum of block 1 is wrong"):
            list(ledger.blocks())


def test_what_cannot_be_read(tmp_path: Path, ledger_of_three: Path) -> None:
    path = tmp_path / "other"
    assert refusal(path).startswith(f"the ledger {path} cannot be read: there is no such file. Give the path")
    assert "it is a directory" in refusal(tmp_path)
    assert "it is a device or a pipe" in refusal(Path("/dev/zero"))
    path.touch()
    assert refusal(path).startswith(f"the ledger {path} is empty: no run was begun in it. Give that run's ")
    path.write_bytes(b"hello")
    assert refusal(path) == f"{path} is not a ledger, or its header is damaged. Give the path of a ledger."
    with closing(sqlite3.connect(ledger_of_three, isolation_level=None)) as database:
        database.execute("PRAGMA application_id = 1")
    assert refusal(ledger_of_three).startswith(f"{ledger_of_three} is an SQLite database, but not a ledger")


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (OSError(28, "No space left on device"), "there is no room in "),
        (PermissionError(13, "Permission denied"), "Permission denied"),
    ],
)
def test_a_copy_that_fails(ledger_of_three: Path, monkeypatch, error: OSError, fault: str) -> None:
    def refuse_copy(source: Path, to: Path) -> None:
        raise error

    monkeypatch.setattr(shutil, "copyfile", refuse_copy)
    assert refusal(ledger_of_three).startswith(f"the ledger {ledger_of_three} cannot be read: {fault}")


def test_ledgers_are_recognised_by_their_content(tmp_path: Path, ledger_of_three: Path) -> None:
    (tmp_path / "text.ledger").write_text("nothing of the kind")
    (tmp_path / "empty.ledger").touch()
    (tmp_path / "gone.ledger").symlink_to(tmp_path / "nowhere")
    with closing(sqlite3.connect(tmp_path / "foreign.ledger")) as database:
        database.execute("CREATE TABLE t (a)")
    assert [path for path in tmp_path.iterdir() if is_ledger(path)] == [ledger_of_three]


@pytest.mark.thorough
def test_a_run_that_has_it_is_seen_and_not_disturbed(tmp_path: Path) -> None:
    path = tmp_path / "run.ledger"
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        try:
            writer.stdout.readline()
            # Its log has all that it wrote so far, and yet the file says what it is.
            assert (is_running(path), is_running(path), is_ledger(path)) == (True, True, True)
        finally:
            writer.kill()
        writer.wait()
        assert is_running(path) is False
    assert is_running(tmp_path / "gone") is None
