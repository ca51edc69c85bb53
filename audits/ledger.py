"""The ledger of a run: its plan, notes on it, and the result of every block, in one SQLite file.

A run may be killed at any moment. What it had added is kept; what it had not is played again from the plan,
to the same counts. So a ledger needs no repair, only to notice when it is not what it should be.

The notes are for readers who do not have the players: what a report says of them. No figure depends on them.
"""

from __future__ import annotations

import errno
import hashlib
import json
import operator
import os
import shutil
import sqlite3
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

import attrs
import numpy as np

from arena.errors import ArenaError, InternalError, InvalidArgument
from audits.views import Block, decoded

APPLICATION_ID = 0x64704C67  # "dpLg", in the header of the file
SCHEMA_VERSION = 2  # to be raised whenever the tables, the checksum or the encoding of the scores changes

_TABLES = {
    "blocks": "CREATE TABLE blocks (block INTEGER PRIMARY KEY, pairs INTEGER NOT NULL, scores BLOB NOT NULL,"
    " sha256 BLOB NOT NULL)",
    "notes": "CREATE TABLE notes (json TEXT NOT NULL, sha256 BLOB NOT NULL)",
    "plan": "CREATE TABLE plan (json TEXT NOT NULL, sha256 BLOB NOT NULL)",
}
_BATCH = 256
_HEAD_OF_LOG = 32  # bytes, which hold the log's salts
_UNREADABLE = "its text cannot be read"
_OPENED, _READ = "a ledger or a new file", "a ledger"  # what a path should have been of
_RESUME = "run the same plan again: it goes on from there."


class LedgerFailed(ArenaError):
    """The disk did not do what the ledger asked of it. The blocks added before are safe."""


class LedgerFull(LedgerFailed):
    """The disk is full. The blocks added before are safe."""


class Result(Protocol):
    """What a block left behind: an attrs record of arrays and numbers that is stored as bytes."""

    @property
    def pairs(self) -> int:
        """How many plays it counts."""

    def to_bytes(self) -> bytes:
        """Its encoding."""


Kept = TypeVar("Kept", bound=Result)


