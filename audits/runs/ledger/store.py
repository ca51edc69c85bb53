"""The ledger of a run: its plan, notes, and the result of every finished block, in one SQLite file.

A run may be killed at any moment. The blocks that it had added are kept; the others are played again from the
plan, to the same counts. So a ledger needs no repair; it only has to detect damage.
"""

from __future__ import annotations

import operator
import os
import sqlite3
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, Protocol, Self, TypeVar

import attrs
import numpy as np

from arena.errors import InternalError, InvalidArgument
from audits.distinguishers.view_features import Block, decode_block
from audits.runs.ledger.copying import LOG_PAGES, copy_ledger
from audits.runs.ledger.failures import READABLE, damage_error, error_code, explain_errors
from audits.runs.ledger.origins import (
    Origins,
    check_origins,
    drop_digests,
    join_origins,
    read_origins,
)
from audits.runs.ledger.schema import (
    Head,
    canonical,
    create,
    describe_differences,
    is_empty,
    migrate,
    read_head,
    replace_notes,
    transaction,
)
from audits.runs.ledger.signatures import Seal

_ROWS_AT_ONCE = 256


class Storable(Protocol):
    """The result of a block: an attrs record of arrays and numbers that can be encoded."""

    @property
    def pairs(self) -> int: ...

    def to_bytes(self) -> bytes: ...


BlockType = TypeVar("BlockType", bound=Storable)


