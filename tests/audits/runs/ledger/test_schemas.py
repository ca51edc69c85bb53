"""Ledgers of an older schema: read as they are, and brought to the present one when a run goes on."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from arena import InvalidArgument
from audits.runs.ledger import APPLICATION_ID, SCHEMA_VERSION, Ledger, schema
from audits.statistics.score_pairs import PairCounts

PLAN = {"points": [0.5, 2.0], "seed": 1}
TEXT = json.dumps(PLAN, sort_keys=True, separators=(",", ":"))

# As schema 1 was made, word for word: SQLite keeps the text of its tables.
FIRST = (
    "PRAGMA journal_mode = WAL",
    f"PRAGMA application_id = {APPLICATION_ID}",
    "PRAGMA user_version = 1",
    "CREATE TABLE blocks (block INTEGER PRIMARY KEY, pairs INTEGER NOT NULL, scores BLOB NOT NULL,"
    " sha256 BLOB NOT NULL)",
    "CREATE TABLE plan (json TEXT NOT NULL, sha256 BLOB NOT NULL)",
)


def scores(block: int) -> PairCounts:
    return PairCounts.of(np.arange(8.0), np.full(8, float(block)))


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A ledger of schema 1, with three blocks."""
    path = tmp_path / "run.ledger"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for statement in FIRST:
            database.execute(statement)
        database.execute("INSERT INTO plan VALUES (?, ?)", (TEXT, hashlib.sha256(TEXT.encode()).digest()))
        for block in range(3):
            blob = scores(block).to_bytes()
            head = f"{hashlib.sha256(TEXT.encode()).hexdigest()} {block} 8 ".encode()
            row = (block, 8, blob, hashlib.sha256(head + blob).digest())
            database.execute("INSERT INTO blocks VALUES (?, ?, ?, ?)", row)
    return path


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


def contents(ledger: Ledger) -> list[tuple[int, bytes]]:
    return [(block, counts.to_bytes()) for block, counts in ledger.blocks()]


def test_it_is_read_as_it_is(first: Path) -> None:
    before = first.read_bytes()
    with Ledger.read(first) as ledger:
        assert ledger.plan == PLAN
        assert ledger.notes == {}
        assert contents(ledger) == [(block, scores(block).to_bytes()) for block in range(3)]
    assert first.read_bytes() == before


def test_a_run_brings_it_to_the_present_schema(first: Path) -> None:
    with Ledger.open(first, PLAN, notes=lambda: {"never": "asked"}) as ledger:
        ledger.add(3, scores(3))
        assert ledger.notes == {}
    assert version(first) == SCHEMA_VERSION
    with Ledger.open(first, PLAN) as ledger:
        assert contents(ledger) == [(block, scores(block).to_bytes()) for block in range(4)]
    with Ledger.read(first) as ledger:
        assert ledger.block_indices() == set(range(4))


def test_another_plan_leaves_it_as_it_is(first: Path) -> None:
    with pytest.raises(InvalidArgument, match="holds another plan: seed: 1 -> 2"):
        Ledger.open(first, PLAN | {"seed": 2})
    assert version(first) == 1


def test_a_damaged_one_is_not_brought_anywhere(first: Path) -> None:
    with closing(sqlite3.connect(first, isolation_level=None)) as database:
        database.execute("UPDATE blocks SET pairs = 9 WHERE block = 1")
    with pytest.raises(InvalidArgument, match="block 1 does not match its checksum"):
        Ledger.open(first, PLAN)
    assert version(first) == 1


def test_it_is_brought_whole_or_not_at_all(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*row: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(schema, "_insert_head", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Ledger.open(first, PLAN)
    monkeypatch.undo()
    assert version(first) == 1
    with Ledger.open(first, PLAN) as ledger:
        assert len(ledger.block_indices()) == 3


def test_a_version_that_never_was_is_damage(first: Path) -> None:
    with closing(sqlite3.connect(first, isolation_level=None)) as database:
        database.execute("PRAGMA user_version = 0")
    with pytest.raises(InvalidArgument, match="damaged: its tables are not those of a ledger"):
        Ledger.open(first, PLAN)
