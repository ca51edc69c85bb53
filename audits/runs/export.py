"""The blocks of a ledger as a table, for other programs: CSV, or Parquet by the extra `parquet`."""

from __future__ import annotations

import csv
import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from arena import InvalidArgument
from audits.data.output_files import check_output_file, write_atomically
from audits.distinguishers.view_features import Block
from audits.runs.ledger import Ledger
from audits.runs.replay import Replay, read_head, replay
from audits.statistics.score_pairs import PairCounts

CSV, PARQUET = SUFFIXES = (".csv", ".parquet")
_FIGURES = ("block", "games", "epsilon_lower", "log_wealth", "log_evidence")
_ROWS = 2**15  # rows of a Parquet file that are written at once, at least


class Table(Protocol):
    """A file that takes columns of rows, some at a time."""

    def add(self, columns: Sequence[np.ndarray]) -> None:
        """Add rows; one array a column."""

    def close(self) -> None:
        """Write what is left."""


def check_table(path: str | os.PathLike[str], ledger: str | os.PathLike[str]) -> None:
    """Refuse, before any work is done, a table of `ledger` that could not be written to `path`.

    Raises: InvalidArgument if it is of no kind that can be written, a package is missing, or the path is a
    directory, lies in none, or is the ledger's.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidArgument(
            "a table's file ends in .csv or .parquet", value=str(path), remedy="Name it so, for its kind."
        )
    if suffix == PARQUET and importlib.util.find_spec("pyarrow") is None:
        raise InvalidArgument(
            "a Parquet file needs pyarrow", remedy="Run pip install dp-arena[parquet], or export to .csv."
        )
    check_output_file("table", path)
    if Path(path).resolve() == Path(ledger).resolve():
        raise InvalidArgument(
            f"the table {path} would take the place of the ledger", remedy="Name another file."
        )


def export_blocks(
    ledger: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    watch: Callable[[], None] | None = None,
) -> int:
    """Write a row for each block and distinct pair of scores in it; how many rows there are.

    The columns: `block`, `count`, then `score_0` and `score_1`, of the games in world 0 and in world 1; where
    a distinguisher is learned, the features of the pair's views instead, each with the world as its suffix (-2 where
    a view has nothing of the kind). A number read back from CSV is the same to the bit.

    watch: called after every block. The file appears whole or not at all.
    Raises: InvalidArgument if the ledger cannot be read or holds no audit or no games, or the file cannot be
    written.
    """
    check_table(path, ledger)
    with Ledger.read(ledger) as source:
        read_head(source)
        if not source.have():
            raise InvalidArgument(
                f"the ledger {ledger} holds no games yet", remedy="Let the run go on first."
            )
        names, rows = _features(source), 0
        with _table(path, ("block", "count", *_columns(names))) as table:
            for index, block in source.blocks():
                count = len(block.counts)
                table.add([np.full(count, index), block.counts, *_told(block, names)])
                rows += count
                if watch is not None:
                    watch()
    return rows


def export_figures(ledger: str | os.PathLike[str], path: str | os.PathLike[str]) -> int:
    """Write the figures after each block, up to the first that is missing; how many rows there are.

    The columns: `block`; `games`, in each world; `epsilon_lower`, in nats; `log_wealth`, of the bets against
    the claim, and `log_evidence`, what it comes to, in nats.
    Raises: as `export_blocks`.
    """
    check_table(path, ledger)
    found: Replay = replay(ledger)
    columns = [found.games.astype(np.int64), found.epsilon_lower, found.log_wealth, found.log_evidence]
    blocks = len(found.games) - 1  # the first row is the beginning
    with _table(path, _FIGURES) as table:
        table.add([np.arange(blocks), *(column[1:] for column in columns)])
    return blocks


def _features(ledger: Ledger) -> tuple[str, ...] | None:
    """The features of all views, in the order in which they were met; None where there are scores."""
    names: dict[str, None] = {}
    for _, block in ledger.blocks():
        if isinstance(block, PairCounts):
            return None
        names |= dict.fromkeys(block.names)
    return tuple(names)


def _columns(names: tuple[str, ...] | None) -> list[str]:
    return [f"{name}_{world}" for world in range(2) for name in (("score",) if names is None else names)]


def _told(block: Block, names: tuple[str, ...] | None) -> list[np.ndarray]:
    """The columns of a block beside its counts."""
    if isinstance(block, PairCounts):
        return list(block.scores.T)
    assert names is not None
    rows = block.columns(names)
    return [column for world in range(2) for column in rows[block.which[:, world]].T]


@contextmanager
def _table(path: str | os.PathLike[str], columns: Sequence[str]) -> Iterator[Table]:
    """A table that appears at `path` when it is done."""
    kind = _Parquet if Path(path).suffix.lower() == PARQUET else _Csv
    with write_atomically("table", path) as unfinished:
        table = kind(unfinished, columns)
        try:
            yield table
        finally:
            table.close()


class _Csv:
    """Rows as text. A float is written as the shortest text that is read back as the same."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self._file = path.open("w", newline="", encoding="utf-8")
        self._writer = csv.writer(self._file)
        self._writer.writerow(columns)

    def add(self, columns: Sequence[np.ndarray]) -> None:
        self._writer.writerows(zip(*(column.tolist() for column in columns), strict=True))

    def close(self) -> None:
        self._file.close()


class _Parquet:
    """Columns of numbers, packed; small blocks are gathered, since every group of rows has a cost."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        import pyarrow  # an extra, and slow to import
        import pyarrow.parquet

        self._arrow, self._path, self._columns = pyarrow, path, columns
        self._writer: Any = None
        self._waiting: list[Sequence[np.ndarray]] = []

    def add(self, columns: Sequence[np.ndarray]) -> None:
        self._waiting.append(columns)
        if sum(len(waiting[0]) for waiting in self._waiting) >= _ROWS:
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
