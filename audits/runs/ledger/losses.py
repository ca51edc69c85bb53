"""What becomes of a ledger whose files are deleted, replaced or truncated while a run has it open."""

from __future__ import annotations

import ctypes
import os
import shlex
import sqlite3
import tempfile
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from audits.runs.ledger.copying import log_of
from audits.runs.ledger.schema import Head, create, transaction

Row = tuple[int, int, bytes]  # index, pairs and encoded result of a block

_HEADER = 100  # bytes of the header of an SQLite file, which change when another takes its place


class LedgerFiles:
    """The file and the log of an open ledger, which no other process should write, move or delete.

    Looking whether they are as they were takes a call of stat for each, some microseconds.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._log = path, log_of(path)
        # To read the header by. Closing it before SQLite closes its own would release the lock.
        self._descriptor = os.open(path, os.O_RDONLY)
        self._status, self._header = os.fstat(self._descriptor), self._read_header()
        self._log_status = _stat(self._log)

    def remember(self) -> None:
        """Take the files to be as this process has just written them, unless one of them was lost."""
        now, log = os.fstat(self._descriptor), _stat(self._log)
        if now.st_size >= self._status.st_size and now.st_mtime_ns != self._status.st_mtime_ns:
            self._status, self._header = now, self._read_header()
        if self._log_status is None or not _compare(log, self._log_status):
            self._log_status = log

    def find_loss(self) -> str:
        """What others did to the files, as the rest of a sentence; empty if they are as remembered."""
        loss = _compare(_stat(self.path), self._status) or self._find_change()
        if loss:
            return f"was {loss}"
        loss = "" if self._log_status is None else _compare(_stat(self._log), self._log_status)
        return f"lost its log {self._log.name}, which was {loss}" if loss else ""

    def close(self, connection: sqlite3.Connection, *, saved: bool = False) -> None:
        """Close the connection, unless closing would write to a file that others have written.

        saved: the ledger was lost, and its content is elsewhere; its log is removed, as SQLite would take it
        for that of any file which is put in its place.
        """
        log = _stat(self._log)
        is_own = log is None or (self._log_status is not None and os.path.samestat(log, self._log_status))
        is_short = log is not None and self._log_status is not None and log.st_size < self._log_status.st_size
        if is_own and not is_short and not self._find_change():
            connection.close()
            os.close(self._descriptor)
        else:  # never freed, and so never closed
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
        if is_own and saved:
            self._log.unlink(missing_ok=True)

    def _find_change(self) -> str:
        """What others did to the content of the file, wherever it is now."""
        now, before = os.fstat(self._descriptor), self._status
        if now.st_size < before.st_size:
            return "truncated"
        changed = now.st_mtime_ns != before.st_mtime_ns and self._read_header() != self._header
        return "overwritten" if changed else ""

    def _read_header(self) -> bytes:
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return os.read(self._descriptor, _HEADER)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return os.lstat(path)  # a link in its place would have its log elsewhere
    except OSError:
        return None


def _compare(now: os.stat_result | None, before: os.stat_result) -> str:
    """What happened to a file; empty if it is the same, and no shorter."""
    if now is None:
        return "deleted or moved"
    if not os.path.samestat(now, before):
        return "replaced"
    return "truncated" if now.st_size < before.st_size else ""


def save_rows(path: Path, head: Head, read: Callable[[], Iterable[Row | None]]) -> tuple[bool, str]:
    """Write a lost ledger anew into a file beside `path`, in the current folder or among temporary files.

    read: its blocks; None for each that cannot be read. Returns whether they were saved, and where and how to
    go on, in words.
    """
    reason = ""
    for find_folder in (lambda: path.parent, Path.cwd, lambda: Path(tempfile.gettempdir())):
        try:
            refuge = _create_refuge(find_folder(), path)
        except OSError as error:
            reason = str(error.strerror)
            continue
        try:
            saved, lost = _write_ledger(refuge, head, read())
        except sqlite3.Error as error:
            reason = str(error)
            refuge.unlink(missing_ok=True)
            continue
        blocks = f"{saved:,} blocks" + (f" of {saved + lost:,}" if lost else "")
        again = f"run arena runs resume {shlex.quote(str(refuge))}{' --key FILE' if head.seal.key else ''}"
        if not head.read_notes().get("command"):
            again = "give that file as the ledger of the same run"
        return True, f"{blocks} were saved in {refuge}. The figures so far are right; to go on, {again}."
    return (
        False,
        f"its blocks could not be saved ({reason}). Give the same command again, with another ledger.",
    )


def _write_ledger(path: Path, head: Head, rows: Iterable[Row | None]) -> tuple[int, int]:
    """Make an empty file a ledger; the number of blocks in it, and of those that could not be read."""
    saved = lost = 0
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        create(connection, head.plan.decode(), head.notes.decode(), head.seal)
        with transaction(connection):
            for row in rows:
                if row is None:
                    lost += 1
                    continue
                connection.execute(
                    "INSERT INTO blocks VALUES (?, ?, ?, ?)", (*row, head.checksum_block(*row))
                )
                saved += 1
    return saved, lost


def _create_refuge(folder: Path, path: Path) -> Path:
    number = 1
    while True:
        refuge = folder / f"{path.stem}-saved{'' if number == 1 else f'-{number}'}{path.suffix}"
        try:
            os.close(os.open(refuge, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            return refuge
        except FileExistsError:
            number += 1
