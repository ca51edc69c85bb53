"""The ledger of a run: its plan, notes, and the result of every finished block, in one SQLite file.

A run may be killed at any moment. The blocks that it had added are kept; the others are played again from the
plan, to the same counts. So a ledger needs no repair; it only has to detect damage.
"""

from __future__ import annotations

import os
import sqlite3
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Generic, Protocol, Self, TypeVar

import attrs
import numpy as np

from arena.errors import ArenaError, InternalError, InvalidArgument
from audits.distinguishers.view_features import Block, ViewCounts, decode_block
from audits.registry.origins import Origins, check_origins, join_origins, read_origins
from audits.runs.block_sizes import BlockSizes
from audits.runs.ledger.schema import (
    LOG_PAGES,
    Seal,
    copy_ledger,
    create,
    damage_error,
    describe_differences,
    find_obstacle,
    is_empty,
    not_a_ledger,
    read_head,
    seal_notes,
)
from audits.runs.verdict import RunStopped

_TRIES = 5  # to open a ledger that another process has opened at the same instant


class LedgerFailed(RunStopped):
    """The disk is full or failed, or the file is gone. The blocks that were added before are safe."""


class Storable(Protocol):
    """The result of a block: an attrs record of arrays and numbers that can be encoded."""

    @property
    def pairs(self) -> int: ...

    def to_bytes(self) -> bytes: ...


BlockType = TypeVar("BlockType", bound=Storable)


