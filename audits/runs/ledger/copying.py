"""Copying a ledger as it is at one moment, while a run may be writing to it."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from arena.errors import InvalidArgument

MAGIC = b"SQLite format 3\x00"  # with which a ledger begins
NAME_A_LEDGER = "Give the path of a ledger."
# Size at which SQLite moves the write-ahead log into the file and starts the log again, in pages of 4 KiB:
# 64 MiB are seconds of the fastest run, and are copied in a fraction of that.
LOG_PAGES = 16_384
_LOG_HEADER = 32  # bytes, which hold the salts of the log
_TRIES = 20


def copy_ledger(path: Path, copy: Path) -> None:
    """Copy a ledger with its write-ahead log.

    A run locks its ledger, so that SQLite cannot copy it. The file changes only when SQLite moves the
    contents of the log into it. So a copy of the file and then of the log is consistent unless the log was
    started again meanwhile, which changes the header of the log.

    Raises: InvalidArgument if the ledger cannot be read, or there is no room for the copy.
    """
    if not path.is_file():
        raise InvalidArgument(
            f"the ledger {path} cannot be read: {find_obstacle(path, 'there is no such file')}",
            remedy=NAME_A_LEDGER,
        )
    if read_start(path, len(MAGIC)) not in (MAGIC, b""):  # whose size may be that of a disk
        raise not_a_ledger(path)
    for _ in range(_TRIES):
        try:
            if _try_copy(path, copy):
                return
        except OSError as error:
            fault, remedy = str(error.strerror), "Give one that can be read."
            if error.errno == errno.ENOSPC:
                fault = f"there is no room in {tempfile.gettempdir()} for a copy of it"
                remedy = "Free some space, or name another folder in TMPDIR."
            raise InvalidArgument(f"the ledger {path} cannot be read: {fault}", remedy=remedy) from error
        time.sleep(0.01)
    raise InvalidArgument(
        f"the ledger {path} is written faster than it can be read", remedy="Read it again later."
    )


def log_of(path: Path) -> Path:
    """The write-ahead log of the ledger at a path, if there is one: SQLite keeps it where links lead to."""
    return Path(f"{os.path.realpath(path)}-wal")


def find_obstacle(path: Path, otherwise: str) -> str:
    """Why the ledger at a path cannot be opened, in words. otherwise: if nothing is wrong with the path."""
    if path.is_dir():
        return "it is a directory"
    if path.exists():
        return otherwise if path.is_file() else "it is a device or a pipe"
    if path.is_symlink():
        return "it is a symbolic link that leads nowhere"
    return otherwise if path.absolute().parent.is_dir() else "its directory does not exist"


def not_a_ledger(path: Path) -> InvalidArgument:
    """The error for a file that is no SQLite database."""
    return InvalidArgument(f"{path} is not a ledger, or its header is damaged", remedy=NAME_A_LEDGER)


def read_start(path: Path, size: int) -> bytes:
    """The first bytes of a file; none if there is no such file, or it cannot be read."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(size)
    return b""


def _try_copy(path: Path, copy: Path) -> bool:
    """Copy, and return whether the copy is consistent."""
    log, log_copy = log_of(path), log_of(copy)
    # The header of a log changes whenever the log is started again.
    header, changed = read_start(log, _LOG_HEADER), path.stat().st_mtime_ns
    shutil.copyfile(path, copy)
    log_copy.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        shutil.copyfile(log, log_copy)
    unchanged = read_start(log_copy, _LOG_HEADER) == header == read_start(log, _LOG_HEADER)
    return unchanged and (header != b"" or path.stat().st_mtime_ns == changed)