class Store(Generic[Kept]):
    """The plan of one run and the results of its blocks. Open it with `open`; subclasses say what it keeps.

    One run at a time: the file is locked until `close`, or until the process ends, however it ends.
    One thread at a time: the one that opened it.
    """

    @staticmethod
    @abstractmethod
    def decoded(blob: bytes) -> Kept:
        """The result that `to_bytes` made; raises InvalidArgument on anything else."""

    def __init__(self, path: Path, connection: sqlite3.Connection, plan: bytes, notes: bytes) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = connection
        self._plan, self._notes = plan, notes
        self._of_plan = hashlib.sha256(plan).hexdigest()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        plan: Mapping[str, object],
        *,
        notes: Callable[[], Mapping[str, object]] = dict,
    ) -> Self:
        """The ledger at `path`, for `plan`; a missing or empty file becomes a new ledger.

        plan: entries of whatever JSON can hold (a tuple counts as a list), mappings within mappings included.
        notes: called where a ledger is new, for such entries; of one that is there, its own stay.
        Every block is checked against its checksum before the ledger is handed out.

        Raises: InvalidArgument if the ledger holds another plan, is in use, is damaged, was written by a
        newer version, is not a ledger, or cannot be written; LedgerFull or LedgerFailed if the disk fails.
        """
        where, text = Path(path), _canonical(plan)
        with _explained(where, lost="the plan was not stored"):
            connection = _claimed(where)
            try:
                if _fresh(connection):
                    _create(connection, text, _canonical(notes()))
                stored = _stored(connection, where)
                if stored[0] != text.encode():
                    raise InvalidArgument(
                        f"the ledger {where} holds another plan: {_differences(stored[0], text)}",
                        remedy="Give the plan that the ledger holds, or the path of a new file.",
                    )
                return cls._whole(where, connection, *stored)
            except BaseException:
                connection.close()
                raise

    @classmethod
    @contextmanager
    def read(cls, path: str | os.PathLike[str]) -> Iterator[Self]:
        """What the ledger at `path` holds now, whatever its plan: a copy, gone at the end of the block.

        The file and what lies beside it are only read, so that it may lie where nothing can be written, and
        a run in another process may go on with it. (In the process that has it open, reading it would undo
        its lock.)

        Raises: InvalidArgument if it cannot be read, is damaged, was written by a newer version, or is not a
        ledger; LedgerFull or LedgerFailed if there is no room for the copy.
        """
        where = Path(path)
        with TemporaryDirectory() as folder, _explained(where, lost="nothing was read", wanted=_READ):
            copy = Path(folder, "copy")
            _copy(where, copy)
            with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
                if _fresh(connection):
                    raise InvalidArgument(f"{where} is empty", remedy=f"Give the path of {_READ}.")
                yield cls._whole(where, connection, *_stored(connection, where, _READ))

    @classmethod
    def _whole(cls, path: Path, connection: sqlite3.Connection, plan: bytes, notes: bytes) -> Self:
        """A ledger of which every block has been checked."""
        ledger = cls(path, connection, plan, notes)
        for _ in ledger._rows():
            pass
        return ledger

    @property
    def plan(self) -> dict[str, Any]:
        """The entries of the plan, as JSON gives them back."""
        return dict(json.loads(self._plan))

    @property
    def notes(self) -> dict[str, Any]:
        """The entries of the notes, as JSON gives them back."""
        return dict(json.loads(self._notes))

    def blocks(self) -> Iterator[tuple[int, Kept]]:
        """Every block with its index, in the order of the indices. Blocks may be added meanwhile.

        Raises: InvalidArgument if a block does not match its checksum.
        """
        with _explained(self.path, lost="the blocks were not read"):
            for block, scores in self._rows():
                yield block, self.decoded(scores)

    def have(self) -> set[int]:
        """The indices of the blocks that need not be played again."""
        with _explained(self.path, lost="the blocks were not read"):
            return {block for (block,) in self._live.execute("SELECT block FROM blocks")}

    def add(self, index: int, counts: Kept) -> None:
        """Store block `index`, at once and whole; once this returns, killing the process does not lose it.

        Adding a block again changes nothing. Raises: InternalError if it then differs from the one that is
        there; LedgerFull or LedgerFailed if the disk did not take it.
        """
        block = operator.index(index)
        if not 0 <= block < 2**63:
            raise InvalidArgument("the index of a block must be at least 0 and less than 2^63", value=index)
        lost = f"block {block} was not stored"
        with _explained(self.path, lost=lost), _transaction(self._live) as connection:
            found = connection.execute("SELECT scores FROM blocks WHERE block = ?", (block,)).fetchone()
            if found is None:
                scores = counts.to_bytes()
                row = (block, counts.pairs, scores, self._checksum(block, counts.pairs, scores))
                connection.execute("INSERT INTO blocks VALUES (?, ?, ?, ?)", row)
            elif not _same(self.decoded(found[0]), counts):
                raise InternalError(
                    f"block {block} of the ledger {self.path} was played again and its scores differ: "
                    "something in it does not follow from the plan and its seed"
                )

    def close(self) -> None:
        """Fold the log into the file and let go of the lock. Closing again does nothing."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def _live(self) -> sqlite3.Connection:
        if self._connection is None:
            raise InvalidArgument(
                f"the ledger {self.path} is closed", remedy="Open it again with Ledger.open."
            )
        return self._connection

    def _rows(self) -> Iterator[tuple[int, bytes]]:
        # In batches, because a cursor left open would keep the log from being folded into the file.
        query = "SELECT block, pairs, scores, sha256 FROM blocks WHERE block > ? ORDER BY block LIMIT ?"
        last = -(2**63)
        while rows := self._live.execute(query, (last, _BATCH)).fetchall():
            for block, pairs, scores, checksum in rows:
                if not isinstance(scores, bytes) or checksum != self._checksum(block, pairs, scores):
                    raise _damaged(self.path, f"block {block} does not match its checksum")
                yield block, scores
                last = block

    def _checksum(self, block: int, pairs: int, scores: bytes) -> bytes:
        # With the plan, so that a block cannot be carried into another run's ledger.
        head = f"{self._of_plan} {block} {pairs} ".encode()
        return hashlib.sha256(head + scores).digest()


class Ledger(Store[Block]):
    """The ledger of an audit: blocks of games."""

    @staticmethod
    def decoded(blob: bytes) -> Block:
        return decoded(blob)


def _claimed(path: Path, tries: int = 5) -> sqlite3.Connection:
    """A connection that holds the file alone.

    The lock is SQLite's own: it leaves no file behind, ends with the process, and no child inherits it. Two
    that open the same file at the same instant can refuse each other, hence the tries, spaced by process.
    """
    connection = sqlite3.connect(path.absolute(), isolation_level=None, timeout=0)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        # A commit is written before `add` returns, so a killed process loses none. Only a power cut may take
        # the latest, which are then played again: to wait for the disk each time would buy nothing.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
        return connection
    except BaseException as error:
        connection.close()
        if tries == 1 or _code(error) != sqlite3.SQLITE_BUSY:
            raise
    time.sleep(0.002 * (1 + os.getpid() % 16))
    return _claimed(path, tries - 1)


def _fresh(connection: sqlite3.Connection) -> bool:
    tables = _one(connection, "SELECT count(*) FROM sqlite_master")
    return not (
        tables or _one(connection, "PRAGMA application_id") or _one(connection, "PRAGMA user_version")
    )


def _create(connection: sqlite3.Connection, plan: str, notes: str) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    with _transaction(connection):
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        for table in _TABLES.values():
            connection.execute(table)
        connection.execute("INSERT INTO plan VALUES (?, ?)", (plan, hashlib.sha256(plan.encode()).digest()))
        checksum = _checksum_of_notes(plan.encode(), notes.encode())
        connection.execute("INSERT INTO notes VALUES (?, ?)", (notes, checksum))


def _stored(connection: sqlite3.Connection, path: Path, wanted: str = _OPENED) -> tuple[bytes, bytes]:
    """The plan and the notes. A file that is not a sound ledger is refused."""
    if _one(connection, "PRAGMA application_id") != APPLICATION_ID:
        raise InvalidArgument(
            f"{path} is an SQLite database, but not a ledger", remedy=f"Give the path of {wanted}."
        )
    version = _one(connection, "PRAGMA user_version")
    if version > SCHEMA_VERSION:
        raise InvalidArgument(
            f"the ledger {path} has schema {version}; this dp-arena reads schema {SCHEMA_VERSION}",
            remedy="Use the newer dp-arena that wrote it.",
        )
    tables = dict(connection.execute("SELECT name, sql FROM sqlite_master"))
    if version != SCHEMA_VERSION or tables != _TABLES:
        raise _damaged(path, "its tables are not a ledger's")
    fault = _one(connection, "PRAGMA quick_check(1)")
    if fault != "ok":
        raise _damaged(path, " ".join(str(fault).split()))
    plan, checksum = _only_row(connection, path, "plan")
    if checksum != hashlib.sha256(plan).digest():
        raise _damaged(path, "its plan does not match its checksum")
    notes, checksum = _only_row(connection, path, "notes")
    if checksum != _checksum_of_notes(plan, notes):
        raise _damaged(path, "its notes do not match their checksum")
    return plan, notes


def _only_row(connection: sqlite3.Connection, path: Path, table: str) -> tuple[bytes, bytes]:
    rows = connection.execute(f"SELECT CAST(json AS BLOB), sha256 FROM {table}").fetchall()
    if len(rows) != 1:
        raise _damaged(path, f"it holds {len(rows)} rows of its {table}, not one")
    return rows[0][0], rows[0][1]


def _checksum_of_notes(plan: bytes, notes: bytes) -> bytes:
    # With the plan, so that notes cannot be carried into another run's ledger.
    return hashlib.sha256(hashlib.sha256(plan).digest() + notes).digest()


def _copy(path: Path, copy: Path, tries: int = 20) -> None:
    """Copy a ledger with its log as they are at one moment, though a run may be writing to them.

    The file changes only by taking over from its log what the log holds. So a copy of the file and then of
    the log is whole if the log was not begun anew meanwhile, which its head would show.
    """
    if not path.is_file():
        what = "it is a directory" if path.is_dir() else "there is no such file"
        raise InvalidArgument(
            f"the ledger {path} cannot be read: {what}", remedy=f"Give the path of {_READ}."
        )
    log, copied = path.with_name(f"{path.name}-wal"), copy.with_name(f"{copy.name}-wal")
    try:
        before = _head(log), path.stat().st_mtime_ns
        shutil.copyfile(path, copy)
        copied.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            shutil.copyfile(log, copied)
        whole = _head(copied) == before[0] and (before[0] or path.stat().st_mtime_ns == before[1])
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise LedgerFull(
                f"there is no room to read the ledger {path} by way of {copy.parent}. Free space."
            ) from error
        raise InvalidArgument(
            f"the ledger {path} cannot be read ({error.strerror})", remedy="Give one that can be read."
        ) from error
    if whole or tries == 1:
        return
    time.sleep(0.01)
    _copy(path, copy, tries - 1)


def _head(log: Path) -> bytes:
    """What changes whenever a log is begun anew; nothing where there is no log."""
    try:
        with log.open("rb") as file:
            return file.read(_HEAD_OF_LOG)
    except FileNotFoundError:
        return b""


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def _explained(path: Path, *, lost: str, wanted: str = _OPENED) -> Iterator[None]:
    """Say what SQLite's refusals mean for the user of the ledger at `path`."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.Error as error:
        raise _refusal(path, error, lost, wanted) from error
    except UnicodeDecodeError as error:  # sqlite3 could not even read SQLite's message, which quotes the file
        raise _damaged(path, _UNREADABLE) from error