class Store(Generic[BlockType]):
    """The plan of a run and the results of its blocks, which subclasses decode. Use `open` or `read`.

    It is for one run, since the file is locked until `close` or the end of the process, and for the thread
    that opened it. Whatever is read is checked, since anybody can compute checksums.
    """

    @abstractmethod
    def decode(self, blob: bytes) -> BlockType:
        """The inverse of `to_bytes` of a result. Raises InvalidArgument unless it can be one of the plan."""

    @property
    def sizes(self) -> Any:
        """The number of pairs of each block of the plan, as a sequence; None if the plan does not say so."""

    def __init__(self, path: Path, connection: sqlite3.Connection, seal: Seal) -> None:
        self.path, self._seal = path, seal
        self.plan, self.notes, self._digest, self.signed = read_head(connection, path, seal)
        self._connection: sqlite3.Connection | None = connection
        self._file: tuple[Path, os.stat_result] | None = None  # of a run

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
        """Open the ledger at `path` for `plan`, after checking every block. A missing file becomes a new one.

        notes: called if the ledger is new. origins: the present digests and versions, given the recorded
        ones; they join the notes. allow_changes: these and the digests in the plan may differ from what the
        ledger holds. key: signs it.

        Raises: InvalidArgument if the ledger is unfit, in use, or holds another plan; LedgerFailed.
        """
        name, file, seal = Path(path), Path(os.path.realpath(path)), Seal(key)
        if name.exists() and not name.is_file():
            raise _cannot_write(name)
        with explain_errors(name, "the plan was not stored"):
            connection = _connect_exclusively(file)
            try:
                if is_empty(connection):
                    create(connection, plan, notes(), seal)
                ledger = cls(name, connection, seal)
                if ledger.signed and key is None:
                    raise InvalidArgument(
                        f"the ledger {path} is signed, so only blocks with signatures can be added",
                        remedy="Give the key with which it was begun: --key FILE.",
                    )
                present = origins(recorded := read_origins(ledger.notes))
                if not allow_changes:
                    check_origins(name, recorded, present)
                ledger.check_plan(plan, allow_changes=allow_changes)
                ledger.check_blocks()
                ledger.record_origins(present)
                # After this the file identifies itself as a ledger without its log.
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                ledger._file = file, file.stat()
                return ledger
            except BaseException:
                connection.close()
                raise

    @classmethod
    @contextmanager
    def read(cls, path: str | os.PathLike[str], *, key: bytes | None = None) -> Iterator[Self]:
        """The present contents of the ledger at `path`, whatever its plan: a copy, deleted at the end.

        A run in another process may go on; in the same process, reading would release the run's lock.
        """
        file = Path(path)
        with TemporaryDirectory() as folder, explain_errors(file, "nothing was read"):
            copy = Path(folder, "copy")
            copy_ledger(file, copy)
            with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
                yield cls(file, connection, Seal(key))

    def check_plan(self, plan: Mapping[str, object], *, allow_changes: bool = False) -> None:
        """Raises InvalidArgument if it holds another plan. allow_changes: digests may differ."""
        stored, given = (
            next((f"a {kind}" for kind in ("tournament", "survey") if kind in one), "an audit")
            for one in (self.plan, plan)
        )
        if stored != given:
            raise InvalidArgument(
                f"the ledger {self.path} contains {stored}, not {given}",
                remedy=f"To resume it, give it to the same arena {stored.split()[1]} again.",
            )
        differences = describe_differences(self.plan, plan, digests=not allow_changes)
        if differences:
            raise InvalidArgument(
                f"the ledger {self.path} holds another plan: {differences}",
                remedy="Give the plan that the ledger holds, or the path of a new file.",
            )

    def check_blocks(self) -> None:
        """Raises: InvalidArgument if a block does not match its checksum, or the plan."""
        for _ in self.blocks():
            pass

    def record_origins(self, origins: Origins, *, replace: bool = False) -> None:
        """Add to the notes what they lack. replace: also what they hold otherwise."""
        recorded = read_origins(self.notes)
        joined = join_origins(origins, recorded) if replace else join_origins(recorded, origins)
        if joined != recorded:
            self.add_notes(joined)

    def add_notes(self, notes: Mapping[str, object]) -> None:
        """Add to the notes, or replace those of the same names."""
        self.notes = {**self.notes, **notes}
        row = seal_notes(self._digest, self.notes, self._seal)
        with self._explain_errors("the notes were not stored"):
            self._live.execute("UPDATE notes SET json = ?, sha256 = ?", row)

    def blocks(self, *, start: int = 0) -> Iterator[tuple[int, BlockType]]:
        """Index and result of every block from index `start` on, in order. Raises: as `block`."""
        for index in sorted(self._count_pairs()):  # an open cursor would keep the log from being moved
            if index >= start:
                yield index, self.block(index)

    def block(self, index: int) -> BlockType:
        """The result of a block. Raises: KeyError if there is none; InvalidArgument if it is damaged."""
        with self._explain_errors("the block was not read"):
            result = self._find(index)
        if result is None:
            raise KeyError(index)
        return result

    def block_indices(self) -> set[int]:
        """The indices of the blocks in the ledger. Raises: InvalidArgument if the plan has no such block."""
        return set(self._count_pairs())

    def count_pairs(self) -> int:
        """The number of pairs of games in all blocks together. Raises: as `block_indices`."""
        return sum(self._count_pairs().values())

    def add(self, index: int, result: BlockType) -> None:
        """Store a block; once this returns, killing the process does not lose it.

        Adding a block again changes nothing. Raises: InternalError if it then differs from the stored one;
        LedgerFailed if the disk fails, or the file is no longer where it was.
        """
        block = int(index)
        self._check_in_place()
        with self._explain_errors(f"block {block} was not stored"):
            stored = self._find(block)
            if stored is None:
                scores = result.to_bytes()
                content = self._describe_block(block, result.pairs, scores)
                row = (block, result.pairs, scores, self._seal.make_checksum("block", content))
                self._live.execute("INSERT INTO blocks VALUES (?, ?, ?, ?)", row)
            elif not equal_results(stored, result):
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
            raise InvalidArgument(f"the ledger {self.path} is closed", remedy="Open it again.")
        return self._connection

    def _find(self, block: int) -> BlockType | None:
        """The result of a block, after all checks; None if the ledger lacks it."""
        query = "SELECT pairs, CAST(scores AS BLOB), CAST(sha256 AS BLOB) FROM blocks WHERE block = ?"
        row = self._live.execute(query, (block,)).fetchone()
        if row is None:
            return None
        pairs, scores, checksum = row
        content = self._describe_block(block, pairs, scores)
        self._seal.check(self.path, "block", content, checksum, f"block {block}")
        self._check_size(block, pairs)
        try:
            result = self.decode(scores)
        except InvalidArgument as error:
            raise self._not_of_its_plan(block, str(error)) from error
        if result.pairs != pairs:
            fault = f"it has {result.pairs:,} pairs of games, and says that it has {pairs!r}"
            raise self._not_of_its_plan(block, fault)
        return result

    def _describe_block(self, block: int, pairs: int, scores: bytes) -> bytes:
        """What the checksum of a block covers: the plan too, so that no block can be moved to another one."""
        return f"{self._digest.hex()} {block} {pairs} ".encode() + scores

    def _count_pairs(self) -> dict[int, int]:
        """The number of pairs of each block, by its index."""
        with self._explain_errors("the blocks were not read"):
            pairs_by_block = dict(self._live.execute("SELECT block, pairs FROM blocks"))
        for block, pairs in pairs_by_block.items():
            self._check_size(block, pairs)
        return pairs_by_block

    def _check_size(self, block: int, pairs: int) -> None:
        sizes = self.sizes
        if sizes is None:
            return
        if not 0 <= block < len(sizes):
            raise self._not_of_its_plan(block, f"it has {len(sizes):,} blocks")
        if pairs != sizes[block]:
            raise self._not_of_its_plan(block, f"it says that it has {pairs!r} pairs of games")

    def _not_of_its_plan(self, block: int, fault: str) -> InvalidArgument:
        return damage_error(self.path, f"block {block} is none of its plan: {fault}")

    def _explain_errors(self, failure: str) -> Any:
        return explain_errors(self.path, failure, was_writable=self._file is not None)

    def _check_in_place(self) -> None:
        """Raises: LedgerFailed if the file is no longer at its path, so that blocks would be lost."""
        file, opened = self._file or (self.path, None)
        if opened is not None and not (file.exists() and os.path.samestat(file.stat(), opened)):
            raise LedgerFailed(
                f"the ledger {self.path} was deleted, moved or replaced while a run had it open. Put it back "
                "and give the same command again, or play every block again."
            )


