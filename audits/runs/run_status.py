"""The status of a run, read from its ledger, whether another process is playing it or it has stopped."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from arena import InvalidArgument
from audits.runs.ledger import Ledger
from audits.runs.ledger.copying import log_of
from audits.runs.ledger.notes import LedgerNotes
from audits.runs.run import AuditEstimators
from audits.runs.run_history import make_verdict, read_audit
from audits.runs.verdict import Verdict

# SQLite's lock bytes (https://sqlite.org/fileformat2.html#the_lock_byte_page): readers hold a shared lock on
# them, and a run holds an exclusive one.
_SHARED_FIRST, _SHARED_SIZE = 0x40000000 + 2, 510


@attrs.frozen(kw_only=True)
class RunStatus:
    """The status of a run.

    epsilon: of the claim under test, in nats. games: in each world, in the ledger. games_planned: when the
        run is finished, or at most.
    games_tested: up to the first missing block; refuted, epsilon_lower: the test on them. All three are None
        before the first block, or if no test was asked for.
    finished: nothing is left to play. running: another process has the ledger open; None if unknown.
    bytes: size of the ledger and its log.
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


class RunFollower:
    """Follows the run in the ledger at `path`. Each `read_status` uses the blocks added since the last one.

    Do not use it in the process that has the ledger open for a run: that would release the run's lock.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._plan: dict[str, Any] | None = None
        self._notes = LedgerNotes()
        self._estimators: AuditEstimators | None = None

    @property
    def may_end_early(self) -> bool:
        """Whether the run may end before all its games are played. Known after `read_status`."""
        return self._estimators is not None and self._estimators.plan.until_refuted

    def make_verdict(self) -> Verdict | None:
        """The verdict on the blocks read so far; None if there were none. Slow after many blocks."""
        if self._plan is None or self._estimators is None or not self._estimators.games:
            return None
        return make_verdict(self._estimators, self._notes, self._plan)

    def read_status(self, *, test: bool = True, watch: Callable[[], None] | None = None) -> RunStatus:
        """The present status of the run.

        test: test the games, which takes as long as in the run. watch: called after every block.
        Raises: InvalidArgument if the ledger cannot be read, contains no audit, or another one than before.
        """
        running = is_running(self.path)  # before reading: a run that ends meanwhile still counts as running
        with Ledger.read(self.path) as ledger:
            estimators, games = self._check_same_run(ledger), ledger.count_pairs()
            if test:
                estimators.update_from_ledger(ledger, watch)
        tested = bool(estimators.games)
        return RunStatus(
            ledger=self.path,
            learner=self._notes.learner,
            adversary=self._notes.adversary,
            epsilon=estimators.plan.epsilon,
            games=games,
            games_planned=estimators.plan.games,
            games_tested=estimators.games if tested else None,
            refuted=estimators.refuted if tested else None,
            epsilon_lower=estimators.betting.epsilon_lower if tested else None,
            finished=estimators.done or games == estimators.plan.games,
            running=running,
            bytes=sum(file.stat().st_size for file in (self.path, log_of(self.path)) if file.exists()),
        )

    def _check_same_run(self, ledger: Ledger) -> AuditEstimators:
        settings, notes = read_audit(ledger)
        if self._estimators is None:
            self._plan, self._estimators, self._notes = ledger.plan, AuditEstimators(settings), notes
        if self._plan != ledger.plan:
            raise InvalidArgument(
                f"the ledger {self.path} was replaced by that of another run", remedy="Follow the new run."
            )
        return self._estimators


def is_running(path: Path) -> bool | None:
    """Whether another process has the ledger at `path` open for a run; None if that cannot be known.

    Asks for the lock that a run holds and releases it at once. Do not call it in the process that has the
    ledger open: releasing the lock would release that of the run.
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
