"""Runs killed at every kind of moment, gone on with, and compared with an undisturbed one to the bit.

`make torture` runs it: python tests/torture.py [--runs N] [--seed S]. It prints a table, and fails if a run
that was killed differs in a single bit of its ledger or of its figures.

A ledger is written by SQLite, whose own hook for tests (`xSetSystemCall`) lets a process be killed within
its n-th write to a disk: before it, after it, or half-way through. Which write is drawn from all that a run
makes, so that kills land in the making of a ledger, in commits, and in what takes over the log at the end;
a log that is left with pages but without the mark of their commit shows it.
"""

from __future__ import annotations

import _sqlite3
import argparse
import ctypes
import json
import os
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import attrs
import numpy as np
from tabulate import tabulate
from tqdm import tqdm

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT)]

from support.waiting import count_blocks  # noqa: E402 - after the path to what it needs

from adversaries.release.count_swap import CountSwap  # noqa: E402
from arena import Release  # noqa: E402
from audits.runs.ledger.copying import copy_ledger  # noqa: E402
from audits.runs.plan import Plan  # noqa: E402
from audits.runs.run import run  # noqa: E402
from learners.releases.laplace_count import LaplaceCount  # noqa: E402

GAMES, BLOCK = 4_000, 40


def plan() -> Plan:
    """Many short blocks, so that commits are much of the time."""
    return Plan(
        learner=LaplaceCount(),
        adversary=CountSwap(),
        referee=Release(),
        epsilon=1.0,
        delta=0.0,
        games=GAMES,
        block=BLOCK,
        seed=3,
    )


# --- a process that kills itself within a write ---------------------------------------------------------

_WRITE = ctypes.CFUNCTYPE(ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64)
_SET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class _Vfs(ctypes.Structure):
    """The head of SQLite's `sqlite3_vfs`, as far as `xSetSystemCall`."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("version", "size_of_file", "longest_path")),
        *((name, ctypes.c_void_p) for name in ("next", "name", "data")),
        *((f"call_{number}", ctypes.c_void_p) for number in range(13)),
        ("set_system_call", _SET),
    )


class Writes:
    """Counts the writes of SQLite in this process from now on; kills it within one, if it is told which.

    fatal: the number of that write, from 1; 0 for none. share: of its bytes that are written before.
    """

    def __init__(self, fatal: int = 0, share: float = 0.0) -> None:
        self.count, self._fatal, self._share = 0, fatal, share
        library = ctypes.CDLL(_sqlite3.__file__)
        library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
        vfs = library.sqlite3_vfs_find(None)
        self._call = _WRITE(self._write)  # kept, since SQLite holds no more than its address
        if vfs.contents.set_system_call(vfs, b"pwrite64", ctypes.cast(self._call, ctypes.c_void_p)):
            raise RuntimeError("this SQLite has no hook for writes")

    def _write(self, file: int, data: int, size: int, offset: int) -> int:
        self.count += 1
        if self.count == self._fatal:
            os.pwrite(file, ctypes.string_at(data, int(size * self._share)), offset)
            os.kill(os.getpid(), signal.SIGKILL)
        return os.pwrite(file, ctypes.string_at(data, size), offset)


# --- what a killed run leaves ------------------------------------------------------------------------------


def unfinished_commit(ledger: Path) -> bool:
    """Whether the log of a ledger ends within a commit: in pages, or a part of one, without its mark."""
    log = ledger.with_name(f"{ledger.name}-wal")
    if not log.exists():
        return False
    content = log.read_bytes()
    if len(content) < 32:
        return len(content) > 0
    page, salts = struct.unpack(">I", content[8:12])[0], content[16:24]
    finished = True
    for start in range(32, len(content), 24 + page):
        head = content[start : start + 24]
        if len(head) == 24 and head[8:16] != salts:
            break  # of an earlier round of the log
        finished = len(content) >= start + 24 + page and head[4:8] != bytes(4)
    return not finished


def rows(ledger: Path) -> list[tuple[int, int, bytes, bytes]]:
    """Every block as it is stored."""
    with closing(sqlite3.connect(ledger)) as connection:
        return connection.execute("SELECT block, pairs, scores, sha256 FROM blocks ORDER BY block").fetchall()


@attrs.frozen
class Outcome:
    """What must not depend on any interruption."""

    figures: str
    rows: list[tuple[int, int, bytes, bytes]]

    @classmethod
    def of(cls, ledger: Path) -> Outcome:
        """That of the run in a ledger, gone on with to its end."""
        verdict = run(plan(), ledger=ledger).as_json()
        figures = {k: v for k, v in verdict.items() if k not in ("seconds", "games_per_second")}
        return cls(json.dumps(figures), rows(ledger))


# --- ways to disturb a run --------------------------------------------------------------------------------


def forked(ledger: Path, writes: Callable[[], object] = lambda: None) -> int:
    """The number of a new process that plays the run."""
    child = os.fork()
    if not child:
        try:
            hook = writes()
            run(plan(), ledger=ledger)
            del hook
        finally:
            os._exit(0)
    return child


def killed_at_a_moment(ledger: Path, draw: np.random.Generator, calm: Calm) -> None:
    child = forked(ledger)
    time.sleep(draw.uniform(0, calm.seconds))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def killed_in_a_write(ledger: Path, draw: np.random.Generator, calm: Calm) -> None:
    fatal, share = int(draw.integers(1, calm.writes + 1)), float(draw.choice([0.0, 0.5, 1.0]))
    os.waitpid(forked(ledger, lambda: Writes(fatal, share)), 0)


def killed_with_workers(ledger: Path, draw: np.random.Generator, calm: Calm) -> None:
    with _with_workers(ledger) as process:
        _wait_for_blocks(ledger, int(draw.integers(1, 80)))
        os.killpg(process.pid, signal.SIGKILL)


def a_worker_killed(ledger: Path, draw: np.random.Generator, calm: Calm) -> None:
    with _with_workers(ledger) as process:
        _wait_for_blocks(ledger, int(draw.integers(1, 80)))
        workers = _children(process.pid)
        if workers:
            with suppress(ProcessLookupError):
                os.kill(int(draw.choice(workers)), signal.SIGKILL)
        process.wait()


def copied(ledger: Path, draw: np.random.Generator, calm: Calm) -> None:
    """The ledger is a copy of one that is written to."""
    source = ledger.with_name(f"{ledger.name}.source")
    child = forked(source)
    while not source.exists():
        time.sleep(0.001)
    time.sleep(draw.uniform(0, calm.seconds))
    copy_ledger(source, ledger)
    os.waitpid(child, 0)


def _with_workers(ledger: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--play", str(ledger)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, start_new_session=True, **quiet)


def _wait_for_blocks(ledger: Path, blocks: int) -> None:
    deadline = time.monotonic() + 60
    while count_blocks(ledger) < blocks and time.monotonic() < deadline:
        time.sleep(0.005)


def _children(process: int) -> list[int]:
    """The workers of a process: its children that run Python, but for the one that keeps its books."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            line = (entry / "cmdline").read_bytes()
            if int(fields[1]) == process and b"resource_tracker" not in line:
                found.append(int(entry.name))
    return found


