"""The ledger of a run: its plan, notes on it, and the result of every block, in one SQLite file.

A run may be killed at any moment. What it had added is kept; what it had not is played again from the plan,
to the same counts. So a ledger needs no repair, only to notice when it is not what it should be.

The notes are for readers who do not have the players: what a report says of them. No figure depends on them.
"""

from __future__ import annotations

import hashlib
import json
import operator
import os
import sqlite3
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

import attrs
import numpy as np

from arena.errors import InternalError, InvalidArgument
from audits.distinguishers.view_features import Block, decode_block
from audits.runs.ledger.copying import LOG_PAGES, copy_ledger
from audits.runs.ledger.failures import READ, code, damaged, explained
from audits.runs.ledger.schema import (
    Head,
    canonical,
    create,
    differences,
    fresh,
    migrate,
    stored,
    transaction,
)

_BATCH = 256


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

    def __init__(self, path: Path, connection: sqlite3.Connection, head: Head) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = connection
        self._head = head
        self._of_plan = hashlib.sha256(head.plan).hexdigest()

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        plan: Mapping[str, object],
        *,
        notes: Callable[[], Mapping[str, object]] = dict,
    ) -> Self:
        """The ledger at `path`, for `plan`; a missing or empty file becomes a new ledger, and one of an older
        schema becomes one of the present schema.

        plan: entries of whatever JSON can hold (a tuple counts as a list), mappings within mappings included.
        notes: called where a ledger is new, for such entries; of one that is there, its own stay.
        Every block is checked against its checksum before the ledger is handed out.

        Raises: InvalidArgument if the ledger holds another plan, is in use, is damaged, was written by a
        newer version, is not a ledger, or cannot be written; LedgerFull or LedgerFailed if the disk fails.
        """
        where, text = Path(path), canonical(plan)
        with explained(where, lost="the plan was not stored"):
            connection = _claimed(where)
            try:
                if fresh(connection):
                    create(connection, text, canonical(notes()))
                head = stored(connection, where)
                ledger = cls(where, connection, head)
                ledger.check_plan(plan)
                ledger.check()
                migrate(connection, head)
                # So that the file itself, without its log, says what it is.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                return ledger
            except BaseException:
                connection.close()
                raise

    @classmethod
    @contextmanager
    def read(cls, path: str | os.PathLike[str], *, whole: bool = True) -> Iterator[Self]:
        """What the ledger at `path` holds now, whatever its plan: a copy, gone at the end of the block.

        The file and what lies beside it are only read, so that it may lie where nothing can be written, and
        a run in another process may go on with it. (In the process that has it open, reading it would undo
        its lock.)

        whole: check every block before the ledger is handed out; else each is checked when it is asked for.

        Raises: InvalidArgument if it cannot be read, is damaged, was written by a newer version, or is not a
        ledger; LedgerFull or LedgerFailed if there is no room for the copy.
        """
        where = Path(path)
        with TemporaryDirectory() as folder, explained(where, lost="nothing was read", wanted=READ):
            copy = Path(folder, "copy")
            copy_ledger(where, copy)
            with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
                if fresh(connection):
                    raise InvalidArgument(f"{where} is empty", remedy=f"Give the path of {READ}.")
                ledger = cls(where, connection, stored(connection, where, READ, whole=whole))
                if whole:
                    ledger.check()
                yield ledger

    def check_plan(self, plan: Mapping[str, object]) -> None:
        """Check that the ledger holds this plan. Raises: InvalidArgument, with the differences."""
        text = canonical(plan)
        if self._head.plan != text.encode():
            raise InvalidArgument(
                f"the ledger {self.path} holds another plan: {differences(self._head.plan, text)}",
                remedy="Give the plan that the ledger holds, or the path of a new file.",
            )

    def check(self) -> None:
        """Check every block. Raises: InvalidArgument if one does not match its checksum."""
        for _ in self._rows():
            pass

    @property
    def plan(self) -> dict[str, Any]:
        """The entries of the plan, as JSON gives them back."""
        return dict(json.loads(self._head.plan))

    @property
    def notes(self) -> dict[str, Any]:
        """The entries of the notes, as JSON gives them back."""
        return dict(json.loads(self._head.notes))

    def blocks(self, *, start: int = 0) -> Iterator[tuple[int, Kept]]:
        """Every block from `start` on with its index, in the order of the indices. Blocks may be added
        meanwhile.

        Raises: InvalidArgument if a block does not match its checksum.
        """
        with explained(self.path, lost="the blocks were not read"):
            for block, scores in self._rows(start):
                yield block, self.decoded(scores)

    def block(self, index: int) -> Kept:
        """Block `index`. Raises: KeyError if it is not there; InvalidArgument if its checksum is wrong."""
        query = "SELECT block, pairs, scores, sha256 FROM blocks WHERE block = ?"
        with explained(self.path, lost="the block was not read"):
            row = self._live.execute(query, (index,)).fetchone()
            if row is None:
                raise KeyError(index)
            return self.decoded(self._sound(*row))

    def have(self) -> set[int]:
        """The indices of the blocks that need not be played again."""
        with explained(self.path, lost="the blocks were not read"):
            return {block for (block,) in self._live.execute("SELECT block FROM blocks")}

    def pairs(self) -> int:
        """How many plays all blocks together count."""
        with explained(self.path, lost="the blocks were not read"):
            return int(self._live.execute("SELECT coalesce(sum(pairs), 0) FROM blocks").fetchone()[0])

    def add(self, index: int, counts: Kept) -> None:
        """Store block `index`, at once and whole; once this returns, killing the process does not lose it.

        Adding a block again changes nothing. Raises: InternalError if it then differs from the one that is
        there; LedgerFull or LedgerFailed if the disk did not take it.
        """
        block = operator.index(index)
        if not 0 <= block < 2**63:
            raise InvalidArgument("the index of a block must be at least 0 and less than 2^63", value=index)
        lost = f"block {block} was not stored"
        with explained(self.path, lost=lost, begun=True), transaction(self._live) as connection:
            found = connection.execute("SELECT scores FROM blocks WHERE block = ?", (block,)).fetchone()
            if found is None:
                scores = counts.to_bytes()
                row = (block, counts.pairs, scores, self._checksum(block, counts.pairs, scores))
                connection.execute("INSERT INTO blocks VALUES (?, ?, ?, ?)", row)
            elif not same(self.decoded(found[0]), counts):
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

    def _rows(self, start: int = -(2**63)) -> Iterator[tuple[int, bytes]]:
        # In batches, because a cursor left open would keep the log from being folded into the file.
        query = "SELECT block, pairs, scores, sha256 FROM blocks WHERE block >= ? ORDER BY block LIMIT ?"
        while rows := self._live.execute(query, (start, _BATCH)).fetchall():
            for row in rows:
                yield row[0], self._sound(*row)
            if len(rows) < _BATCH:
                return
            start = rows[-1][0] + 1

    def _sound(self, block: int, pairs: int, scores: object, checksum: object) -> bytes:
        """The scores of a row that is what it was."""
        if not isinstance(scores, bytes) or checksum != self._checksum(block, pairs, scores):
            raise damaged(self.path, f"block {block} does not match its checksum")
        return scores

    def _checksum(self, block: int, pairs: int, scores: bytes) -> bytes:
        # With the plan, so that a block cannot be carried into another run's ledger.
        head = f"{self._of_plan} {block} {pairs} ".encode()
        return hashlib.sha256(head + scores).digest()


class Ledger(Store[Block]):
    """The ledger of an audit: blocks of games."""

    @staticmethod
    def decoded(blob: bytes) -> Block:
        return decode_block(blob)


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
        connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
        return connection
    except BaseException as error:
        connection.close()
        if tries == 1 or code(error) != sqlite3.SQLITE_BUSY:
            raise
    time.sleep(0.002 * (1 + os.getpid() % 16))
    return _claimed(path, tries - 1)


def same(one: Any, other: Any) -> bool:
    """Whether two results of a block are the same, to the bit."""
    # Not by their bytes: those may differ between releases of zlib.
    fields = [field.name for field in attrs.fields(type(one))]
    return type(one) is type(other) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in fields
    )
