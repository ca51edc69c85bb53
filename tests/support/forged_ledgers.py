"""Ledgers that a stranger has written: sound in every checksum, with a command of a stranger's choice."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any


def forge_notes(path: Path, **entries: Any) -> Path:
    """Replace entries of the notes of the ledger at `path`, and make their checksum anew."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        (plan,), (notes,) = (database.execute(f"SELECT json FROM {t}").fetchone() for t in ("plan", "notes"))
        text = json.dumps({**json.loads(notes), **entries})
        checksum = sha256(sha256(plan.encode()).digest() + text.encode()).digest()
        database.execute("UPDATE notes SET json = ?, sha256 = ?", (text, checksum))
    return path


def forge_block(path: Path, block: int) -> Path:
    """Swap the scores of a block's worlds for those of another of equal size, with a right plain checksum."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        (plan,) = database.execute("SELECT json FROM plan").fetchone()
        rows = database.execute("SELECT pairs, scores FROM blocks WHERE block = ?", (block,))
        pairs, scores = rows.fetchone()
        query = "SELECT scores FROM blocks WHERE pairs = ? AND scores != ?"
        (other,) = database.execute(query, (pairs, scores)).fetchone()
        content = f"{sha256(plan.encode()).hexdigest()} {block} {pairs} ".encode() + other
        (old,) = database.execute("SELECT sha256 FROM blocks WHERE block = ?", (block,)).fetchone()
        checksum = sha256(content).digest() + old[32:]
        database.execute("UPDATE blocks SET scores = ?, sha256 = ? WHERE block = ?", (other, checksum, block))
    return path
