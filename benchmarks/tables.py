"""Tables that pages of docs/ show."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from tabulate import tabulate

from benchmarks.by_learner.charts import DOCS


def write_table(name: str, headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table, and write docs/tables/`name`.csv."""
    print(tabulate(rows, headers, tablefmt="github", disable_numparse=True))
    with (DOCS / "tables" / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([headers, *rows])
