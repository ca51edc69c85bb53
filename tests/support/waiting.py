"""Waiting for what another process does: as long as it takes on a crowded machine."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from audits.runs.ledger.copying import copy_ledger


def until(happened: Callable[[], object], *, seconds: float = 120) -> None:
    """Return once it has happened; a failure if it does not within so many seconds."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"it did not happen within {seconds:g} s"
        time.sleep(0.01)


def kept(ledger: Path) -> int:
    """How many blocks a ledger holds, without touching its files; 0 where there is none yet."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        with suppress(Exception):
            copy_ledger(ledger, copy)
            with closing(sqlite3.connect(copy)) as connection:
                return int(connection.execute("SELECT count(*) FROM blocks").fetchone()[0])
    return 0
