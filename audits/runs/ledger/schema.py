"""The tables of a ledger: made, checked, and brought from older schemas to the present one.

Schema 1 had no notes. Its blocks are those of schema 2, so that reading needs no more than to do without
notes. A ledger of an older schema is changed only when it is opened for a run, in one transaction.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from arena.errors import InvalidArgument
from audits.runs.ledger.failures import OPENED, damaged

APPLICATION_ID = 0x64704C67  # "dpLg", in the header of the file
SCHEMA_VERSION = 2  # to be raised whenever the tables, the checksum or the encoding of the scores changes

_BLOCKS = (
    "CREATE TABLE blocks (block INTEGER PRIMARY KEY, pairs INTEGER NOT NULL, scores BLOB NOT NULL,"
    " sha256 BLOB NOT NULL)"
)
_NOTES = "CREATE TABLE notes (json TEXT NOT NULL, sha256 BLOB NOT NULL)"
_PLAN = "CREATE TABLE plan (json TEXT NOT NULL, sha256 BLOB NOT NULL)"
_TABLES = {
    1: {"blocks": _BLOCKS, "plan": _PLAN},
    2: {"blocks": _BLOCKS, "notes": _NOTES, "plan": _PLAN},
}
_NO_NOTES = b"{}"


@attrs.frozen
class Head:
    """What a ledger says beside its blocks. plan, notes: as JSON. version: of its schema."""

    plan: bytes
    notes: bytes
    version: int


def fresh(connection: sqlite3.Connection) -> bool:
    """Whether nothing is in the file yet."""
    tables = _one(connection, "SELECT count(*) FROM sqlite_master")
    return not (
        tables or _one(connection, "PRAGMA application_id") or _one(connection, "PRAGMA user_version")
    )


def create(connection: sqlite3.Connection, plan: str, notes: str) -> None:
    """Make a ledger of an empty file."""
    connection.execute("PRAGMA journal_mode = WAL")
    with transaction(connection):
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        for table in _TABLES[SCHEMA_VERSION].values():
            connection.execute(table)
        connection.execute("INSERT INTO plan VALUES (?, ?)", (plan, hashlib.sha256(plan.encode()).digest()))
        _insert_notes(connection, plan.encode(), notes.encode())


def migrate(connection: sqlite3.Connection, head: Head) -> None:
    """Bring a sound ledger of any older schema to the present one, at once and whole."""
    if head.version == SCHEMA_VERSION:
        return
    with transaction(connection):
        connection.execute(_NOTES)
        _insert_notes(connection, head.plan, head.notes)
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def stored(connection: sqlite3.Connection, path: Path, wanted: str = OPENED, *, whole: bool = True) -> Head:
    """The plan and the notes. A file that is not a sound ledger is refused.

    whole: have SQLite check all of it, which takes as long as to read it.
    """
    if _one(connection, "PRAGMA application_id") != APPLICATION_ID:
        raise InvalidArgument(
            f"{path} is an SQLite database, but not a ledger", remedy=f"Give the path of {wanted}."
        )
    version = _one(connection, "PRAGMA user_version")
    if version > SCHEMA_VERSION:
        raise InvalidArgument(
            f"the ledger {path} has schema {version}; this dp-arena reads schemas up to {SCHEMA_VERSION}",
            remedy="Use the newer dp-arena that wrote it.",
        )
    tables = dict(connection.execute("SELECT name, sql FROM sqlite_master"))
    if tables != _TABLES.get(version):
        raise damaged(path, "its tables are not a ledger's")
    fault = _one(connection, "PRAGMA quick_check(1)") if whole else "ok"
    if fault != "ok":
        raise damaged(path, " ".join(str(fault).split()))
    plan, checksum = _only_row(connection, path, "plan")
    if checksum != hashlib.sha256(plan).digest():
        raise damaged(path, "its plan does not match its checksum")
    if "notes" not in tables:
        return Head(plan, _NO_NOTES, version)
    notes, checksum = _only_row(connection, path, "notes")
    if checksum != _checksum_of_notes(plan, notes):
        raise damaged(path, "its notes do not match their checksum")
    return Head(plan, notes, version)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """All of what is done inside, or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def canonical(plan: Mapping[str, object]) -> str:
    """Entries as text, equal for equal ones. Raises: InvalidArgument where JSON cannot hold one."""
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


def differences(old: str | bytes, new: str | bytes) -> str:
    """Where two plans differ, in words; both as JSON."""
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


def _insert_notes(connection: sqlite3.Connection, plan: bytes, notes: bytes) -> None:
    row = (notes.decode(), _checksum_of_notes(plan, notes))
    connection.execute("INSERT INTO notes VALUES (?, ?)", row)


def _only_row(connection: sqlite3.Connection, path: Path, table: str) -> tuple[bytes, bytes]:
    rows = connection.execute(f"SELECT CAST(json AS BLOB), sha256 FROM {table}").fetchall()
    if len(rows) != 1:
        raise damaged(path, f"it holds {len(rows)} rows of its {table}, not one")
    return rows[0][0], rows[0][1]


def _checksum_of_notes(plan: bytes, notes: bytes) -> bytes:
    # With the plan, so that notes cannot be carried into another run's ledger.
    return hashlib.sha256(hashlib.sha256(plan).digest() + notes).digest()


def _one(connection: sqlite3.Connection, query: str) -> Any:
    return connection.execute(query).fetchone()[0]
