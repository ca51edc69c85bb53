"""The tables of a ledger: creating them, checking them, and migrating older schemas to the present one.

Schema 1 had no notes. Schema 2 has them; what schema 3 changed is in `migration`. A ledger of an older schema
is read as it is, and migrated in one transaction when it is opened for a run.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from arena.errors import InvalidArgument
from audits.runs.ledger.failures import WRITABLE, damage_error
from audits.runs.ledger.migration import NAMES_SINCE, find_unnamed_players, migrate_notes, migrate_plan
from audits.runs.ledger.signatures import UNSIGNED, Seal, is_signed
from audits.runs.ledger.stored_plan import MAX_BYTES, parse_entries

APPLICATION_ID = 0x64704C67  # "dpLg", in the header of the file
# To be raised whenever the tables, the checksums, the plan or the encoding of blocks changes.
SCHEMA_VERSION = 3

_BLOCKS = (
    "CREATE TABLE blocks (block INTEGER PRIMARY KEY, pairs INTEGER NOT NULL, scores BLOB NOT NULL,"
    " sha256 BLOB NOT NULL)"
)
_NOTES = "CREATE TABLE notes (json TEXT NOT NULL, sha256 BLOB NOT NULL)"
_PLAN = "CREATE TABLE plan (json TEXT NOT NULL, sha256 BLOB NOT NULL)"
_WITH_NOTES = {"blocks": _BLOCKS, "notes": _NOTES, "plan": _PLAN}
_TABLES = {1: {"blocks": _BLOCKS, "plan": _PLAN}, 2: _WITH_NOTES, 3: _WITH_NOTES}
_NO_NOTES = b"{}"
_PLAYERS = ("learner", "adversary")
_MOST_DIFFERENCES, _MOST_LETTERS = 5, 60  # that a message lists, and of a value in it
_IDENTITY = {"name", "class"}  # entries of a player's description that are not settings


@attrs.frozen
class Head:
    """What a ledger holds besides its blocks. plan, notes: JSON as stored. version: of the schema.

    seal: makes and checks the checksums. signed: whether they have signatures.
    """

    plan: bytes
    notes: bytes
    version: int
    seal: Seal = UNSIGNED
    signed: bool = False

    def read_plan(self) -> dict[str, Any]:
        """The plan in the form of the present schema."""
        plan = parse_entries(self.plan)
        return plan if self.version >= NAMES_SINCE else migrate_plan(plan, parse_entries(self.notes))

    def read_notes(self) -> dict[str, Any]:
        """The notes in the form of the present schema."""
        notes = parse_entries(self.notes)
        return notes if self.version >= NAMES_SINCE else migrate_notes(notes)

    def find_unnamed_players(self) -> list[str]:
        """The classes of players whose names a ledger of an older schema lacks."""
        return [] if self.version >= NAMES_SINCE else find_unnamed_players(self.read_plan())

    def checksum_block(self, block: int, pairs: int, scores: bytes) -> bytes:
        """It covers the plan, so that a block cannot be moved into another run's ledger."""
        return self.seal.make_checksum("block", self._describe_block(block, pairs) + scores)

    def is_intact(self, path: Path, block: int, pairs: int, scores: bytes, checksum: object) -> bool:
        """Whether that is the checksum of a block. Raises: InvalidArgument if its signature is none."""
        return self.seal.matches(path, "block", self._describe_block(block, pairs) + scores, checksum)

    def _describe_block(self, block: int, pairs: int) -> bytes:
        return f"{hashlib.sha256(self.plan).hexdigest()} {block} {pairs} ".encode()


def is_empty(connection: sqlite3.Connection) -> bool:
    """Whether nothing is in the file yet."""
    queries = ("SELECT count(*) FROM sqlite_master", "PRAGMA application_id", "PRAGMA user_version")
    return not any(_select_one(connection, query) for query in queries)


def create(connection: sqlite3.Connection, plan: str, notes: str, seal: Seal) -> None:
    """Make an empty file a ledger."""
    connection.execute("PRAGMA journal_mode = WAL")
    with transaction(connection):
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        for table in _TABLES[SCHEMA_VERSION].values():
            connection.execute(table)
        _insert_head(connection, plan.encode(), notes.encode(), seal)