class Ledger(Store[Block]):
    """The ledger of an audit: blocks of games."""

    @cached_property
    def sizes(self) -> BlockSizes | None:
        games, first, largest = (self.plan.get(name) for name in ("games", "first_block", "block"))
        if all(type(number) is int and 0 < number < 2**63 for number in (games, first, largest)):
            return BlockSizes(games, first, largest)  # type: ignore[arg-type]
        return None

    def decode(self, blob: bytes) -> Block:
        block = decode_block(blob)
        has_views = isinstance(block, ViewCounts)
        if "distinguisher" in self.plan and has_views != (self.plan["distinguisher"] == "learned"):
            raise InvalidArgument(f"it holds {'views' if has_views else 'scores'}")
        return block


def equal_results(one: Any, other: Any) -> bool:
    """Whether two results of a block are the same, bit for bit."""
    # Encodings are not compared: releases of zlib may compress differently. Nor are fields that do not count
    # in equality, such as durations.
    names = [field.name for field in attrs.fields(type(one)) if field.eq]
    return type(one) is type(other) and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in names
    )


def _connect_exclusively(file: Path) -> sqlite3.Connection:
    """A connection with SQLite's own lock, which ends with the process and is not inherited by children."""
    for tries_left in reversed(range(_TRIES)):
        connection = sqlite3.connect(file, isolation_level=None, timeout=0)
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            # A commit is written before `add` returns, so a killed process loses no block. A power cut may
            # lose the latest, which are then played again: waiting for the disk would gain nothing.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES}")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
            break
        except sqlite3.Error as error:
            connection.close()
            if not tries_left or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                raise
        # Two processes that open the file at once can refuse each other: each waits for its own time.
        time.sleep(0.002 * (1 + os.getpid() % 16))
    return connection


@contextmanager
def explain_errors(path: Path, failure: str, *, was_writable: bool = False) -> Iterator[None]:
    """Replace errors of SQLite by errors that say what to do. failure: what could not be done."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except (sqlite3.Error, UnicodeDecodeError) as error:  # SQLite's message may quote the file
        raise _explain(path, error, failure, was_writable) from error


def _explain(path: Path, error: Exception, failure: str, was_writable: bool) -> ArenaError:
    kind = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the higher bits only say where it happened
    failed = kind in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR)
    if kind == sqlite3.SQLITE_FULL or (failed and was_writable):
        state, remedy = (f"failed ({error})", "Repair it") if failed else ("is full", "Free some space")
        return LedgerFailed(
            f"the disk of the ledger {path} {state}: {failure}, but every block that was added before is "
            f"safe. {remedy} and give the same command again: it resumes the run."
        )
    if failed:
        return _cannot_write(path)
    if kind == sqlite3.SQLITE_BUSY:
        return InvalidArgument(
            f"the ledger {path} is in use by another run", remedy="Wait until it ends, or give another path."
        )
    if kind == sqlite3.SQLITE_NOTADB:
        return not_a_ledger(path)
    return damage_error(path, str(error) if kind else "its text cannot be read")


def _cannot_write(path: Path) -> InvalidArgument:
    read_only = "the file or its directory is read-only, or its file system cannot lock files"
    return InvalidArgument(
        f"the ledger {path} cannot be written: {find_obstacle(path, read_only)}", remedy="Give another path."
    )