@attrs.frozen
class Calm:
    """An undisturbed run: what came of it, how long it took, how often SQLite wrote."""

    outcome: Outcome
    seconds: float
    writes: int

    @classmethod
    def of(cls, folder: Path) -> Calm:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                hook, began = Writes(), time.monotonic()
                run(plan(), ledger=folder / "counted.ledger")
                os.write(writing, f"{hook.count} {time.monotonic() - began}".encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        writes, seconds = os.read(reading, 1000).split()
        return cls(Outcome.of(folder / "calm.ledger"), float(seconds), int(writes))


# --- all together -----------------------------------------------------------------------------------------

# Of 200 runs, how many are disturbed in each way, and how often each of them.
WAYS = (
    ("killed at a random moment", killed_at_a_moment, 80, 2),
    ("killed within a write", killed_in_a_write, 90, 2),
    ("killed with its two workers", killed_with_workers, 10, 1),
    ("one of two workers killed", a_worker_killed, 10, 1),
    ("copied while written", copied, 10, 1),
)


def tortured(
    folder: Path, calm: Calm, way: Callable[..., None], runs: int, times: int, draw: np.random.Generator
) -> list[int]:
    """How many runs there were, kills, kills after which a commit was unfinished, and runs that are equal."""
    kills = unfinished = equal = 0
    for number in tqdm(range(runs), desc=way.__name__, leave=False):
        ledger = folder / f"{way.__name__}-{number}.ledger"
        for _ in range(times):
            way(ledger, draw, calm)
            kills += 1
            unfinished += unfinished_commit(ledger)
        equal += Outcome.of(ledger) == calm.outcome
    return [runs, kills, unfinished, equal]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--play", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.play is not None:
        run(plan(), jobs=2, ledger=asked.play)
        return
    began, draw, found = time.monotonic(), np.random.default_rng(asked.seed), []
    with tempfile.TemporaryDirectory() as name:
        calm = Calm.of(Path(name))
        for told, way, share, times in WAYS:
            runs = round(share * asked.runs / 200)
            found.append([told, *tortured(Path(name), calm, way, runs, times, draw)])
    found.append(["all", *np.sum([row[1:] for row in found], axis=0).tolist()])
    head = ("disturbed how", "runs", "times", "left in a commit", "equal to an undisturbed one")
    print(tabulate(found, head, tablefmt="plain"))
    print(f"\nAn undisturbed run: {calm.writes:,} writes in {calm.seconds:.2f} s. Seed {asked.seed}.")
    print(f"It took {time.monotonic() - began:.0f} s.")
    _, runs, _, _, equal = found[-1]
    sys.exit(runs != equal)


if __name__ == "__main__":
    main()
