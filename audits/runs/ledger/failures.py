"""What SQLite's refusals mean for the user of a ledger, and what to do about them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arena.errors import ArenaError, InvalidArgument
from audits.runs.stopped import Stopped

OPENED, READ = "a ledger or a new file", "a ledger"  # what a path should have been of
_UNREADABLE = "its text cannot be read"
_RESUME = "do the same again: it goes on from there."


class LedgerFailed(Stopped):
    """The disk did not do what the ledger asked of it. The blocks added before are safe."""


class LedgerFull(LedgerFailed):
    """The disk is full. The blocks added before are safe."""


@contextmanager
def explained(path: Path, *, lost: str, wanted: str = OPENED, begun: bool = False) -> Iterator[None]:
    """Say what SQLite's refusals mean for the user of the ledger at `path`.

    lost: what was not done. wanted: what the path should have been of. begun: the ledger could be written
    to before, so that a refusal is the disk's, not the user's.
    """
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.Error as error:
        raise _refusal(path, error, lost, wanted, begun) from error
    except UnicodeDecodeError as error:  # sqlite3 could not even read SQLite's message, which quotes the file
        raise damaged(path, _UNREADABLE) from error


def code(error: BaseException) -> int:
    """SQLite's number for an error; 0 if it has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF  # the higher bits only say where


def damaged(path: Path, what: str) -> InvalidArgument:
    """The refusal of a ledger that is not what it was."""
    return InvalidArgument(
        f"the ledger {path} is damaged: {what}",
        remedy=f"Restore a copy, or remove it and any {path.name}-wal beside it to play every block again.",
    )


def _refusal(path: Path, error: sqlite3.Error, lost: str, wanted: str, begun: bool) -> ArenaError:
    kind, locks = code(error), getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_LOCK
    safe = f"{lost}, every block added before is safe"
    if kind == sqlite3.SQLITE_FULL:
        return LedgerFull(f"the disk of the ledger {path} is full: {safe}. Free space and {_RESUME}")
    if kind == sqlite3.SQLITE_IOERR and not locks:
        return LedgerFailed(f"the disk of the ledger {path} failed ({error}): {safe}. Mend it and {_RESUME}")
    if kind == sqlite3.SQLITE_BUSY:
        return InvalidArgument(
            f"the ledger {path} is in use by another run", remedy="Wait until it ends, or give another path."
        )
    if kind in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) or locks:
        if begun:
            return LedgerFailed(
                f"the ledger {path} can be written no longer ({error}): {safe}. Mend that and {_RESUME}"
            )
        return InvalidArgument(
            f"the ledger {path} cannot be written: {_obstacle(path)}",
            remedy="Give a path that can be written.",
        )
    if kind == sqlite3.SQLITE_NOTADB:
        return InvalidArgument(
            f"{path} is not a ledger, or the head of one that is damaged",
            remedy=f"Give the path of {wanted}.",
        )
    what = str(error)
    return damaged(path, what if what.isascii() and what.isprintable() else _UNREADABLE)


def _obstacle(path: Path) -> str:
    if os.path.isdir(path):
        return "it is a directory"
    if not os.path.isdir(path.absolute().parent):
        return "its directory does not exist"
    return "the file or its directory is read-only, or lies where files cannot be locked"
