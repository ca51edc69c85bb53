"""Errors of SQLite, translated for the user of a ledger."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from arena.errors import ArenaError, InvalidArgument
from audits.runs.verdict import RunStopped

# What a path must name to be opened, and to be read.
WRITABLE, READABLE = "a ledger or a new file", "a ledger"
_UNREADABLE = "its text cannot be read"
_RESUME = "give the same command again: it resumes the run."


class LedgerFailed(RunStopped):
    """The disk failed. The blocks that were added before are safe."""


class LedgerFull(LedgerFailed):
    """The disk is full. The blocks that were added before are safe."""


class LedgerLost(LedgerFailed):
    """Others deleted, replaced or truncated the files. The message says where their content was saved."""


@contextmanager
def explain_errors(
    path: Path, *, failure: str, expected: str = WRITABLE, was_writable: bool = False
) -> Iterator[None]:
    """Replace errors of SQLite by errors that tell the user of the ledger at `path` what to do.

    failure: what could not be done. expected: what the path should name. was_writable: an error is a fault of
    the disk, since the ledger was written before.
    """
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.Error as error:
        raise _explain(path, error, failure, expected, was_writable) from error
    except UnicodeDecodeError as error:  # SQLite's message quotes the file, and could not be decoded
        raise damage_error(path, _UNREADABLE) from error


def error_code(error: BaseException) -> int:
    """SQLite's primary code of an error; 0 if it has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF  # the higher bits only say where it happened


def damage_error(path: Path, fault: str) -> InvalidArgument:
    """The error for a ledger that has been altered."""
    return InvalidArgument(
        f"the ledger {path} is damaged: {fault}",
        remedy=f"Restore a copy, or remove it and any {path.name}-wal beside it to play every block again.",
    )


def not_a_ledger(path: Path, expected: str) -> InvalidArgument:
    """The error for a file that is no SQLite database. expected: what the path should name."""
    return InvalidArgument(
        f"{path} is not a ledger, or its header is damaged", remedy=f"Give the path of {expected}."
    )


def _explain(path: Path, error: sqlite3.Error, failure: str, expected: str, was_writable: bool) -> ArenaError:
    kind = error_code(error)
    cannot_lock = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_LOCK
    loss = f"{failure}, but every block that was added before is safe"
    if kind == sqlite3.SQLITE_FULL:
        return LedgerFull(f"the disk of the ledger {path} is full: {loss}. Free some space and {_RESUME}")
    if kind == sqlite3.SQLITE_IOERR and not cannot_lock:
        return LedgerFailed(
            f"the disk of the ledger {path} failed ({error}): {loss}. Repair it and {_RESUME}"
        )
    if kind == sqlite3.SQLITE_BUSY:
        return InvalidArgument(
            f"the ledger {path} is in use by another run", remedy="Wait until it ends, or give another path."
        )
    if kind in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) or cannot_lock:
        if was_writable:
            return LedgerFailed(
                f"the ledger {path} can no longer be written ({error}): {loss}. Repair that and {_RESUME}"
            )
        return InvalidArgument(
            f"the ledger {path} cannot be written: {_find_obstacle(path)}",
            remedy="Give a path that can be written.",
        )
    if kind == sqlite3.SQLITE_NOTADB:
        return not_a_ledger(path, expected)
    message = str(error)
    return damage_error(path, message if message.isascii() and message.isprintable() else _UNREADABLE)


def _find_obstacle(path: Path) -> str:
    if os.path.isdir(path):
        return "it is a directory"
    if os.path.islink(path) and os.path.islink(os.path.realpath(path)):
        return "it is a symbolic link that leads in a circle"
    if not os.path.isdir(path.absolute().parent):
        return "its directory does not exist"
    return "the file or its directory is read-only, or its file system cannot lock files"
