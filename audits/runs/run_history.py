"""A run read from its ledger without the players: its figures, its status, and tables of its blocks."""

from __future__ import annotations

import csv
import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from arena import InvalidArgument
from arena.errors import suggest_extra
from audits.data.output_files import check_output_file, write_atomically
from audits.distinguishers.view_features import Block
from audits.runs.audit_estimators import AuditEstimators
from audits.runs.ledger import Ledger
from audits.runs.ledger.schema import log_of
from audits.runs.other_relation import apply_decision, read_decision
from audits.runs.plan import PlanSettings
from audits.runs.verdict import RunNotes, Verdict
from audits.statistics.betting import ceilings
from audits.statistics.score_pairs import PairCounts

MAX_POINTS = 400  # of a curve; more cannot be told apart on a page
# SQLite's lock bytes (https://sqlite.org/fileformat2.html#the_lock_byte_page): readers hold a shared lock on
# them, and a run holds an exclusive one.
_SHARED_FIRST, _SHARED_SIZE = 0x40000000 + 2, 510
CSV, PARQUET = SUFFIXES = (".csv", ".parquet")  # of tables
_FIGURES = ("games", "epsilon_lower", "log_wealth", "log_evidence")
_MIN_ROWS = 2**15  # rows of a Parquet file that are written at once
Watch = Callable[[int, int], object]  # called with the blocks that are done, and all of them


@attrs.frozen(kw_only=True, eq=False)
class RunHistory:
    """The verdict of a run, with all estimators, and how it was reached.

    Arrays are (B + 1,), before the first and after each of B blocks: games, in each world; epsilon_lower,
    log_wealth, log_evidence, in nats, as in `AuditEstimators`. threshold: of log_evidence.
    """

    plan: dict[str, Any]
    settings: PlanSettings
    notes: RunNotes
    verdict: Verdict
    games: np.ndarray
    epsilon_lower: np.ndarray
    log_wealth: np.ndarray
    log_evidence: np.ndarray
    threshold: float
    ceilings: list[tuple[int, float]]


def read_audit(ledger: Ledger) -> tuple[PlanSettings, RunNotes]:
    """The settings and notes of the audit in a ledger. Raises: InvalidArgument if it contains no audit."""
    try:
        return PlanSettings.read_stored(ledger.plan), RunNotes.from_ledger(ledger.notes)
    except ValueError as error:  # also of notes that no claim can have
        raise InvalidArgument(
            f"the ledger {ledger.path} contains no audit: {error}", remedy="Give the ledger of an audit."
        ) from error


def no_games_yet(path: str | os.PathLike[str]) -> InvalidArgument:
    """The error for a ledger without blocks."""
    return InvalidArgument(
        f"the ledger {path} contains no games yet", remedy="Try again when the run has played some."
    )


def read_history(path: str | os.PathLike[str], watch: Watch | None = None) -> RunHistory:
    """A run up to the first block that is missing. Raises: as `read_figures`."""
    with Ledger.read(path) as ledger:
        plan, (settings, notes) = ledger.plan, read_audit(ledger)
        estimators = AuditEstimators(settings, all_estimators=True, relation_chosen=notes.relation_chosen)
        games, epsilon_lower, log_wealth, log_evidence = _update_from_ledger(estimators, ledger, watch)
    return RunHistory(
        plan=plan,
        settings=settings,
        notes=notes,
        verdict=_make_verdict(estimators, notes),
        games=games,
        epsilon_lower=epsilon_lower,
        log_wealth=log_wealth,
        log_evidence=log_evidence,
        threshold=estimators.betting.threshold,
        ceilings=ceilings(estimators.block_sizes, points=MAX_POINTS, **settings.of_betting()),
    )


def _make_verdict(estimators: AuditEstimators, notes: RunNotes) -> Verdict:
    """The verdict on the blocks of a ledger, with what it says of a relation that nobody chose."""
    verdict = estimators.make_verdict(notes)
    if not verdict.refuted:
        return verdict
    return apply_decision(verdict, read_decision(verdict.claim, verdict.epsilon_lower, notes))


def read_figures(path: str | os.PathLike[str]) -> np.ndarray:
    """(4, B + 1): the rows games, epsilon_lower, log_wealth and log_evidence of `RunHistory`.

    Raises: InvalidArgument if the ledger cannot be read or contains no audit or no first block.
    """
    with Ledger.read(path) as ledger:
        settings, notes = read_audit(ledger)
        return _update_from_ledger(AuditEstimators(settings, relation_chosen=notes.relation_chosen), ledger)


