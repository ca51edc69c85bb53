"""The file of a ledger: its tables, with checksums and signatures; its copies; and how two plans differ.

A checksum is a SHA-256, which shows damage. In a signed ledger an HMAC-SHA-256 follows it, which nobody can
compute without the key. Both cover the plan; the plan and the notes; and the plan, the index and the content
of each block. A block that is deleted leaves no trace but that the run is unfinished; it is played again.
"""

from __future__ import annotations

import errno
import hmac
import json
import os
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import attrs

from arena.errors import InvalidArgument

# Size at which SQLite moves the write-ahead log into the file and starts the log again, in pages of 4 KiB:
# 64 MiB are seconds of the fastest run, and are copied in a fraction of that.
LOG_PAGES = 16_384
_LOG_HEADER = 32  # bytes, which hold the salts of the log
_TRIES = 20  # to copy a ledger
_MAGIC = b"SQLite format 3\x00"  # with which a ledger begins
_NAME_A_LEDGER = "Give the path of a ledger."
APPLICATION_ID = 0x64704C67  # "dpLg"
_APPLICATION = slice(68, 72)  # its position in the header of an SQLite file
_TABLES = {
    "blocks": "CREATE TABLE blocks (block INTEGER PRIMARY KEY, pairs INTEGER NOT NULL, scores BLOB NOT NULL,"
    " sha256 BLOB NOT NULL)",
    "notes": "CREATE TABLE notes (json TEXT NOT NULL, sha256 BLOB NOT NULL)",
    "plan": "CREATE TABLE plan (json TEXT NOT NULL, sha256 BLOB NOT NULL)",
}
_MAX_DEPTH = 64  # of mappings and lists within each other
_BYTES = 32  # of a SHA-256, and of a signature
_MOST_DIFFERENCES, _MOST_LETTERS = 5, 60  # that a message lists, and of a value in it
# In the description of a plan: the hash of a plug-in in the name of its module; digests of code, arrays and
# samples, with their sizes.
_DIGESTS = re.compile(r"(?<=\w)_[0-9a-f]{12}(?=:)|(\([\d, ]*\) \S+ )?\b[0-9a-f]{16,64}\b( of \d+)?")