def _refusal(path: Path, error: sqlite3.Error, lost: str, wanted: str) -> ArenaError:
    code, locks = _code(error), getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_IOERR_LOCK
    safe = f"{lost}, every block added before is safe"
    if code == sqlite3.SQLITE_FULL:
        return LedgerFull(f"the disk of the ledger {path} is full: {safe}. Free space and {_RESUME}")
    if code == sqlite3.SQLITE_IOERR and not locks:
        return LedgerFailed(f"the disk of the ledger {path} failed ({error}): {safe}. Mend it and {_RESUME}")
    if code == sqlite3.SQLITE_BUSY:
        return InvalidArgument(
            f"the ledger {path} is in use by another run", remedy="Wait until it ends, or give another path."
        )
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) or locks:
        return InvalidArgument(
            f"the ledger {path} cannot be written: {_obstacle(path)}",
            remedy="Give a path that can be written.",
        )
    if code == sqlite3.SQLITE_NOTADB:
        return InvalidArgument(
            f"{path} is not a ledger, or the head of one that is damaged",
            remedy=f"Give the path of {wanted}.",
        )
    what = str(error)
    return _damaged(path, what if what.isascii() and what.isprintable() else _UNREADABLE)


def _code(error: BaseException) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF  # the higher bits only say where


def _obstacle(path: Path) -> str:
    if os.path.isdir(path):
        return "it is a directory"
    if not os.path.isdir(path.absolute().parent):
        return "its directory does not exist"
    return "the file or its directory is read-only, or lies where files cannot be locked"