def _update_from_ledger(
    estimators: AuditEstimators, ledger: Ledger, watch: Watch | None = None
) -> np.ndarray:
    rows, blocks = [(0, 0.0, 0.0, 0.0)], len(ledger.block_indices())
    if not blocks:
        raise no_games_yet(ledger.path)

    def add_row() -> None:
        certified = estimators.epsilon_lower
        rows.append((estimators.games, certified, estimators.log_wealth, estimators.log_evidence))
        if watch is not None:
            watch(len(rows) - 1, blocks)

    estimators.update_from_ledger(ledger, watch=add_row)
    for _ in ledger.blocks(start=len(estimators.block_sizes)):
        pass  # those that no figure depends on are checked, too
    if not estimators.games:
        raise InvalidArgument(
            f"the ledger {ledger.path} lacks block 0, and the test uses the blocks in order",
            remedy="Let the run go on, or merge the ledgers of the other parts.",
        )
    return np.array(rows).T


@attrs.frozen(kw_only=True)
class RunStatus:
    """The status of a run.

    games: in each world, in the ledger. games_tested: up to the first missing block; refuted, epsilon_lower:
    the test on them. All three are None before the first block, or if no test was asked for. undecided: why a
    refutation decides nothing, if nobody chose its relation and the ledger does not say what it means.
    running: another process has the ledger open; None if unknown. bytes: of the ledger and its log.
    """

    ledger: Path
    learner: str
    adversary: str
    epsilon: float
    games: int
    games_planned: int
    games_tested: int | None
    refuted: bool | None
    epsilon_lower: float | None
    finished: bool
    running: bool | None
    bytes: int
    undecided: str = ""


class RunFollower:
    """Follows the run of another process in the ledger at `path`: reading releases a process' own lock."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._plan: dict[str, Any] | None = None
        self._notes = RunNotes()
        self._estimators: AuditEstimators | None = None

    @property
    def may_end_early(self) -> bool:
        """Whether the run may end before all its games are played. Known after `read_status`."""
        return self._estimators is not None and self._estimators.plan.until_refuted

    def make_verdict(self) -> Verdict | None:
        """The verdict on the blocks read so far, if any. Slow after many blocks."""
        estimators = self._estimators
        if estimators is None or not estimators.games:
            return None
        return _make_verdict(estimators, self._notes)

    def lacks_decision(self) -> bool:
        """Whether nobody chose the relation of the claim that is refuted, and the ledger does not say what
        that means for the other one."""
        verdict = self.make_verdict()
        return verdict is not None and bool(verdict.relation_undecided) and not self._notes.relation_note

    def read_status(self, *, test: bool = True, watch: Callable[[], None] | None = None) -> RunStatus:
        """The present status. test: test the games, which takes as long as in the run. watch: as of `run`.

        Raises: InvalidArgument if the ledger cannot be read, contains no audit, or another one than before.
        """
        running = is_running(self.path)  # before reading: a run that ends meanwhile still counts as running
        with Ledger.read(self.path) as ledger:
            estimators, games = self._check_same_run(ledger), ledger.count_pairs()
            if test:
                estimators.update_from_ledger(ledger, watch)
        tested, planned = bool(estimators.games), estimators.plan.games
        refuted, decision = estimators.refuted, None
        if refuted:
            decision = read_decision(
                self._notes.make_claim(estimators.plan), estimators.epsilon_lower, self._notes
            )
            refuted = decision is None or decision.refuted
        return RunStatus(
            ledger=self.path,
            learner=self._notes.learner,
            adversary=self._notes.adversary,
            epsilon=estimators.plan.epsilon,
            games=games,
            games_planned=planned,
            games_tested=estimators.games if tested else None,
            refuted=refuted if tested else None,
            undecided="" if decision is None else decision.undecided,
            epsilon_lower=estimators.epsilon_lower if tested else None,
            finished=estimators.done or games == planned,
            running=running,
            bytes=sum(file.stat().st_size for file in (self.path, log_of(self.path)) if file.exists()),
        )

    def _check_same_run(self, ledger: Ledger) -> AuditEstimators:
        settings, notes = read_audit(ledger)
        if self._estimators is None:
            self._plan = ledger.plan
            self._estimators = AuditEstimators(settings, relation_chosen=notes.relation_chosen)
        self._notes = notes  # a run adds to them at its end
        if self._plan != ledger.plan:
            raise InvalidArgument(
                f"the ledger {self.path} was replaced by that of another run", remedy="Follow the new run."
            )
        return self._estimators


def is_running(path: Path) -> bool | None:
    """Whether another process has the ledger at `path` open for a run; None if unknown.

    It takes the lock and releases it at once, so the run's own process must not call it.
    """
    try:
        import fcntl  # not on Windows
    except ImportError:
        return None
    if not path.is_file():  # opening a pipe might never end
        return None
    try:
        with path.open("rb") as file:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, _SHARED_SIZE, _SHARED_FIRST)
    except BlockingIOError:
        return True
    except OSError:  # the file cannot be read, or its file system has no locks
        return None
    return False


# --- tables ------------------------------------------------------------------------------------------------


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

    The columns are `block`, `count`, `score_0` and `score_1`, of worlds 0 and 1. If the distinguisher is
    learned, features of both views replace the scores, -2 if one is missing. watch: called after every block.

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
