"""Kill runs at all kinds of moments, resume them, and compare them bit for bit with an undisturbed run.

`make torture` runs it: python tests/torture.py [--share X] [--long] [--seed S]. It prints a table, and fails
if a run that was killed or disturbed differs in a single bit of its ledger or its figures, or if a process of
it is left two seconds after its end. `--long` (TORTURE=long): 1,000 kills and 200 other disturbances.

SQLite's hook for its own tests (`xSetSystemCall`) allows a process to be killed in its n-th write to the
disk: before it, after it, or half-way through. The write is chosen at random among all writes of a run, so
that some kills hit the creation of a ledger, some a commit, and some the checkpoint at the end. A log that
ends in pages without the mark of their commit shows that a commit was hit.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import attrs
import numpy as np
from tabulate import tabulate
from tqdm import tqdm

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT)]

from support.ledgers import FILES, FOLDERS  # noqa: E402 - after the path to what it needs
from support.processes import count_blocks, find_processes  # noqa: E402

from adversaries.release.point_swap import CountSwap  # noqa: E402
from arena import Release  # noqa: E402
from audits.reports.json_form import to_data  # noqa: E402
from audits.runs.ledger.schema import copy_ledger  # noqa: E402
from audits.runs.plan import Plan  # noqa: E402
from audits.runs.run import run  # noqa: E402
from audits.runs.workers import Workers  # noqa: E402
from learners.releases.counts import LaplaceCount  # noqa: E402

GAMES, BLOCK = 4_000, 40


def make_plan() -> Plan:
    """Many short blocks, so that much of the time is spent in commits."""
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
    """The first fields of SQLite's `sqlite3_vfs`, up to `xSetSystemCall`."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("version", "size_of_file", "longest_path")),
        *((name, ctypes.c_void_p) for name in ("next", "name", "data")),
        *((f"call_{number}", ctypes.c_void_p) for number in range(13)),
        ("set_system_call", _SET),
    )


class Writes:
    """Counts the writes of SQLite in this process from now on, and kills the process in one of them.

    fatal: the number of that write, from 1; 0 for none. share: the part of its bytes that is written before.
    """

    def __init__(self, fatal: int = 0, share: float = 0.0) -> None:
        self.count, self._fatal, self._share = 0, fatal, share
        library = ctypes.CDLL(_find_loaded_sqlite())
        library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
        vfs = library.sqlite3_vfs_find(None)
        self._call = _WRITE(self._write)  # a reference, since SQLite has only its address
        if vfs.contents.set_system_call(vfs, b"pwrite64", ctypes.cast(self._call, ctypes.c_void_p)):
            raise RuntimeError("this SQLite has no hook for writes")

    def _write(self, file: int, data: int, size: int, offset: int) -> int:
        self.count += 1
        if self.count == self._fatal:
            os.pwrite(file, ctypes.string_at(data, int(size * self._share)), offset)
            os.kill(os.getpid(), signal.SIGKILL)
        return os.pwrite(file, ctypes.string_at(data, size), offset)


def _find_loaded_sqlite() -> str:
    """The file of the SQLite library, or of the module with SQLite in it, that this process has loaded."""
    mapped = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines()}
    return min(file for file in mapped if "sqlite3" in Path(file).name)


# --- what a killed run leaves ------------------------------------------------------------------------------


def has_unfinished_commit(ledger: Path) -> bool:
    """Whether the log of a ledger ends within a commit: in pages, or part of a page, without the mark of a
    commit."""
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
            break  # left over from an earlier use of the log
        finished = len(content) >= start + 24 + page and head[4:8] != bytes(4)
    return not finished


def rows(ledger: Path) -> list[tuple[int, int, bytes, bytes]]:
    """All blocks as they are stored."""
    with closing(sqlite3.connect(ledger)) as connection:
        return connection.execute("SELECT block, pairs, scores, sha256 FROM blocks ORDER BY block").fetchall()


@attrs.frozen
class Outcome:
    """The figures and blocks of a run, which must not depend on interruptions."""

    figures: str
    rows: list[tuple[int, int, bytes, bytes]]

    @classmethod
    def of(cls, ledger: Path) -> Outcome:
        """The outcome of the run in a ledger, resumed and finished."""
        verdict = to_data(run(make_plan(), ledger=ledger))
        figures = {k: v for k, v in verdict.items() if k not in ("seconds", "games_per_second")}
        return cls(json.dumps(figures), rows(ledger))


