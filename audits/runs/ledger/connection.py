"""Opening a ledger for a run, so that no other run has it."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from audits.runs.ledger.copying import LOG_PAGES
from audits.runs.ledger.failures import error_code


def connect_exclusively(path: Path, tries: int = 5) -> sqlite3.Connection:
    """A connection with SQLite's own lock, which ends with the process and is not inherited by children."""
    # Two processes that open the file at once can refuse each other: each tries again after its own delay.
    connection = sqlite3.connect(path.absolute(), isolation_level=None, timeout=0)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        # A commit is written before `add` returns, so a killed process loses no block. A power cut may lose
        # the latest, which are then played again: waiting for the disk after each block would gain nothing.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
        return connection
    except BaseException as error:
        connection.close()
        if tries == 1 or error_code(error) != sqlite3.SQLITE_BUSY:
            raise
    time.sleep(0.002 * (1 + os.getpid() % 16))
    return connect_exclusively(path, tries - 1)
