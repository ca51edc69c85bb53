"""Waiting for another process, on a machine that may be busy."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from audits.runs.ledger.schema import copy_ledger


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


def find_processes(group: int) -> set[int]:
    """The processes of a process group that have not ended; by Linux' /proc."""
    processes = set()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            state, _, own_group = file.read_text().rpartition(")")[2].split()[:3]
            if int(own_group) == group and state != "Z":
                processes.add(int(file.parent.name))
    return processes


def handles(process: int, number: int) -> bool:
    """Whether a process has a handler for a signal; by Linux' /proc."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return bool(int(fields["SigCgt"], 16) >> (number - 1) & 1)


def interrupt_at(games: int) -> Callable[[Any], None]:
    """A `watch` that presses Ctrl-C as soon as so many games, or those of a run's progress, are finished."""

    def watch(done: Any) -> None:
        if getattr(done, "games", done) >= games:
            raise KeyboardInterrupt

    return watch