# --- ways to disturb a run --------------------------------------------------------------------------------


def fork_run(ledger: Path, writes: Callable[[], object] = lambda: None) -> int:
    """The id of a new process that plays the run."""
    child = os.fork()
    if not child:
        try:
            hook = writes()
            run(make_plan(), ledger=ledger)
            del hook
        finally:
            os._exit(0)
    return child


def kill_at_a_moment(ledger: Path, rng: np.random.Generator, undisturbed: Undisturbed) -> None:
    child = fork_run(ledger)
    time.sleep(rng.uniform(0, undisturbed.seconds))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def kill_in_a_write(ledger: Path, rng: np.random.Generator, undisturbed: Undisturbed) -> None:
    fatal, share = int(rng.integers(1, undisturbed.writes + 1)), float(rng.choice([0.0, 0.5, 1.0]))
    os.waitpid(fork_run(ledger, lambda: Writes(fatal, share)), 0)


def kill_all(ledger: Path, rng: np.random.Generator, undisturbed: Undisturbed) -> None:
    with _with_workers(ledger, rng) as process:
        os.killpg(process.pid, signal.SIGKILL)


def kill_the_main_process(ledger: Path, rng: np.random.Generator, undisturbed: Undisturbed) -> None:
    with _with_workers(ledger, rng) as process:
        process.kill()


def kill_a_worker(ledger: Path, rng: np.random.Generator, undisturbed: Undisturbed) -> None:
    with _with_workers(ledger, rng) as process:
        workers = _children(process.pid)
        if workers:
            with suppress(ProcessLookupError):
                os.kill(int(rng.choice(workers)), signal.SIGKILL)


def terminate(ledger: Path, rng: np.random.Generator, undisturbed: Undisturbed) -> None:
    """End the run by SIGTERM, which half of the time reaches the workers too."""
    with _with_workers(ledger, rng) as process:
        (os.killpg if rng.integers(2) else os.kill)(process.pid, signal.SIGTERM)


def lose_the_ledger(ledger: Path, rng: np.random.Generator, undisturbed: Undisturbed) -> None:
    """Delete, replace, move or truncate its files or its folder; the ledger is what was then saved."""
    own = ledger.with_suffix(".lost") / ledger.name
    own.parent.mkdir()
    disturb = list({**FILES, **FOLDERS})[rng.integers(len(FILES) + len(FOLDERS))]
    with _with_workers(own, rng), suppress(OSError):  # the run has ended, and removed its log
        disturb(own)
    for place in (own.parent, Path.cwd()):
        for saved in place.glob(f"{ledger.stem}-saved*"):
            saved.rename(ledger)
    shutil.rmtree(own.parent.with_name("moved"), ignore_errors=True)


def start_another(ledger: Path, rng: np.random.Generator, undisturbed: Undisturbed) -> None:
    """Start the run again while it goes on: the second is refused."""
    with _with_workers(ledger, rng), _with_workers(ledger, rng):
        pass


def kill_through_a_link(ledger: Path, rng: np.random.Generator, undisturbed: Undisturbed) -> None:
    """Begin the run by a symbolic link, and kill it; it goes on by its own name."""
    link = ledger.with_suffix(".link")
    link.symlink_to(ledger.name)
    with _with_workers(link, rng) as process:
        process.kill()


def copy_while_written(ledger: Path, rng: np.random.Generator, undisturbed: Undisturbed) -> None:
    """Make the ledger a copy of another that is being written."""
    source = ledger.with_name(f"{ledger.name}.source")
    child = fork_run(source)
    while not source.exists():
        time.sleep(0.001)
    time.sleep(rng.uniform(0, undisturbed.seconds))
    copy_ledger(source, ledger)
    os.waitpid(child, 0)


@contextmanager
def _with_workers(ledger: Path, rng: np.random.Generator) -> Iterator[subprocess.Popen[bytes]]:
    """A run with two workers, of which some blocks are done. At the end, waits for it.

    Raises: Survived if a process of it is left long after the end.
    """
    backend = str(rng.choice(BACKENDS))
    command = [sys.executable, __file__, "--play", str(ledger), "--backend", backend]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, start_new_session=True, **quiet) as process:
        _wait_for_blocks(ledger, process, int(rng.integers(1, 80)))
        yield process
        process.wait()
    deadline = time.monotonic() + 600  # whatever else the machine does
    while find_processes(process.pid):
        if time.monotonic() > deadline:
            os.killpg(process.pid, signal.SIGKILL)
            raise Survived
        time.sleep(0.02)