def _damaged(path: Path, what: str) -> InvalidArgument:
    return InvalidArgument(
        f"the ledger {path} is damaged: {what}",
        remedy=f"Restore a copy, or remove it and any {path.name}-wal beside it to play every block again.",
    )


def _one(connection: sqlite3.Connection, query: str) -> Any:
    return connection.execute(query).fetchone()[0]


def _same(one: Any, other: Any) -> bool:
    # Not by their bytes: those may differ between releases of zlib.
    fields = [field.name for field in attrs.fields(type(one))]
    return type(one) is type(other) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in fields
    )


def _canonical(plan: Mapping[str, object]) -> str:
    for name, value in plan.items():
        try:
            json.dumps(value, sort_keys=True)
        except (TypeError, ValueError) as error:
            raise InvalidArgument(
                f"entry {name!r} of a plan must be what JSON can hold ({error})",
                value=value,
                remedy="Write it as text, numbers, lists and mappings.",
            ) from None
    return json.dumps(dict(plan), sort_keys=True, separators=(",", ":"))


def _differences(old: bytes, new: str) -> str:
    before, after = _leaves(json.loads(old)), _leaves(json.loads(new))
    changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return "; ".join(
        f"{'.'.join(name)}: {before.get(name, 'absent')} -> {after.get(name, 'absent')}" for name in changed
    )


def _leaves(plan: dict[str, Any], above: tuple[str, ...] = ()) -> dict[tuple[str, ...], str]:
    leaves: dict[tuple[str, ...], str] = {}
    for name, value in plan.items():
        if isinstance(value, dict) and value:
            leaves |= _leaves(value, (*above, name))
        else:
            leaves[(*above, name)] = json.dumps(value, ensure_ascii=False)
    return leaves
