"""Players and calls that trouble the workers that run them: they end, hang, or send what is wrong."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from adversaries.release.count_swap import CountSwap
from arena import Release
from audits.reports.json_form import to_data
from audits.runs.plan import Plan
from audits.runs.verdict import Verdict
from learners.releases.laplace_count import LaplaceCount


@attrs.frozen(kw_only=True)
class Rough(LaplaceCount):
    """A count that troubles every process but `client`, in about one block of seven.

    how: "kill", "hang", "always" (its process ends whenever it plays such a block), or "never"; the first two
    once, as the file `flag` tells.
    """

    name = "rough"
    flag: str = ""
    how: str = "kill"
    client: int = attrs.field(factory=os.getpid)

    def start(self, games: int, rng: np.random.Generator) -> Any:
        if os.getpid() != self.client and int(np.sum(rng.bit_generator.state["state"]["state"])) % 7 == 0:
            if self.how == "always":
                os._exit(3)
            if self.how == "kill" and first(self.flag):
                os.kill(os.getpid(), signal.SIGKILL)
            if self.how == "hang" and first(self.flag):
                time.sleep(600)
        return LaplaceCount.start(self, games, rng)


def rough_plan(folder: Path, how: str, **settings: Any) -> Plan:
    learner = Rough(flag=str(folder / "flag"), how=how)
    given = {"epsilon": 1.0, "delta": 0.0, "games": 15_000, "block": 500, "seed": 1} | settings
    return Plan(learner=learner, adversary=CountSwap(), referee=Release(), **given)


def first(flag: str) -> bool:
    """Whether nobody has asked so before."""
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def figures(verdict: Verdict) -> dict[str, Any]:
    """All of a verdict but the clock."""
    return {k: v for k, v in to_data(verdict).items() if k not in ("seconds", "games_per_second")}


@attrs.frozen
class Noted:
    """A call of some weight that notes where it is pickled and opened: a line with the process each time."""

    folder: str
    weight: bytes = bytes(1_000_000)

    def __reduce__(self) -> tuple[Any, ...]:
        note(self.folder, "pickled")
        return opened, (self.folder, self.weight)

    def __call__(self, task: int) -> tuple[int, int]:
        return task * task, os.getpid()


def opened(folder: str, weight: bytes) -> Noted:
    note(folder, "opened")
    return Noted(folder, weight)


def note(folder: str, what: str) -> None:
    with Path(folder, what).open("a") as file:
        file.write(f"{os.getpid()}\n")


def notes(folder: Path, what: str) -> list[int]:
    return [int(line) for line in (folder / what).read_text().split()]


@attrs.frozen
class Garbling:
    """A call whose worker sends something wrong, once where `flag` is a file's name, else always."""

    how: str
    flag: str = ""

    def __call__(self, task: int) -> int:
        if task == 5 and (not self.flag or first(self.flag)):
            if self.how == "value":
                return -1
            from audits.runs.workers import envelope

            right = envelope.Envelope.of

            def wrong(place: int, kind: str, content: object) -> Any:
                envelope.Envelope.of = right  # type: ignore[method-assign]
                return garbled(right(10**6 if self.how == "index" else place, kind, content), self.how)

            envelope.Envelope.of = wrong  # type: ignore[method-assign, assignment]
        return task * task


def garbled(sent: Any, how: str) -> Any:
    if how == "type":
        return "garbage"
    if how == "checksum":
        return attrs.evolve(sent, payload=sent.payload[:-1] + b"x")
    if how == "versions":
        return attrs.evolve(sent, software={**sent.software, "numpy": "1.0"})
    return sent


def square_fault(task: int, result: object) -> str:
    return "" if result == task * task else "is no square"
