"""Copying a ledger as it is at one moment, while a run may be writing to it."""

from __future__ import annotations

import errno
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from arena.errors import InvalidArgument
from audits.runs.ledger.failures import READABLE, LedgerFull, not_a_ledger

# Size at which SQLite moves the write-ahead log into the file and starts the log again, in pages of 4 KiB:
# 64 MiB are seconds of the fastest run, and are copied in a fraction of that.
LOG_PAGES = 16_384
MAGIC = b"SQLite format 3\x00"  # with which a ledger begins
_LOG_HEADER = 32  # bytes, which hold the salts of the log
_TRIES = 20


def copy_ledger(path: Path, copy: Path) -> None:
    """Copy a ledger with its write-ahead log.

    The file changes only when SQLite moves the contents of the log into it. So a copy of the file and then of
    the log is consistent unless the log was started again meanwhile, which changes the header of the log.

    Raises: InvalidArgument if the ledger cannot be read; LedgerFull if there is no room for the copy.
    """
    file = resolve(path)
    if not file.is_file():
        fault = "it is a directory" if file.is_dir() else "it is a device or a pipe"
        if not file.exists():
            fault = (
                "it is a symbolic link that leads nowhere" if path.is_symlink() else "there is no such file"
            )
        raise InvalidArgument(
            f"the ledger {path} cannot be read: {fault}", remedy=f"Give the path of {READABLE}."
        )
    check_links(path, file)
    for _ in range(_TRIES):
        try:
            if _try_copy(file, copy):
                return
        except OSError as error:
            raise _explain(path, copy, error) from error
        time.sleep(0.01)
    raise InvalidArgument(
        f"the ledger {path} is written faster than it can be read", remedy="Read it again later."
    )


def _try_copy(path: Path, copy: Path) -> bool:
    """Copy, and return whether the copy is consistent."""
    with path.open("rb") as file:  # whose size may be that of a disk
        if file.read(len(MAGIC)) not in (MAGIC, b""):
            raise not_a_ledger(path, READABLE)
    log, log_copy = log_of(path), log_of(copy)
    header, status = _read_header(log), path.stat()
    if status.st_size > shutil.disk_usage(copy.parent).free:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    shutil.copyfile(path, copy)
    log_copy.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        shutil.copyfile(log, log_copy)
    unchanged = _read_header(log_copy) == header == _read_header(log)
    return unchanged and (header != b"" or path.stat().st_mtime_ns == status.st_mtime_ns)


def _explain(path: Path, copy: Path, error: OSError) -> Exception:
    if error.errno == errno.ENOSPC:
        return LedgerFull(
            f"there is no room in {copy.parent} for a copy of the ledger {path}, by which it is read. "
            "Free some space, or name another folder in TMPDIR."
        )
    return InvalidArgument(
        f"the ledger {path} cannot be read ({error.strerror})", remedy="Give one that can be read."
    )


def resolve(path: Path) -> Path:
    """The file that a path leads to, without symbolic links: SQLite keeps the log beside that one."""
    return Path(os.path.realpath(path))


def log_of(path: Path) -> Path:
    """The write-ahead log of the ledger at a path, if there is one."""
    file = resolve(path)
    return file.with_name(f"{file.name}-wal")


def check_links(path: Path, file: Path) -> None:
    """Check that a path leads to a file or nothing, and that the log is beside this name if there are others.

    path: as the user gave it; file: without symbolic links. Other names are hard links.
    Raises: InvalidArgument.
    """
    if file.exists() and not (file.is_file() or file.is_dir()):
        raise InvalidArgument(
            f"the ledger {path} cannot be written: it is a device or a pipe",
            remedy="Give the path of a file.",
        )
    try:
        names = file.stat().st_nlink
    except OSError:  # which the caller finds out, too
        return
    if names > 1 and file.is_file() and not log_of(file).exists():
        raise InvalidArgument(
            f"the ledger {path} is one of {names} names of a file (hard links), and its latest blocks may be "
            "in a log beside another one",
            remedy="Give the name under which it was written, or remove the others.",
        )


def _read_header(log: Path) -> bytes:
    """The header of a log, which changes whenever the log is started again; empty if there is no log."""
    try:
        with log.open("rb") as file:
            return file.read(_LOG_HEADER)
    except FileNotFoundError:
        return b""
