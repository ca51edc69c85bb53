"""Ledgers on a disk: which files are ledgers, and which ledgers a run is writing to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from arena.errors import InvalidArgument
from audits.runs.ledger.schema import APPLICATION_ID

_MAGIC = b"SQLite format 3\x00"
_APPLICATION = slice(68, 72)  # position of the application's number in the header of an SQLite file
# SQLite's lock bytes (https://sqlite.org/fileformat2.html#the_lock_byte_page): readers hold a shared lock on
# them, and a run holds an exclusive one.
_SHARED_FIRST, _SHARED_SIZE = 0x40000000 + 2, 510


def find_ledgers(folder: str | os.PathLike[str], *, recursive: bool = False) -> Iterator[Path]:
    """The ledgers in a folder, sorted by name. A ledger is recognised by its content.

    recursive: search its subfolders too. Files that cannot be read are skipped.
    Raises: InvalidArgument if there is no such folder.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InvalidArgument(
            f"there is no folder {folder}", remedy="Name folders that contain ledgers, or ledgers."
        )
    paths = root.rglob("*") if recursive else root.iterdir()
    return (path for path in sorted(paths) if path.is_file() and is_ledger(path))


def is_ledger(path: Path) -> bool:
    """Whether the header of the file at `path` is that of a ledger, of any schema."""
    try:
        with path.open("rb") as file:
            header = file.read(_APPLICATION.stop)
    except OSError:
        return False
    return header.startswith(_MAGIC) and header[_APPLICATION] == APPLICATION_ID.to_bytes(4, "big")


def is_running(path: str | os.PathLike[str]) -> bool | None:
    """Whether another process has the ledger at `path` open for a run; None if that cannot be known.

    Asks for the lock that a run holds and releases it at once. Do not call it in the process that has the
    ledger open: releasing the lock would release that of the run.
    """
    try:
        import fcntl  # not on Windows
    except ImportError:
        return None
    if not os.path.isfile(path):  # a pipe would have to be opened by somebody else, too
        return None
    try:
        with open(path, "rb") as file:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, _SHARED_SIZE, _SHARED_FIRST)
    except BlockingIOError:
        return True
    except OSError:  # the file cannot be read, or its file system has no locks
        return None
    return False
