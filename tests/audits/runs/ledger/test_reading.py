"""Reading a ledger for a report: what is there now, whoever writes to it, and not a byte changed."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from support.paths import ROOT

from arena import InvalidArgument
from audits.runs.ledger import SCHEMA_VERSION, Ledger, LedgerFull, copying
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


def refusal(path: Path, error: type[Exception] = InvalidArgument) -> str:
    with pytest.raises(error) as refused, Ledger.read(path):
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


@pytest.mark.thorough
def test_a_ledger_may_be_read_while_a_run_writes_to_it(tmp_path: Path) -> None:
    path = tmp_path / "run.ledger"
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        seen = []
        try:
            for _ in range(15):
                written = int(writer.stdout.readline())
                with Ledger.read(path) as ledger:
                    have = ledger.block_indices()
                    assert have == set(range(len(have)))
                    assert len(have) > written
                seen.append(len(have))
        finally:
            writer.kill()
    assert seen == sorted(seen)
    with Ledger.open(path, {"seed": 1}) as ledger:
        assert len(ledger.block_indices()) >= seen[-1]


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


def test_a_log_begun_anew_while_it_is_copied_itself_is_copied_again(
    ledger_of_three: Path, monkeypatch
) -> None:
    log, copies = ledger_of_three.with_name("run.ledger-wal"), []
    log.write_bytes(bytes(64))
    copyfile = shutil.copyfile

    def copy(source: Path, to: Path) -> None:
        copyfile(source, to)
        if source == log:
            copies.append(source)
            if len(copies) < 3:
                log.write_bytes(bytes([len(copies)]) * 64)

    monkeypatch.setattr(shutil, "copyfile", copy)
    with Ledger.read(ledger_of_three) as ledger:
        assert len(ledger.block_indices()) == 3
    assert len(copies) == 3


def test_a_ledger_that_cannot_be_copied_whole_is_refused(ledger_of_three: Path, monkeypatch) -> None:
    heads = iter(range(1_000))
    monkeypatch.setattr(copying, "_read_header", lambda log: bytes([next(heads) % 256]))
    assert refusal(ledger_of_three) == (
        f"the ledger {ledger_of_three} is written faster than it can be read. Read it again later."
    )


@pytest.mark.thorough
def test_a_reader_keeps_up_with_a_writer_at_full_speed(tmp_path: Path) -> None:
    """Every copy is whole, whatever the writer is at, and holds what was there when it was begun."""
    path = tmp_path / "run.ledger"
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        try:
            writer.stdout.readline()
            looks, seen, end = 0, 0, time.monotonic() + 60
            while (looks < 10 or seen < 100) and time.monotonic() < end:
                with Ledger.read(path, check_all=False) as ledger:
                    new = [index for index, _ in ledger.blocks(start=seen)]
                assert new == list(range(seen, seen + len(new)))
                looks, seen = looks + 1, seen + len(new)
        finally:
            writer.kill()
    assert looks >= 10
    assert seen >= 100


def test_blocks_are_checked_when_they_are_asked_for(ledger_of_three: Path) -> None:
    with closing(sqlite3.connect(ledger_of_three, isolation_level=None)) as database:
        database.execute("UPDATE blocks SET pairs = 1 WHERE block = 1")
    with Ledger.read(ledger_of_three, check_all=False) as ledger:
        assert ledger.block(2).to_bytes() == scores(2).to_bytes()
        assert [index for index, _ in ledger.blocks(start=2)] == [2]
        assert ledger.count_pairs() == 17
        with pytest.raises(KeyError):
            ledger.block(3)
        with pytest.raises(InvalidArgument, match="block 1 does not match its checksum"):
            ledger.block(1)
        with pytest.raises(InvalidArgument, match="block 1 does not match its checksum"):
            list(ledger.blocks())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "the ledger {} cannot be read: there is no such file. Give the path of a ledger."),
        (
            b"",
            "no run was begun in {0}: it is empty, as a run leaves it that is killed while it makes its "
            "ledger. To begin, give the arena audit command again, with --ledger {0}.",
        ),
        (b"hello", "{} is not a ledger, or its header is damaged. Give the path of a ledger."),
    ],
)
def test_what_is_no_ledger(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "run.ledger"
    if content is not None:
        path.write_bytes(content)
    assert refusal(path) == message.format(path)


def test_a_directory(tmp_path: Path) -> None:
    assert refusal(tmp_path) == (
        f"the ledger {tmp_path} cannot be read: it is a directory. Give the path of a ledger."
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            f"PRAGMA user_version = {SCHEMA_VERSION + 1}",
            f"the ledger {{}} has schema {SCHEMA_VERSION + 1}; this dp-arena reads schemas up to "
            f"{SCHEMA_VERSION}. Use the newer dp-arena that wrote it.",
        ),
        (
            "PRAGMA application_id = 1",
            "{} is an SQLite database, but not a ledger. Give the path of a ledger.",
        ),
        (
            "UPDATE blocks SET pairs = 1 WHERE block = 1",
            "the ledger {} is damaged: block 1 does not match its checksum. Restore a copy, or remove it and "
            "any run.ledger-wal beside it to play every block again.",
        ),
    ],
)
def test_a_ledger_that_was_changed(ledger_of_three: Path, change: str, message: str) -> None:
    with closing(sqlite3.connect(ledger_of_three, isolation_level=None)) as database:
        database.execute(change)
    assert refusal(ledger_of_three) == message.format(ledger_of_three)


def test_no_room_for_the_copy(ledger_of_three: Path, monkeypatch) -> None:
    def full(source: Path, to: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    monkeypatch.setattr(tempfile, "tempdir", str(ledger_of_three.parent))
    assert refusal(ledger_of_three, LedgerFull).startswith("there is no room in ")


def test_a_file_that_says_it_is_larger_than_the_disk_is_not_copied(ledger_of_three: Path) -> None:
    os.truncate(ledger_of_three, shutil.disk_usage(tempfile.gettempdir()).free + 2**30)
    assert refusal(ledger_of_three, LedgerFull).startswith("there is no room in ")


def test_a_file_that_may_not_be_read(ledger_of_three: Path, monkeypatch) -> None:
    def refuse_copy(source: Path, to: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(copying.shutil, "copyfile", refuse_copy)
    assert refusal(ledger_of_three) == (
        f"the ledger {ledger_of_three} cannot be read (Permission denied). Give one that can be read."
    )
