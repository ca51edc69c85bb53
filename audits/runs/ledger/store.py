"""The ledger of a run: its plan, notes, and the result of every finished block, in one SQLite file.

A run may be killed at any moment. The blocks that it had added are kept; the others are played again from the
plan, to the same counts. So a ledger needs no repair; it only has to detect damage.
"""

from __future__ import annotations

import operator
import os
import sqlite3
from abc import abstractmethod
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import attrs
import numpy as np

from arena.errors import InternalError, InvalidArgument
from audits.runs.ledger.connection import connect_exclusively
from audits.runs.ledger.copying import check_links, copy_ledger, resolve
from audits.runs.ledger.failures import (
    READABLE,
    LedgerFailed,
    LedgerLost,
    damage_error,
    explain_errors,
)
from audits.runs.ledger.losses import LedgerFiles, Row, save_rows
from audits.runs.ledger.origins import Origins, check_origins, drop_digests, join_origins, read_origins
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
from audits.runs.ledger.signatures import Seal, check_signable
from audits.runs.ledger.stored_plan import name_kind

_ROWS_AT_ONCE = 256
_LEAST_INDEX = -(2**63)  # that SQLite has


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

    Whatever is read is checked, since checksums only show damage: anybody can compute them.
    """

    kind: ClassVar[str]  # of its plans, as in `name_kind`

    @staticmethod
    @abstractmethod
    def decode(blob: bytes) -> BlockType:
        """The inverse of `to_bytes` of a result. Raises InvalidArgument if `blob` is no encoding."""

    @abstractmethod
    def find_fault(self, block: int, pairs: int, result: BlockType | None) -> str:
        """Why the plan has no block of this index, number of pairs and result (if it is given), in words."""

    def __init__(self, path: Path, connection: sqlite3.Connection, head: Head) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = connection
        self._head = head
        self._files: LedgerFiles | None = None  # of a run
        self._stored = array("q")  # indices of the blocks, of a run

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
        name, text, seal = Path(path), canonical(plan), Seal(key)
        file = resolve(name)
        check_links(name, file)
        with explain_errors(name, failure="the plan was not stored"):
            connection = connect_exclusively(file)
            try:
                if is_empty(connection):
                    create(connection, text, canonical(notes()), seal)
                ledger = cls(name, connection, read_head(connection, name, seal=seal))
                check_signable(name, ledger._head.signed, key)
                present = origins(recorded := read_origins(ledger.notes))
                if not allow_changes:
                    check_origins(name, recorded, present)
                ledger.check_plan(plan, allow_changes=allow_changes)
                ledger.check_blocks()
                ledger._head = migrate(connection, ledger._head, ledger._rows)
                ledger.record_origins(present)
                # After this the file identifies itself as a ledger without its log.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                ledger._stored.extend(ledger.block_indices())
                ledger._files = LedgerFiles(file)
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
        reading would release the run's lock. check_all: check every block first; otherwise each is checked
        when it is read. key: with which it must be signed; without one, signatures are not checked.

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
                    raise InvalidArgument(
                        f"no run was begun in {file}: it is empty, as a run leaves it that is killed while "
                        "it makes its ledger",
                        remedy=f"To begin, give the arena audit command again, with --ledger {file}.",
                    )
                ledger = cls(file, connection, read_head(connection, file, READABLE, seal=Seal(key)))
                ledger._check_kind(cls.kind)
                if check_all:
                    ledger.check_blocks()
                yield ledger

    def _check_kind(self, expected: str) -> None:
        kind, command = name_kind(self.plan)
        if kind and expected and kind != expected:
            raise InvalidArgument(
                f"the ledger {self.path} contains {kind}, not {expected}",
                remedy=f"To resume it, give it to the same {command} again.",
            )

    def check_plan(self, plan: Mapping[str, object], *, allow_changes: bool = False) -> None:
        """Check that the ledger holds this plan. allow_changes: digests of code and data may differ.

        Raises: InvalidArgument, with the differences.
        """
        self._check_kind(name_kind(plan)[0])
        unnamed = self._head.find_unnamed_players()
        if unnamed:
            raise InvalidArgument(
                f"the ledger {self.path} of an older dp-arena does not name its players, only their classes "
                f"({', '.join(unnamed)}), so its plan cannot be compared",
                remedy="Finish the run with the dp-arena that wrote it; arena runs report and export "
                "read it.",
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
        """Raises: InvalidArgument if a block does not match its checksum, or the plan."""
        for _ in self.blocks():
            pass

    @property
    def plan(self) -> dict[str, Any]:
        """The entries of the plan, as JSON returns them."""
        return self._head.read_plan()

    @property
    def notes(self) -> dict[str, Any]:
        """The entries of the notes, as JSON returns them."""
        return self._head.read_notes()

    @property
    def signed(self) -> bool:
        """Whether its checksums have signatures."""
        return self._head.signed

    def blocks(self, *, start: int = _LEAST_INDEX) -> Iterator[tuple[int, BlockType]]:
        """Index and result of every block from index `start` on, in order, also of blocks added meanwhile.

        Raises: InvalidArgument if a block does not match its checksum, or the plan; LedgerLost.
        """
        with self._explain_errors("the blocks were not read"):
            for block, pairs, scores in self._rows(start):
                yield block, self._decode(block, pairs, scores)

    def block(self, index: int) -> BlockType:
        """The result of block `index`.

        Raises: KeyError if the ledger lacks it; InvalidArgument if it does not match its checksum, or the
        plan; LedgerLost.
        """
        with self._explain_errors("the block was not read"):
            row = self._row(index)
            if row is None:
                raise KeyError(index)
            return self._decode(*row)

    def block_indices(self) -> set[int]:
        """The indices of the blocks in the ledger. Raises: InvalidArgument if the plan has no such block."""
        return {block for block, _ in self._sizes()}

    def count_pairs(self) -> int:
        """The number of pairs of games in all blocks together. Raises: as `block_indices`."""
        return sum(pairs for _, pairs in self._sizes())

    def add(self, index: int, result: BlockType) -> None:
        """Store block `index` in one transaction; once this returns, killing the process does not lose it.

        Adding a block again changes nothing. Raises: InternalError if it then differs from the stored one;
        LedgerFull or LedgerFailed if the disk fails; LedgerLost if others deleted, replaced or truncated the
        ledger, after its content was saved elsewhere.
        """
        block = operator.index(index)
        if not 0 <= block < 2**63:
            raise InvalidArgument("the index of a block must be at least 0 and less than 2^63", value=index)
        self._check_not_lost()
        with (
            self._explain_errors(f"block {block} was not stored"),
            transaction(self._live) as connection,
        ):
            stored = self._row(block)
            if stored is None:
                scores = result.to_bytes()
                checksum = self._head.checksum_block(block, result.pairs, scores)
                connection.execute(
                    "INSERT INTO blocks VALUES (?, ?, ?, ?)", (block, result.pairs, scores, checksum)
                )
                self._stored.append(block)
            elif not equal_results(self._decode(*stored), result):
                raise InternalError(
                    f"block {block} of the ledger {self.path} was played again and its scores differ: "
                    "something in it does not follow from the plan and its seed"
                )
        if self._files is not None:
            self._files.remember()

    def close(self) -> None:
        """Move the log into the file and release the lock. Closing again does nothing. Raises: LedgerLost."""
        self._check_not_lost()
        if self._connection is not None:
            connection, self._connection = self._connection, None
            if self._files is None:
                connection.close()
            else:
                self._files.close(connection)

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

    def _rows(self, start: int = _LEAST_INDEX) -> Iterator[Row]:
        # Some indices at a time, because an open cursor would keep the log from being moved into the file.
        query = "SELECT block FROM blocks WHERE block >= ? ORDER BY block LIMIT ?"
        while indices := self._live.execute(query, (start, _ROWS_AT_ONCE)).fetchall():
            for (index,) in indices:
                row = self._row(index)
                if row is None:
                    raise damage_error(self.path, f"block {index} cannot be found")
                yield row
            start = indices[-1][0] + 1
            if len(indices) < _ROWS_AT_ONCE or start == 2**63:
                return

    def _row(self, index: int) -> Row | None:
        """Index, pairs and scores of a block that matches its checksum; None if there is none."""
        query = "SELECT block, pairs, scores, sha256 FROM blocks WHERE block = ?"
        row = self._live.execute(query, (index,)).fetchone()
        if row is None:
            return None
        block, pairs, scores, checksum = row
        if not isinstance(scores, bytes) or not self._head.is_intact(
            self.path, block, pairs, scores, checksum
        ):
            raise damage_error(self.path, f"block {block} does not match its checksum")
        return block, pairs, scores

    def _decode(self, block: int, pairs: int, scores: bytes) -> BlockType:
        fault = self.find_fault(block, pairs, None)
        try:
            result = self.decode(scores)
        except InvalidArgument as error:
            fault = fault or str(error)
        else:
            fault = fault or self.find_fault(block, pairs, result)
        if fault:
            raise damage_error(self.path, f"block {block} is none of its plan: {fault}")
        return result

    def _sizes(self) -> Iterator[tuple[int, int]]:
        """Index and number of pairs of every block, as the plan says."""
        with self._explain_errors("the blocks were not read"):
            for block, pairs in self._live.execute("SELECT block, pairs FROM blocks"):
                fault = self.find_fault(block, pairs, None)
                if fault:
                    raise damage_error(self.path, f"block {block} is none of its plan: {fault}")
                yield block, pairs

    @contextmanager
    def _explain_errors(self, failure: str) -> Iterator[None]:
        """Explain errors of SQLite; if the files were lost meanwhile, save what can be read."""
        try:
            with explain_errors(self.path, failure=failure, was_writable=self._files is not None):
                yield
        except (LedgerFailed, InvalidArgument):
            self._check_not_lost()
            raise

    def _check_not_lost(self) -> None:
        """Raises: LedgerLost if others did something to the files, after the content was saved elsewhere."""
        if self._files is None or self._connection is None:
            return
        loss = self._files.find_loss()
        if loss:
            saved, text = save_rows(self._files.path, self._head, lambda: map(self._try_row, self._stored))
            connection, self._connection = self._connection, None
            self._files.close(connection, saved=saved)
            raise LedgerLost(f"the ledger {self.path} {loss} while a run had it open: {text}")

    def _try_row(self, index: int) -> Row | None:
        """As `_row`, also None if the block cannot be read."""
        try:
            return self._row(index)
        except (sqlite3.Error, InvalidArgument):
            return None


def equal_results(one: Any, other: Any) -> bool:
    """Whether two results of a block are the same, bit for bit."""
    # Encodings are not compared: releases of zlib may compress differently. Nor are fields that do not count
    # in equality, such as durations.
    names = [field.name for field in attrs.fields(type(one)) if field.eq]
    return type(one) is type(other) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in names
    )
