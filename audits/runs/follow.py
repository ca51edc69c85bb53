"""A run followed through its ledger, while another process plays it or when nobody does any more."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs

from arena import InvalidArgument
from audits.runs.description import Notes
from audits.runs.estimation import Course, Progress
from audits.runs.ledger import Ledger
from audits.runs.ledger.finding import running
from audits.runs.replay import named, read_head, verdict_of
from audits.runs.verdict import Verdict


@attrs.frozen(kw_only=True)
class Standing:
    """How a run stands.

    learner, adversary: names. claimed: ε of the claim under test, in nats. games: in each world, in the
        ledger; of: at most so many.
    progress: the test on the games up to the first block that is missing; None before the first, and where it
        was not asked for. finished: nothing is left to play. running: another process has it now; None if
        unknown. size: bytes of the ledger and its log.
    """

    path: Path
    learner: str
    adversary: str
    claimed: float
    games: int
    of: int
    progress: Progress | None
    finished: bool
    running: bool | None
    size: int

    def as_json(self) -> dict[str, Any]:
        """One flat object."""
        now = self.progress
        return {
            "ledger": str(self.path),
            "learner": self.learner,
            "adversary": self.adversary,
            "epsilon": self.claimed,
            "games": self.games,
            "of": self.of,
            "tested": None if now is None else now.games,
            "refuted": None if now is None else now.refuted,
            "epsilon_lower": None if now is None else now.epsilon_lower,
            "finished": self.finished,
            "running": self.running,
            "bytes": self.size,
        }


class Follower:
    """Follows the run in the ledger at `path`; every look takes in the blocks that came since the last.

    In the process that has the ledger open it would undo its lock.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._plan: dict[str, Any] | None = None
        self._notes = Notes()
        self._course: Course | None = None
        self._next = 0

    @property
    def may_end_early(self) -> bool:
        """Whether the run, once it was looked at, may end before all its games are played."""
        return self._course is not None and self._course.numbers.until_refuted

    def verdict(self) -> Verdict | None:
        """What was found up to the last look; None if there was no game. Slow after many blocks."""
        if self._plan is None or self._course is None or not self._course.games:
            return None
        return verdict_of(self._course, self._notes, self._plan)

    def look(self, *, test: bool = True, watch: Callable[[], None] | None = None) -> Standing:
        """How the run stands now.

        test: test the games, which takes as long as in the run. watch: called after every block.
        Raises: InvalidArgument if the ledger cannot be read, holds no audit, or another one than before.
        """
        has_it = running(self.path)  # before reading, so that a run that ends meanwhile is looked at again
        with Ledger.read(self.path, whole=False) as ledger:
            course, games = self._met(ledger), ledger.pairs()
            if test:
                self._take_in(ledger, course, watch)
        return Standing(
            path=self.path,
            learner=self._notes.learner,
            adversary=self._notes.adversary,
            claimed=course.numbers.epsilon,
            games=games,
            of=course.numbers.games,
            progress=course.progress() if course.games else None,
            finished=course.done or games == course.numbers.games,
            running=has_it,
            size=_size(self.path),
        )

    def _met(self, ledger: Ledger) -> Course:
        """The course, after a look at whether this is the run that is followed."""
        numbers, notes = read_head(ledger)
        if self._course is None:
            self._plan, self._course, self._notes = ledger.plan, Course(numbers), named(notes, ledger.plan)
        if self._plan != ledger.plan:
            raise InvalidArgument(
                f"the ledger {self.path} was replaced by that of another run", remedy="Follow that one anew."
            )
        return self._course

    def _take_in(self, ledger: Ledger, course: Course, watch: Callable[[], None] | None) -> None:
        for index, block in ledger.blocks(start=self._next):
            if index != self._next or course.done:
                break
            course.update(block)
            self._next += 1
            if watch is not None:
                watch()


def _size(path: Path) -> int:
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())