def migrate(
    connection: sqlite3.Connection, head: Head, rows: Callable[[], Iterator[tuple[int, int, bytes]]]
) -> Head:
    """Bring an intact ledger of any older schema to the present one, in one transaction.

    rows: iterates over block, pairs and scores of every row.
    """
    if head.version == SCHEMA_VERSION:
        return head
    present = attrs.evolve(
        head,
        plan=canonical(head.read_plan()).encode(),
        notes=canonical(head.read_notes()).encode(),
        version=SCHEMA_VERSION,
    )
    with transaction(connection):
        connection.execute("DELETE FROM plan")
        connection.execute("DROP TABLE IF EXISTS notes")
        connection.execute(_NOTES)
        _insert_head(connection, present.plan, present.notes, present.seal)
        for block, pairs, scores in rows():
            checksum = present.checksum_block(block, pairs, scores)
            connection.execute("UPDATE blocks SET sha256 = ? WHERE block = ?", (checksum, block))
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    return present


def read_head(
    connection: sqlite3.Connection, path: Path, expected: str = WRITABLE, *, seal: Seal = UNSIGNED
) -> Head:
    """The plan and the notes, after SQLite has checked that no page of the file is out of place.

    seal: checks the checksums.
    Raises: InvalidArgument if the file is not an intact ledger, or not signed with the key of the seal.
    """
    if _select_one(connection, "PRAGMA application_id") != APPLICATION_ID:
        raise InvalidArgument(
            f"{path} is an SQLite database, but not a ledger", remedy=f"Give the path of {expected}."
        )
    version = _select_one(connection, "PRAGMA user_version")
    if version > SCHEMA_VERSION:
        raise InvalidArgument(
            f"the ledger {path} has schema {version}; this dp-arena reads schemas up to {SCHEMA_VERSION}",
            remedy="Use the newer dp-arena that wrote it.",
        )
    tables = dict(connection.execute("SELECT name, sql FROM sqlite_master"))
    if tables != _TABLES.get(version):
        raise damage_error(path, "its tables are not those of a ledger")
    # `integrity_check` would also compare tables with their indices, of which a ledger has none.
    fault = _select_one(connection, "PRAGMA quick_check(1)")
    if fault != "ok":
        raise damage_error(path, " ".join(str(fault).split()))
    plan, checksum = _select_only_row(connection, path, "plan")
    if not seal.matches(path, "plan", plan, checksum):
        raise damage_error(path, "its plan does not match its checksum")
    signed, notes = is_signed(checksum), _NO_NOTES
    if "notes" in tables:
        notes, checksum = _select_only_row(connection, path, "notes")
        if not seal.matches(path, "notes", _join_notes(plan, notes), checksum):
            raise damage_error(path, "its notes do not match their checksum")
    for name, text in (("plan", plan), ("notes", notes)):
        try:
            parse_entries(text)
        except ValueError as error:
            raise damage_error(path, f"the text of its {name} {error}") from error
    return Head(plan, notes, version, seal, signed)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Do all of what the block does, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def canonical(entries: Mapping[str, object]) -> str:
    """Entries as text, equal for equal ones. Raises: InvalidArgument if JSON or a ledger cannot hold them."""
    for name, value in entries.items():
        try:
            json.dumps(value, sort_keys=True)
        except (TypeError, ValueError) as error:
            raise InvalidArgument(
                f"JSON must be able to hold the entry {name!r} of a plan ({error})",
                value=value,
                remedy="Write it as text, numbers, lists and mappings.",
            ) from None
    text = json.dumps(dict(entries), sort_keys=True, separators=(",", ":"))
    if len(text) > MAX_BYTES:
        raise InvalidArgument(
            f"a plan has at most {MAX_BYTES:,} letters",
            value=len(text),
            remedy="Give players large settings as arrays, of which a plan has a digest.",
        )
    return text