def damage_error(path: Path, fault: str) -> InvalidArgument:
    """The error for a ledger that has been altered."""
    return InvalidArgument(
        f"the ledger {path} is damaged: {fault}",
        remedy=f"Restore a copy, or remove it and any {path.name}-wal beside it to play every block again.",
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
    return InvalidArgument(f"{path} is not a ledger, or its header is damaged", remedy=_NAME_A_LEDGER)


def read_start(path: Path, size: int) -> bytes:
    """The first bytes of a file; none if there is no such file, or it cannot be read."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(size)
    return b""


def is_ledger(path: Path) -> bool:
    """Whether the file at `path` can be read and has the header of a ledger."""
    header = read_start(path, _APPLICATION.stop) if path.is_file() else b""
    return header.startswith(_MAGIC) and header[_APPLICATION] == APPLICATION_ID.to_bytes(4, "big")


@attrs.frozen
class Seal:
    """Makes and checks the checksums of a ledger, with signatures if there is a key."""

    key: bytes | None = attrs.field(default=None, repr=False)

    def make_checksum(self, kind: str, content: bytes) -> bytes:
        """kind: what the content is, so that no signature serves for content of another kind."""
        plain = sha256(content).digest()
        if self.key is None:
            return plain
        return plain + hmac.digest(self.key, f"{kind} ".encode() + content, sha256)

    def check(self, path: Path, kind: str, content: bytes, checksum: bytes, name: str = "") -> None:
        """Raises InvalidArgument unless the checksum of a part of the ledger at `path` is right."""
        expected = self.make_checksum(kind, content)
        if checksum[:_BYTES] != expected[:_BYTES]:
            raise damage_error(path, f"the checksum of {name or f'its {kind}'} is wrong")
        if self.key is not None and not hmac.compare_digest(checksum, expected):
            raise InvalidArgument(
                f"the ledger {path} was not signed with this key, or was altered since (its {kind})",
                remedy="Give the key with which it was written, or none if it has no signatures. Otherwise "
                "trust no figure of it.",
            )


def is_empty(connection: sqlite3.Connection) -> bool:
    queries = ("SELECT count(*) FROM sqlite_master", "PRAGMA application_id")
    return not any(connection.execute(query).fetchone()[0] for query in queries)


def create(
    connection: sqlite3.Connection, plan: Mapping[str, object], notes: Mapping[str, object], seal: Seal
) -> None:
    """Make an empty file a ledger."""
    text = _write(plan)
    connection.execute("PRAGMA journal_mode = WAL")
    with connection:  # all of it, or nothing
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        for table in _TABLES.values():
            connection.execute(table)
        row = (text, seal.make_checksum("plan", text.encode()))
        connection.execute("INSERT INTO plan VALUES (?, ?)", row)
        row = seal_notes(sha256(text.encode()).digest(), notes, seal)
        connection.execute("INSERT INTO notes VALUES (?, ?)", row)


def seal_notes(digest: bytes, notes: Mapping[str, object], seal: Seal) -> tuple[str, bytes]:
    """The text of notes and its checksum, which covers the digest of the plan."""
    text = _write(notes)
    return text, seal.make_checksum("notes", digest + text.encode())


def read_head(
    connection: sqlite3.Connection, path: Path, seal: Seal
) -> tuple[dict[str, Any], dict[str, Any], bytes, bool]:
    """The plan, the notes, the digest of the plan, and whether the ledger is signed.

    Raises: InvalidArgument if the file is not an intact ledger, or not signed with the key of the seal.
    """
    if is_empty(connection):  # as a run leaves it that is killed while it makes its ledger
        raise InvalidArgument(
            f"the ledger {path} is empty: no run was begun in it", remedy="Give that run's command again."
        )
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise InvalidArgument(f"{path} is an SQLite database, but not a ledger", remedy=_NAME_A_LEDGER)
    if dict(connection.execute("SELECT name, sql FROM sqlite_master")) != _TABLES:
        raise damage_error(path, "its tables are not those of a ledger")
    # `integrity_check` would also compare tables with their indices, of which a ledger has none.
    fault = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if fault != "ok":
        raise damage_error(path, " ".join(str(fault).split()))
    plan, plan_checksum = _select_only_row(connection, path, "plan")
    notes, notes_checksum = _select_only_row(connection, path, "notes")
    digest = sha256(plan).digest()
    seal.check(path, "plan", plan, plan_checksum)
    seal.check(path, "notes", digest + notes, notes_checksum)  # so they cannot be moved into another ledger
    signed = len(plan_checksum) == 2 * _BYTES
    return _parse(path, "plan", plan), _parse(path, "notes", notes), digest, signed


def _select_only_row(connection: sqlite3.Connection, path: Path, table: str) -> tuple[bytes, bytes]:
    query = f"SELECT CAST(json AS BLOB), CAST(sha256 AS BLOB) FROM {table} LIMIT 2"
    rows: list[tuple[bytes, bytes]] = connection.execute(query).fetchall()
    if len(rows) != 1:
        raise damage_error(path, f"its table {table} does not have one row")
    return rows[0]


def _parse(path: Path, name: str, text: bytes) -> dict[str, Any]:
    """The entries of a plan or of notes, which may be infinite or NaN. Anybody may have written them."""
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damage_error(path, f"the text of its {name} cannot be read ({error})") from error
    if not isinstance(entries, dict) or _is_deeper(entries, _MAX_DEPTH):
        raise damage_error(path, f"the text of its {name} is no mapping, or more than {_MAX_DEPTH} deep")
    return entries


def _is_deeper(value: Any, levels: int) -> bool:
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in items)


def _write(entries: Mapping[str, object]) -> str:
    """Entries as text, equal for equal ones."""
    return json.dumps(dict(entries), sort_keys=True, separators=(",", ":"))


def describe_differences(
    old: Mapping[str, object], new: Mapping[str, object], *, digests: bool = True
) -> str:
    """In which settings two plans differ, in words, if in any. digests: whether those of files count."""
    old_leaves, new_leaves = (dict(_list_leaves(json.loads(_write(plan)), digests)) for plan in (old, new))
    changed = sorted(
        (name for name in old_leaves | new_leaves if old_leaves.get(name) != new_leaves.get(name)),
        key=lambda name: (name[0] != "versions", name),  # another version explains other settings, too
    )
    differences = []
    for name in changed[:_MOST_DIFFERENCES]:
        values = [leaves.get(name, "absent") for leaves in (old_leaves, new_leaves)]
        # Long values are cut to what follows their first difference, and some letters before.
        same = next((place for place, (a, b) in enumerate(zip(*values, strict=False)) if a != b), 0)
        start = max(0, same - _MOST_LETTERS // 2) if max(map(len, values)) > _MOST_LETTERS else 0
        parts = [text[start : start + _MOST_LETTERS] for text in values]
        cut = [part if part == text else f"...{part}..." for part, text in zip(parts, values, strict=True)]
        differences.append(f"{'.'.join(name)}: {' -> '.join(cut)}")
    more = len(changed) - len(differences)
    return "; ".join(differences) + (f"; and {more} more" if more else "")


def _list_leaves(
    value: Any, digests: bool, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, dict) and (value or not path):
        for name, item in value.items():
            yield from _list_leaves(item, digests, (*path, name))
    else:
        kept = value if digests or not isinstance(value, str) else _DIGESTS.sub("", value)
        yield path, json.dumps(kept, ensure_ascii=False)


# --- copies ---


def copy_ledger(path: Path, copy: Path) -> None:
    """Copy a ledger with its write-ahead log, also while a run locks it, so that SQLite cannot copy it.

    The file changes only when SQLite moves the log into it. So a copy of the file and then of the log is
    consistent unless the header of the log changed meanwhile. Raises: InvalidArgument.
    """
    if not path.is_file():
        raise InvalidArgument(
            f"the ledger {path} cannot be read: {find_obstacle(path, 'there is no such file')}",
            remedy=_NAME_A_LEDGER,
        )
    if read_start(path, len(_MAGIC)) not in (_MAGIC, b""):  # whose size may be that of a disk
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
