"""Tables that pages of docs/ show, and records of what they are made of, so that benchmarks resume."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from benchmarks.by_learner.charts import DOCS

BUILD = DOCS.parent / "build"


def write_table(name: str, headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table, and write docs/tables/`name`.csv."""
    print(tabulate(rows, headers, tablefmt="github", disable_numparse=True))
    with (DOCS / "tables" / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([headers, *rows])


def keep_row(path: Path, name: str, row: Any) -> dict[str, Any]:
    """Add a row to what a file keeps, and return all of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = {**read_rows(path), name: row}
    path.write_text(json.dumps(rows, indent=1, ensure_ascii=False), encoding="utf-8")
    return rows


def read_rows(path: Path) -> dict[str, Any]:
    """What a file keeps; nothing if there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
