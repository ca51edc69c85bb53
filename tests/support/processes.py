"""Waiting for other processes, and players and calls that make workers end, hang, or send wrong answers."""

from __future__ import annotations

import os
import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from adversaries.release.point_swap import CountSwap
from arena import Release
from audits.reports.json_form import to_data
from audits.runs.ledger.schema import copy_ledger
from audits.runs.plan import Plan
from audits.runs.verdict import Verdict
from learners.releases.counts import LaplaceCount


def wait_until(condition: Callable[[], object]) -> None:
    """Return once the condition holds, however long that takes."""
    while not condition():
        time.sleep(0.01)


def count_blocks(ledger: Path) -> int:
    """The number of blocks in a ledger, without touching its files; 0 if there is none yet."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        with suppress(Exception):
            copy_ledger(ledger, copy)
            with closing(sqlite3.connect(copy)) as connection:
                return int(connection.execute("SELECT count(*) FROM blocks").fetchone()[0])
    return 0


def find_processes(group: int) -> set[int]:
    """The processes of a process group that have not ended; by Linux' /proc."""
    processes = set()
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            state, _, own_group = file.read_text().rpartition(")")[2].split()[:3]
            if int(own_group) == group and state != "Z":
                processes.add(int(file.parent.name))
    return processes


def handles(process: int, number: int) -> bool:
    """Whether a process has a handler for a signal; by Linux' /proc."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
    return bool(int(fields["SigCgt"], 16) >> (number - 1) & 1)


def interrupt_at(games: int) -> Callable[[Any], None]:
    """A `watch` that presses Ctrl-C as soon as so many games, or those of a run's progress, are finished."""

    def watch(done: Any) -> None:
        if getattr(done, "games", done) >= games:
            raise KeyboardInterrupt

    return watch


@attrs.frozen(kw_only=True)
class Rough(LaplaceCount):
    """A count that makes every process but `client` fail in about one block of seven.

    how: "kill" and "hang" happen once, the first time that the file `flag` is created; "always" ends the
    process in each of these blocks; "never" does nothing.
    """

    name = "rough"
    flag: str = ""
    how: str = "kill"
    client: int = attrs.field(factory=os.getpid)

    def start(self, games: int, rng: np.random.Generator) -> Any:
        in_worker = os.getpid() != self.client and games > 100  # fewer are played by checks before the run
        if in_worker and int(np.sum(rng.bit_generator.state["state"]["state"])) % 7 == 0:
            if self.how == "always":
                os._exit(3)
            if self.how == "kill" and claim_flag(self.flag):
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "hang" and claim_flag(self.flag):
                time.sleep(600)
        return LaplaceCount.start(self, games, rng)


def rough_plan(folder: Path, how: str, **settings: Any) -> Plan:
    learner = Rough(flag=str(folder / "flag"), how=how)
    defaults = {"epsilon": 1.0, "delta": 0.0, "games": 15_000, "block": 500, "seed": 2} | settings
    return Plan(learner=learner, adversary=CountSwap(), referee=Release(), **defaults)


def claim_flag(flag: str) -> bool:
    """Whether this is the first call for the file."""
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def figures(verdict: Verdict) -> dict[str, Any]:
    """The verdict without times."""
    return {k: v for k, v in to_data(verdict).items() if k not in ("seconds", "games_per_second")}


@attrs.frozen
class RecordingCall:
    """A large call that records where it is pickled and opened: a line with the process id each time."""

    folder: str
    weight: bytes = bytes(1_000_000)

    def __reduce__(self) -> tuple[Any, ...]:
        add_line(self.folder, "pickled")
        return open_recording, (self.folder, self.weight)

    def __call__(self, task: int) -> tuple[int, int]:
        return task * task, os.getpid()


def open_recording(folder: str, weight: bytes) -> RecordingCall:
    add_line(folder, "opened")
    return RecordingCall(folder, weight)


def add_line(folder: str, name: str) -> None:
    with Path(folder, name).open("a") as file:
        file.write(f"{os.getpid()}\n")


def read_lines(folder: Path, name: str) -> list[int]:
    return [int(line) for line in (folder / name).read_text().split()]


def square_with_other_versions(task: int) -> int:
    """The square of a task, sent by a worker that says that it has another numpy."""
    from audits.runs.workers import worker_process

    read_software = worker_process.software

    def claim_others() -> dict[str, str]:
        worker_process.software = read_software  # other tests use the process, too
        return {**read_software(), "numpy": "1.0"}

    worker_process.software = claim_others  # type: ignore[assignment]
    return task * task
