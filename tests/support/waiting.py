"""Waiting for another process, on a machine that may be busy."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

from audits.runs.ledger.copying import copy_ledger


def wait_until(condition: Callable[[], object], *, seconds: float = 120) -> None:
    """Return once the condition holds; fail if it does not within so many seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"the condition did not hold within {seconds:g} s"
        time.sleep(0.01)


def count_blocks(ledger: Path) -> int:
    """The number of blocks in a ledger, without touching its files; 0 if there is none yet."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        with suppress(Exception):
            copy_ledger(ledger, copy)
            with closing(sqlite3.connect(copy)) as connection:
                return int(connection.execute("SELECT count(*) FROM blocks").fetchone()[0])
    return 0
