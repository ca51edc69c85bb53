"""Ledgers with any content and right checksums, and what others may do to the files of an open ledger."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import struct
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

from audits.runs.ledger import Ledger
from audits.runs.ledger.schema import log_of

Row = tuple[int, Any, Any]  # index, pairs and encoded result of a block


def read_rows(path: Path) -> tuple[dict[str, Any], dict[str, Any], list[Row]]:
    """The plan, the notes and the blocks of a ledger, unchecked."""
    with closing(sqlite3.connect(path)) as database:
        plan, notes = (
            database.execute(f"SELECT json FROM {name}").fetchone()[0] for name in ("plan", "notes")
        )
        rows = database.execute("SELECT block, pairs, scores FROM blocks ORDER BY block").fetchall()
    return json.loads(plan), json.loads(notes), rows


def forge(
    path: Path,
    *,
    plan: Mapping[str, Any] | str | None = None,
    notes: Mapping[str, Any] | str | None = None,
    rows: Iterable[Row] | Callable[[list[Row]], Iterable[Row]] | None = None,
) -> Path:
    """Replace parts of the ledger at `path`, and compute all checksums anew.

    plan, notes: their text, or entries that replace those of the ledger. rows: blocks, or a function of those
    of the ledger.
    """
    old_plan, old_notes, old_rows = read_rows(path)
    plan_text = plan if isinstance(plan, str) else _write({**old_plan, **(plan or {})})
    notes_text = notes if isinstance(notes, str) else _write({**old_notes, **(notes or {})})
    new_rows = old_rows if rows is None else rows(old_rows) if callable(rows) else rows
    digest = sha256(plan_text.encode())
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for table in ("plan", "notes", "blocks"):
            database.execute(f"DELETE FROM {table}")
        database.execute("INSERT INTO plan VALUES (?, ?)", (plan_text, digest.digest()))
        checksum = sha256(digest.digest() + notes_text.encode()).digest()
        database.execute("INSERT INTO notes VALUES (?, ?)", (notes_text, checksum))
        for block, pairs, scores in new_rows:
            content = scores if isinstance(scores, bytes) else str(scores).encode()
            checksum = sha256(f"{digest.hexdigest()} {block} {pairs} ".encode() + content).digest()
            database.execute("INSERT INTO blocks VALUES (?, ?, ?, ?)", (block, pairs, scores, checksum))
    return path


def pack_scores(
    levels: Iterable[float],
    which: Iterable[Iterable[int]],
    counts: Iterable[int],
    *,
    head: tuple[int, int, int] | None = None,
    end: bytes = b"",
) -> bytes:
    """The encoding of a block of scores, of whatever numbers; head: other sizes than theirs."""
    levels, counts = [*levels], [*counts]
    codes = [first * len(levels) + second for first, second in which]
    gaps = [code - before - 1 for before, code in zip([-1, *codes], codes, strict=False)]
    most = max(counts, default=0), max(gaps, default=0)
    raw = struct.pack("<4q", *(head or (len(levels), len(counts), most[0])), most[1])
    kinds = ["d", *map(_unsigned, most)]
    for kind, numbers in zip(kinds, (levels, counts, gaps), strict=True):
        each = [struct.pack(f"<{kind}", number) for number in numbers]
        raw += b"".join(map(bytes, zip(*each, strict=True)))  # first bytes, then second ones, and so on
    return b"pairs" + zlib.compress(raw + end)


def pack_views(
    names: Iterable[str],
    rows: Iterable[Iterable[float]],
    which: Iterable[Iterable[int]],
    counts: Iterable[int],
    *,
    head: tuple[int, int, int] | None = None,
) -> bytes:
    """The encoding of a block of views, of whatever numbers."""
    rows, counts, text = [[*row] for row in rows], [*counts], "\n".join(names).encode()
    whole = all(float(number).is_integer() for row in rows for number in row)
    raw = struct.pack("<4q", *(head or (len(rows), len(counts), len(text))), max(counts)) + text
    raw += (b"b" if whole else b"d") * len(rows[0])
    for column in zip(*rows, strict=True):
        raw += struct.pack(f"<{len(column)}b", *column) if whole else struct.pack(f"<{len(column)}d", *column)
    raw += b"".join(struct.pack("<2B", *pair) for pair in which)
    return b"view" + zlib.compress(raw + struct.pack(f"<{len(counts)}B", *counts))


def _write(entries: Mapping[str, Any]) -> str:
    return json.dumps(dict(entries), sort_keys=True, separators=(",", ":"))


def _unsigned(largest: int) -> str:
    if largest < 0:
        return "q"
    return next(kind for kind, bits in (("B", 8), ("H", 16), ("I", 32), ("Q", 64)) if largest < 1 << bits)


def delete(path: Path) -> None:
    path.unlink()


def delete_with_log(path: Path) -> None:
    path.unlink()
    log_of(path).unlink()


def move(path: Path) -> None:
    path.rename(path.with_name("moved.ledger"))


def move_and_link(path: Path) -> None:
    move(path)
    path.symlink_to(path.with_name("moved.ledger"))


def replace(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(b"of somebody else")
    other.rename(path)


def replace_by_a_ledger(path: Path) -> None:
    other = path.with_name("other")
    Ledger.open(other, {"seed": 1}).close()
    other.rename(path)


def truncate(path: Path) -> None:
    os.truncate(path, 4_096)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def overwrite(path: Path) -> None:
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.write(b"x" * size)
    os.utime(path, ns=(1, 1))  # clocks of files tick slowly


def remove_log(path: Path) -> None:
    log_of(path).unlink()


def replace_log(path: Path) -> None:
    remove_log(path)
    log_of(path).write_bytes(b"of somebody else")


def truncate_log(path: Path) -> None:
    os.truncate(log_of(path), 50)


def delete_folder(path: Path) -> None:
    shutil.rmtree(path.parent)


def move_folder(path: Path) -> None:
    path.parent.rename(path.parent.with_name("moved"))


# What is done to the files and to their folder, and whether the run notices that its file is gone.
FILES = {
    **dict.fromkeys((delete, delete_with_log, move, move_and_link, replace, replace_by_a_ledger), True),
    **dict.fromkeys((truncate, empty, overwrite, remove_log, replace_log, truncate_log), False),
}
FOLDERS = dict.fromkeys((delete_folder, move_folder), True)
