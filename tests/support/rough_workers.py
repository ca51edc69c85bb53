"""Players and calls that make workers fail: they end the process, hang, or send wrong answers."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from adversaries.release.point_swap import CountSwap
from arena import Release
from audits.reports.json_form import to_data
from audits.runs.plan import Plan
from audits.runs.verdict import Verdict
from learners.releases.laplace_count import LaplaceCount


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
