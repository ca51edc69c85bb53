"""Ledgers on a disk: which files are some, and which of them a run is writing to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from arena.errors import InvalidArgument
from audits.runs.ledger.schema import APPLICATION_ID

_MAGIC = b"SQLite format 3\x00"
_APPLICATION = slice(68, 72)  # where the header of an SQLite file has the number of the program
# Bytes on which readers of SQLite hold a lock that shuts out a writer, and a writer one that shuts out all.
_SHARED_FIRST, _SHARED_SIZE = 0x40000000 + 2, 510


def ledgers_in(folder: str | os.PathLike[str], *, below: bool = False) -> Iterator[Path]:
    """The ledgers in a folder, in the order of their names, told by what is in the files.

    below: those in folders below it, too. What cannot be read is passed over.
    Raises: InvalidArgument if there is no such folder.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InvalidArgument(
            f"there is no folder {folder}", remedy="Name folders that hold ledgers, or ledgers."
        )
    found = root.rglob("*") if below else root.iterdir()
    return (path for path in sorted(found) if path.is_file() and is_ledger(path))


def is_ledger(path: Path) -> bool:
    """Whether the file at `path` says in its header that it is a ledger, of whatever schema."""
    try:
        with path.open("rb") as file:
            head = file.read(_APPLICATION.stop)
    except OSError:
        return False
    return head.startswith(_MAGIC) and head[_APPLICATION] == APPLICATION_ID.to_bytes(4, "big")


def running(path: str | os.PathLike[str]) -> bool | None:
    """Whether a run of another process has the ledger at `path` now; None where that cannot be told.

    It asks for the lock that a run holds, and lets go of it at once. (In the process that has the ledger
    open, asking would undo its lock.)
    """
    try:
        import fcntl  # not on Windows
    except ImportError:
        return None
    try:
        with open(path, "rb") as file:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, _SHARED_SIZE, _SHARED_FIRST)
    except BlockingIOError:
        return True
    except OSError:  # it cannot be read, or its file system knows no locks
        return None
    return False
