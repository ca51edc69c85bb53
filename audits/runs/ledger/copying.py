"""A ledger copied as it is at one moment, while a run may be writing to it."""

from __future__ import annotations

import errno
import shutil
import time
from contextlib import suppress
from pathlib import Path

from arena.errors import InvalidArgument
from audits.runs.ledger.failures import READ, LedgerFull

# Pages of 4 KiB that a log takes before the file takes them over and the log is begun anew. The more there
# are, the longer a reader has for its copy: 64 MiB are seconds of the fastest run, and copied in a fraction.
LOG_PAGES = 16_384
_HEAD_OF_LOG = 32  # bytes, which hold the log's salts
_TRIES = 20


def copy_ledger(path: Path, copy: Path) -> None:
    """Copy a ledger with its log.

    The file changes only by taking over from its log what the log holds. So a copy of the file and then of
    the log is whole if the log was not begun anew meanwhile, which its head would show.

    Raises: InvalidArgument if it cannot be read; LedgerFull if there is no room for the copy.
    """
    if not path.is_file():
        what = "it is a directory" if path.is_dir() else "there is no such file"
        raise InvalidArgument(f"the ledger {path} cannot be read: {what}", remedy=f"Give the path of {READ}.")
    for _ in range(_TRIES):
        try:
            if _copied(path, copy):
                return
        except OSError as error:
            raise _unreadable(path, copy, error) from error
        time.sleep(0.01)
    raise InvalidArgument(
        f"the ledger {path} is written to faster than it can be read", remedy="Read it again later."
    )


def _copied(path: Path, copy: Path) -> bool:
    """Copy, and tell whether the copy is whole."""
    log, copied = _log_of(path), _log_of(copy)
    before, changed = _head(log), path.stat().st_mtime_ns
    shutil.copyfile(path, copy)
    copied.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        shutil.copyfile(log, copied)
    same = _head(copied) == before == _head(log)
    return same and (before != b"" or path.stat().st_mtime_ns == changed)


def _unreadable(path: Path, copy: Path, error: OSError) -> Exception:
    if error.errno == errno.ENOSPC:
        return LedgerFull(
            f"there is no room to read the ledger {path} by way of {copy.parent}. Free space, or name "
            "another folder in TMPDIR."
        )
    return InvalidArgument(
        f"the ledger {path} cannot be read ({error.strerror})", remedy="Give one that can be read."
    )


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _head(log: Path) -> bytes:
    """What changes whenever a log is begun anew; nothing where there is no log."""
    try:
        with log.open("rb") as file:
            return file.read(_HEAD_OF_LOG)
    except FileNotFoundError:
        return b""