class Survived(Exception):
    """A process of a run is left after its end."""


def _wait_for_blocks(ledger: Path, process: subprocess.Popen[bytes], blocks: int) -> None:
    deadline = time.monotonic() + 60
    while count_blocks(ledger) < blocks and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)


def _children(process: int) -> list[int]:
    """The workers of a process: its children, except the resource tracker."""
    workers = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            line = (entry / "cmdline").read_bytes()
            if int(fields[1]) == process and b"resource_tracker" not in line:
                workers.append(int(entry.name))
    return workers


@attrs.frozen
class Undisturbed:
    """An undisturbed run: its outcome, its duration, and the number of SQLite's writes."""

    outcome: Outcome
    seconds: float
    writes: int

    @classmethod
    def of(cls, folder: Path) -> Undisturbed:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                hook, start = Writes(), time.monotonic()
                run(make_plan(), ledger=folder / "counted.ledger")
                os.write(writing, f"{hook.count} {time.monotonic() - start}".encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        writes, seconds = os.read(reading, 1000).split()
        return cls(Outcome.of(folder / "undisturbed.ledger"), float(seconds), int(writes))


# --- all together -----------------------------------------------------------------------------------------

# For each way of disturbance: how often in a short and in a long torture, and how often a run suffers it.
WAYS = (
    ("killed at a random moment", kill_at_a_moment, 160, 300, 2),
    ("killed within a write", kill_in_a_write, 180, 400, 2),
    ("killed with its two workers", kill_all, 10, 100, 1),
    ("killed without its workers", kill_the_main_process, 10, 100, 1),
    ("one of two workers killed", kill_a_worker, 10, 100, 1),
    ("ended by SIGTERM", terminate, 5, 60, 1),
    ("ledger lost under it", lose_the_ledger, 5, 60, 1),
    ("begun twice", start_another, 5, 30, 1),
    ("killed, begun by a link", kill_through_a_link, 5, 30, 1),
    ("copied while written", copy_while_written, 10, 20, 1),
)
BACKENDS = ("loky", *(["dask"] if find_spec("distributed") else []))


def disturb_runs(
    folder: Path,
    undisturbed: Undisturbed,
    way: Callable[..., None],
    disturbances: int,
    times: int,
    rng: np.random.Generator,
) -> list[int]:
    """The numbers of runs, of disturbances, of those that left a commit unfinished, of runs of which a
    process was left, and of runs with the right outcome."""
    unfinished = survived = equal = 0
    runs = -(-disturbances // times)
    for number in tqdm(range(runs), desc=way.__name__, leave=False):
        ledger = folder / f"{way.__name__}-{number}.ledger"
        for _ in range(times):
            try:
                way(ledger, rng, undisturbed)
            except Survived:
                survived += 1
            unfinished += has_unfinished_commit(ledger)
        equal += Outcome.of(ledger) == undisturbed.outcome
    return [runs, runs * times, unfinished, survived, equal]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="Of the disturbances.")
    parser.add_argument("--long", action="store_true", default=os.environ.get("TORTURE") == "long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--play", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--backend", default="loky", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.play is not None:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # as the command line has it
        run(make_plan(), jobs=Workers(jobs=2, backend=options.backend), ledger=options.play)
        return
    start, rng, table = time.monotonic(), np.random.default_rng(options.seed), []
    with tempfile.TemporaryDirectory() as name, chdir(name):
        undisturbed = Undisturbed.of(Path(name))
        for label, way, few, many, times in WAYS:
            number = math.ceil(options.share * (many if options.long else few))
            table.append([label, *disturb_runs(Path(name), undisturbed, way, number, times, rng)])
    table.append(["all", *np.sum([row[1:] for row in table], axis=0).tolist()])
    head = ("disturbance", "runs", "times", "left in a commit", "processes left", "equal to undisturbed")
    print(tabulate(table, head, tablefmt="plain"))
    print(
        f"\nAn undisturbed run: {undisturbed.writes:,} writes in {undisturbed.seconds:.2f} s. "
        f"Seed {options.seed}."
    )
    print(f"It took {time.monotonic() - start:.0f} s.")
    _, runs, _, _, survived, equal = table[-1]
    sys.exit(runs != equal or survived > 0)


if __name__ == "__main__":
    main()