def describe_differences(old: Mapping[str, object], new: Mapping[str, object]) -> str:
    """How two plans differ, in words: in which settings, the first of them; empty if in none.

    A setting of a player may have been renamed: settings that only one of the plans has are the same if their
    values are the same.
    """
    before, after = (json.loads(canonical(plan)) for plan in (old, new))
    for role in _PLAYERS:
        if isinstance(before.get(role), dict) and isinstance(after.get(role), dict):
            _drop_renamed(before[role], after[role])
    old_leaves, new_leaves = _flatten(before), _flatten(after)
    changed = sorted(
        (n for n in old_leaves.keys() | new_leaves.keys() if old_leaves.get(n) != new_leaves.get(n)),
        key=lambda name: (name[0] != "versions", name),  # another version explains other settings, too
    )
    differences = [
        f"{'.'.join(name)}: {' -> '.join(_shorten(old_leaves.get(name), new_leaves.get(name)))}"
        for name in changed[:_MOST_DIFFERENCES]
    ]
    more = len(changed) - len(differences)
    return "; ".join(differences) + (f"; and {more} more" if more else "")


def _shorten(*values: str | None) -> list[str]:
    """The values, cut where they are long to what is around their first difference."""
    texts = ["absent" if value is None else value for value in values]
    same = next(
        (place for place, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1), 0
    )
    start = max(0, same - _MOST_LETTERS // 2) if max(map(len, texts)) > _MOST_LETTERS else 0
    end = start + _MOST_LETTERS
    return [f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}" for text in texts]


def _drop_renamed(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Delete settings that have one name in the old plan and another in the new one."""
    only_old = {name: old[name] for name in old.keys() - new.keys() - _IDENTITY}
    only_new = {name: new[name] for name in new.keys() - old.keys() - _IDENTITY}
    if sorted(map(json.dumps, only_old.values())) == sorted(map(json.dumps, only_new.values())):
        for name in only_old:
            del old[name]
        for name in only_new:
            del new[name]
    for name in old.keys() & new.keys():
        if isinstance(old[name], dict) and isinstance(new[name], dict):
            _drop_renamed(old[name], new[name])


def _flatten(plan: dict[str, Any], path: tuple[str, ...] = ()) -> dict[tuple[str, ...], str]:
    leaves: dict[tuple[str, ...], str] = {}
    for name, value in plan.items():
        if isinstance(value, dict) and value:
            leaves |= _flatten(value, (*path, name))
        else:
            leaves[(*path, name)] = json.dumps(value, ensure_ascii=False)
    return leaves


def replace_notes(connection: sqlite3.Connection, head: Head, notes: Mapping[str, object]) -> Head:
    """Store other notes, in one transaction."""
    present = attrs.evolve(head, notes=canonical(notes).encode())
    checksum = head.seal.make_checksum("notes", _join_notes(head.plan, present.notes))
    with transaction(connection):
        connection.execute("UPDATE notes SET json = ?, sha256 = ?", (present.notes.decode(), checksum))
    return present


def _insert_head(connection: sqlite3.Connection, plan: bytes, notes: bytes, seal: Seal) -> None:
    checksum = seal.make_checksum("plan", plan)
    connection.execute("INSERT INTO plan VALUES (?, ?)", (plan.decode(), checksum))
    checksum = seal.make_checksum("notes", _join_notes(plan, notes))
    connection.execute("INSERT INTO notes VALUES (?, ?)", (notes.decode(), checksum))


def _select_only_row(connection: sqlite3.Connection, path: Path, table: str) -> tuple[bytes, bytes]:
    rows = _select_one(connection, f"SELECT count(*) FROM {table}")
    if rows != 1:
        raise damage_error(path, f"its table {table} has {rows} rows instead of one")
    size = _select_one(connection, f"SELECT length(CAST(json AS BLOB)) FROM {table}")
    if size > MAX_BYTES:
        raise damage_error(path, f"its {table} has {size:,} bytes, more than any")
    text, checksum = connection.execute(f"SELECT CAST(json AS BLOB), sha256 FROM {table}").fetchone()
    return bytes(text), checksum


def _join_notes(plan: bytes, notes: bytes) -> bytes:
    """What the checksum of notes covers: the plan too, so that they cannot be moved into another ledger."""
    return hashlib.sha256(plan).digest() + notes


def _select_one(connection: sqlite3.Connection, query: str) -> Any:
    return connection.execute(query).fetchone()[0]
