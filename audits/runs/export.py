"""Exporting the blocks of a ledger as a table: CSV, or Parquet with the extra `parquet`."""

from __future__ import annotations

import csv
import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from arena import InvalidArgument
from arena.errors import suggest_extra
from audits.data.output_files import check_output_file, write_atomically
from audits.distinguishers.view_features import Block
from audits.runs.ledger import Ledger
from audits.runs.run_history import no_games_yet, read_audit, read_figures
from audits.statistics.score_pairs import PairCounts

CSV, PARQUET = SUFFIXES = (".csv", ".parquet")
_FIGURES = ("games", "epsilon_lower", "log_wealth", "log_evidence")
_MIN_ROWS = 2**15  # rows of a Parquet file that are written at once


def check_table(path: str | os.PathLike[str], ledger: str | os.PathLike[str]) -> None:
    """Check, before any work is done, that a table of `ledger` can be written. Raises: InvalidArgument."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidArgument(
            "the file of a table must end in .csv or .parquet", value=str(path), remedy="Choose one of them."
        )
    if suffix == PARQUET and importlib.util.find_spec("pyarrow") is None:
        raise InvalidArgument(
            "a Parquet file needs pyarrow", remedy=suggest_extra("parquet", "export to .csv")
        )
    check_output_file("table", path, ledger=ledger)


def export_blocks(
    ledger: str | os.PathLike[str], path: str | os.PathLike[str], *, watch: Callable[[], None] | None = None
) -> int:
    """Write one row for each block and distinct pair of scores in it, and return the number of rows.

    The columns are `block`, `count`, then `score_0` and `score_1` of the games in world 0 and in world 1. If
    the distinguisher is learned, the features of the two views replace the scores (-2 if a view lacks the
    feature). The file appears complete or not at all. watch: called after every block.

    Raises: InvalidArgument if the ledger cannot be read or has no audit or games, or as `check_table` does.
    """
    check_table(path, ledger)
    with Ledger.read(ledger) as source:
        read_audit(source)
        if not source.block_indices():
            raise no_games_yet(ledger)
        names, rows = _collect_features(source), 0
        columns = [f"{name}_{world}" for world in range(2) for name in names]
        with _open_table(path, ("block", "count", *columns)) as add:
            for index, block in source.blocks():
                count = len(block.counts)
                add([np.full(count, index), block.counts, *_columns_of(block, names)])
                rows += count
                if watch is not None:
                    watch()
    return rows


def export_figures(ledger: str | os.PathLike[str], path: str | os.PathLike[str]) -> int:
    """Write the figures after each block, up to the first that is missing, and return the number of rows.

    The columns are `block` and those of `read_figures`. Raises: as `export_blocks`.
    """
    check_table(path, ledger)
    games, *figures = read_figures(ledger)[:, 1:]  # after each block
    blocks = len(games)
    with _open_table(path, ("block", *_FIGURES)) as add:
        add([np.arange(blocks), games.astype(np.int64), *figures])
    return blocks


def _collect_features(ledger: Ledger) -> tuple[str, ...]:
    """The features of all views, in the order of their first occurrence, or the score of the games."""
    names: dict[str, None] = {}
    for _, block in ledger.blocks():
        if isinstance(block, PairCounts):
            return ("score",)
        names |= dict.fromkeys(block.names)
    return tuple(names)


def _columns_of(block: Block, names: tuple[str, ...]) -> list[np.ndarray]:
    if isinstance(block, PairCounts):
        return list(block.scores.T)
    rows = block.columns(names)
    return [column for world in range(2) for column in rows[block.which[:, world]].T]


@contextmanager
def _open_table(
    path: str | os.PathLike[str], columns: Sequence[str]
) -> Iterator[Callable[[Sequence[np.ndarray]], None]]:
    """What adds columns of rows to a table."""
    with write_atomically("table", path) as unfinished:
        if Path(path).suffix.lower() == PARQUET:
            with closing(_ParquetWriter(unfinished, columns)) as table:
                yield table.add
            return
        with unfinished.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)  # a float is the shortest text that is read back as the same float
            writer.writerow(columns)
            yield lambda parts: writer.writerows(zip(*(part.tolist() for part in parts), strict=True))


class _ParquetWriter:
    """Compressed columns. Small blocks are collected first, since every group of rows has a cost."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        import pyarrow  # an extra, and slow to import
        import pyarrow.parquet

        self._arrow, self._path, self._columns = pyarrow, path, columns
        self._writer: Any = None
        self._waiting: list[Sequence[np.ndarray]] = []

    def add(self, columns: Sequence[np.ndarray]) -> None:
        self._waiting.append(columns)
        if sum(len(waiting[0]) for waiting in self._waiting) >= _MIN_ROWS:
            self._write()

    def close(self) -> None:
        if self._waiting:
            self._write()
        if self._writer is not None:
            self._writer.close()

    def _write(self) -> None:
        whole = [np.concatenate(parts) for parts in zip(*self._waiting, strict=True)]
        self._waiting = []
        table = self._arrow.table(dict(zip(self._columns, whole, strict=True)))
        if self._writer is None:
            self._writer = self._arrow.parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)