class Store(Generic[BlockType]):
    """The plan of a run and the results of its blocks, which subclasses decode. Use `open` or `read`.

    Only one run at a time: the file is locked until `close`, or until the process ends, in whatever way.
    Only one thread: the one that opened it.
    """

    @staticmethod
    @abstractmethod
    def decode(blob: bytes) -> BlockType:
        """The inverse of `to_bytes` of a result. Raises InvalidArgument if `blob` is no encoding."""

    def __init__(self, path: Path, connection: sqlite3.Connection, head: Head) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = connection
        self._head = head

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        plan: Mapping[str, object],
        *,
        notes: Callable[[], Mapping[str, object]] = dict,
        origins: Callable[[Origins], Origins] = lambda recorded: recorded,
        allow_changes: bool = False,
        key: bytes | None = None,
    ) -> Self:
        """Open the ledger at `path` for `plan`, after comparing every block with its checksum.

        A missing or empty file becomes a new ledger; one of an older schema is migrated to the present one.
        plan: entries that JSON can hold (a tuple counts as a list), nested mappings included.
        notes: called for such entries if the ledger is new; an existing ledger keeps its notes.
        origins: the present digests and versions, given the recorded ones; they join the notes.
        allow_changes: these and the digests in the plan may differ from what the ledger holds. key: signs it.

        Raises: InvalidArgument if the ledger holds another plan, is in use, is damaged, was written by a
        newer version or with another key, is not a ledger, or cannot be written; LedgerFull or LedgerFailed
        if the disk fails.
        """
        file, text, seal = Path(path), canonical(plan), Seal(key)
        with explain_errors(file, failure="the plan was not stored"):
            connection = _connect_exclusively(file)
            try:
                if is_empty(connection):
                    create(connection, text, canonical(notes()), seal)
                ledger = cls(file, connection, read_head(connection, file, seal=seal))
                if ledger._head.signed and key is None:
                    raise InvalidArgument(
                        f"the ledger {file} is signed, so only blocks with signatures can be added",
                        remedy="Give the key with which it was begun: --key FILE.",
                    )
                recorded = read_origins(ledger.notes)
                present = origins(recorded)
                if not allow_changes:
                    check_origins(file, recorded, present)
                ledger.check_plan(plan, allow_changes=allow_changes)
                ledger.check_blocks()
                ledger._head = migrate(connection, ledger._head, ledger._rows)
                ledger.record_origins(present)
                # After this the file identifies itself as a ledger without its log.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                return ledger
            except BaseException:
                connection.close()
                raise

    @classmethod
    @contextmanager
    def read(
        cls, path: str | os.PathLike[str], *, check_all: bool = True, key: bytes | None = None
    ) -> Iterator[Self]:
        """The present contents of the ledger at `path`, whatever its plan: a copy, deleted at the end.

        The file and its log are only read, so a run in another process may go on; in the same process,
        reading would release the run's lock. check_all: compare every block with its checksum first;
        otherwise each is checked when it is read. key: with which it must be signed; signatures are not
        checked without one.

        Raises: InvalidArgument if it cannot be read, is damaged, was written by a newer version, or is not a
        ledger; LedgerFull or LedgerFailed if there is no room for the copy.
        """
        file = Path(path)
        failure = "nothing was read"
        with TemporaryDirectory() as folder, explain_errors(file, failure=failure, expected=READABLE):
            copy = Path(folder, "copy")
            copy_ledger(file, copy)
            with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
                if is_empty(connection):
                    raise InvalidArgument(f"{file} is empty", remedy=f"Give the path of {READABLE}.")
                head = read_head(connection, file, READABLE, check_all=check_all, seal=Seal(key))
                ledger = cls(file, connection, head)
                if check_all:
                    ledger.check_blocks()
                yield ledger

    def check_plan(self, plan: Mapping[str, object], *, allow_changes: bool = False) -> None:
        """Check that the ledger holds this plan. allow_changes: digests of code and data may differ.

        Raises: InvalidArgument, with the differences.
        """
        unnamed = self._head.find_unnamed_players()
        if unnamed:
            raise InvalidArgument(
                f"the ledger {self.path} of an older dp-arena does not name its players, only their classes "
                f"({', '.join(unnamed)}), so its plan cannot be compared",
                remedy="Finish the run with the dp-arena that wrote it; arena report and export read it.",
            )
        old, new = (drop_digests(dict(p)) if allow_changes else p for p in (self.plan, plan))
        differences = describe_differences(old, new)
        if differences:
            raise InvalidArgument(
                f"the ledger {self.path} holds another plan: {differences}",
                remedy="Give the plan that the ledger holds, or the path of a new file.",
            )

    def record_origins(self, origins: Origins, *, replace: bool = False) -> None:
        """Add to the notes what they lack. replace: also what they hold otherwise."""
        recorded = read_origins(self.notes)
        joined = join_origins(origins, recorded) if replace else join_origins(recorded, origins)
        if joined != recorded:
            with explain_errors(self.path, failure="the notes were not stored", was_writable=True):
                self._head = replace_notes(self._live, self._head, {**self.notes, **joined})

    def check_blocks(self) -> None:
        """Raises: InvalidArgument if a block does not match its checksum."""
        for _ in self._rows():
            pass

    @property
    def plan(self) -> dict[str, Any]:
        """The entries of the plan, as JSON returns them."""
        return self._head.read_plan()

    @property
    def notes(self) -> dict[str, Any]:
        """The entries of the notes, as JSON returns them."""
        return self._head.read_notes()

    def blocks(self, *, start: int = 0) -> Iterator[tuple[int, BlockType]]:
        """Index and result of every block from index `start` on, in order, also of blocks added meanwhile.

        Raises: InvalidArgument if a block does not match its checksum.
        """
        with explain_errors(self.path, failure="the blocks were not read"):
            for block, _, scores in self._rows(start):
                yield block, self.decode(scores)

    def block(self, index: int) -> BlockType:
        """The result of block `index`.

        Raises: KeyError if the ledger lacks it; InvalidArgument if it does not match its checksum.
        """
        query = "SELECT block, pairs, scores, sha256 FROM blocks WHERE block = ?"
        with explain_errors(self.path, failure="the block was not read"):
            row = self._live.execute(query, (index,)).fetchone()
            if row is None:
                raise KeyError(index)
            return self.decode(self._check_row(*row)[2])

    def block_indices(self) -> set[int]:
        """The indices of the blocks in the ledger."""
        with explain_errors(self.path, failure="the blocks were not read"):
            return {block for (block,) in self._live.execute("SELECT block FROM blocks")}

    def count_pairs(self) -> int:
        """The number of pairs of games in all blocks together."""
        with explain_errors(self.path, failure="the blocks were not read"):
            return int(self._live.execute("SELECT coalesce(sum(pairs), 0) FROM blocks").fetchone()[0])

    def add(self, index: int, result: BlockType) -> None:
        """Store block `index` in one transaction; once this returns, killing the process does not lose it.

        Adding a block again changes nothing. Raises: InternalError if it then differs from the stored one;
        LedgerFull or LedgerFailed if the disk fails.
        """
        block = operator.index(index)
        if not 0 <= block < 2**63:
            raise InvalidArgument("the index of a block must be at least 0 and less than 2^63", value=index)
        failure = f"block {block} was not stored"
        with (
            explain_errors(self.path, failure=failure, was_writable=True),
            transaction(self._live) as connection,
        ):
            stored = connection.execute("SELECT scores FROM blocks WHERE block = ?", (block,)).fetchone()
            if stored is None:
                scores = result.to_bytes()
                checksum = self._head.checksum_block(block, result.pairs, scores)
                connection.execute(
                    "INSERT INTO blocks VALUES (?, ?, ?, ?)", (block, result.pairs, scores, checksum)
                )
            elif not equal_results(self.decode(stored[0]), result):
                raise InternalError(
                    f"block {block} of the ledger {self.path} was played again and its scores differ: "
                    "something in it does not follow from the plan and its seed"
                )

    def close(self) -> None:
        """Move the log into the file and release the lock. Closing again does nothing."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def _live(self) -> sqlite3.Connection:
        if self._connection is None:
            raise InvalidArgument(
                f"the ledger {self.path} is closed", remedy="Open it again with Ledger.open."
            )
        return self._connection

    def _rows(self, start: int = -(2**63)) -> Iterator[tuple[int, int, bytes]]:
        # Some rows at a time, because an open cursor would keep the log from being moved into the file.
        query = "SELECT block, pairs, scores, sha256 FROM blocks WHERE block >= ? ORDER BY block LIMIT ?"
        while rows := self._live.execute(query, (start, _ROWS_AT_ONCE)).fetchall():
            for row in rows:
                yield self._check_row(*row)
            if len(rows) < _ROWS_AT_ONCE:
                return
            start = rows[-1][0] + 1

    def _check_row(self, block: int, pairs: int, scores: object, checksum: object) -> tuple[int, int, bytes]:
        intact = isinstance(scores, bytes) and self._head.is_intact(self.path, block, pairs, scores, checksum)
        if not isinstance(scores, bytes) or not intact:
            raise damage_error(self.path, f"block {block} does not match its checksum")
        return block, pairs, scores


class Ledger(Store[Block]):
    """The ledger of an audit: blocks of games."""

    decode = staticmethod(decode_block)


def _connect_exclusively(path: Path, tries: int = 5) -> sqlite3.Connection:
    """A connection with SQLite's own lock, which ends with the process and is not inherited by children."""
    # Two processes that open the file at once can refuse each other: each tries again after its own delay.
    connection = sqlite3.connect(path.absolute(), isolation_level=None, timeout=0)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        # A commit is written before `add` returns, so a killed process loses no block. A power cut may lose
        # the latest, which are then played again: waiting for the disk after each block would gain nothing.
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
        return connection
    except BaseException as error:
        connection.close()
        if tries == 1 or error_code(error) != sqlite3.SQLITE_BUSY:
            raise
    time.sleep(0.002 * (1 + os.getpid() % 16))
    return _connect_exclusively(path, tries - 1)


def equal_results(one: Any, other: Any) -> bool:
    """Whether two results of a block are the same, bit for bit."""
    # Encodings are not compared: releases of zlib may compress differently.
    names = [field.name for field in attrs.fields(type(one))]
    return type(one) is type(other) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in names
    )
