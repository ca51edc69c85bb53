"""The command as a process of its own: exit status, pipes, signals, and how soon it answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.command_line import ARENA, ENDING, start
from support.paths import ROOT
from support.processes import count_blocks, find_processes, handles, wait_until

from arena import Release
from audits.runs.block_sizes import BlockSizes

COUNT = ("audit", "laplace-count", "--against", "count-swap")


def arena(*arguments: str, **options) -> subprocess.CompletedProcess:
    return subprocess.run([*ARENA, *arguments], cwd=ROOT, text=True, capture_output=True, **options)


def test_help_does_not_wait_for_what_it_does_not_need() -> None:
    program = (
        "import sys; from audits.cli import main\n"
        "try: main()\n"
        "finally: print(sorted({'numpy', 'scipy', 'attrs', 'arena'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program, "--help"], cwd=ROOT, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (0, "[]\n")
    assert "Games:" in done.stdout


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize(
    "arguments", [("--help",), ("list",), ("audit", "--help"), (*COUNT, "--games", "100")]
)
def test_a_full_disk_is_status_2(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        failed = subprocess.run(
            [*ARENA, *arguments], cwd=ROOT, text=True, stdout=full, stderr=subprocess.PIPE
        )
    assert failed.returncode == 2
    assert failed.stderr == "arena: the output cannot be written (No space left on device)\n"


@pytest.mark.thorough
def test_a_reader_that_leaves_early_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as closed:
        done = subprocess.run([*ARENA, "list"], cwd=ROOT, text=True, stdout=closed, stderr=subprocess.PIPE)
    assert done.stderr == ""


@pytest.mark.thorough
def test_output_needs_no_unicode() -> None:
    done = arena("show", "laplace-count", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "laplace-count (learner)" in done.stdout


@pytest.mark.thorough
@pytest.mark.parametrize("to_workers", [True, False])
@pytest.mark.parametrize("number", ENDING)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupted_audit_prints_its_figures(
    tmp_path: Path, jobs: str, number: signal.Signals, to_workers: bool
) -> None:
    """To the workers too: as Ctrl-C of a terminal, and the SIGTERM of a service manager."""
    ledger = tmp_path / "run.ledger"
    running = start(*COUNT, "--games", "1e9", "--jobs", jobs, "--ledger", str(ledger), "--json")
    # Of two workers one may bring 63 blocks while the other is at the first, without which none is looked at.
    wait_until(lambda: count_blocks(ledger) >= 70)
    (os.killpg if to_workers else os.kill)(running.pid, number)
    output, errors = running.communicate()
    assert running.returncode == 130
    assert all(line.startswith("arena: note: laplace-count: at most") for line in errors.splitlines())
    found = json.loads(output)
    assert found["interrupted"]
    assert found["games"] > 0


NOTING = """
import os, tempfile
import attrs
from learners.online.conservative import Soa

@attrs.frozen(kw_only=True)
class Noting(Soa):
    name = "noting"
    folder: str

    def start(self, games, rng):
        os.close(tempfile.mkstemp(dir=self.folder)[0])
        return Soa.start(self, games, rng)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupted_race_prints_its_figures(tmp_path: Path, jobs: str) -> None:
    plug_in, folder = tmp_path / "noting.py", tmp_path / "batches"
    plug_in.write_text(NOTING)
    folder.mkdir()
    options = ("--against", "shattered-tree", "--set", f"folder={folder}", "--rounds", "20", "--games", "1e8")
    running = start("race", f"{plug_in}:Noting", *options, "--jobs", jobs, "--json")
    wait_until(lambda: len(list(folder.iterdir())) >= 80)  # blocks may be ahead of the first by 64
    os.kill(running.pid, signal.SIGTERM)
    output, errors = running.communicate()
    assert running.returncode == 130
    assert all(line.startswith("arena: note: laplace-count: at most") for line in errors.splitlines())
    found = json.loads(output)
    assert found["interrupted"]
    assert 0 < found["games"] < 1e8


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="handlers are found in /proc")
def test_what_is_interrupted_before_its_first_game_says_so() -> None:
    running = start(*COUNT, "--games", "1e9")
    # Its own handler is there before it imports what takes longest.
    wait_until(lambda: handles(running.pid, signal.SIGTERM))
    os.kill(running.pid, signal.SIGTERM)
    said = "arena: interrupted: no games were finished that could be reported\n"
    assert running.communicate() == ("", said)
    assert running.returncode == 130


@pytest.mark.thorough
def test_an_interrupt_in_generated_code_is_status_130() -> None:
    """Python remembers it, and would end itself by the signal."""
    program = (
        "import os, signal, sys, audits.cli; from audits.cli import show\n"
        "show.find_player = lambda name: exec('os.kill(os.getpid(), signal.SIGTERM)')\n"
        "sys.argv = ['arena', 'show', 'static-erm']; audits.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, text=True, capture_output=True)
    assert (done.returncode, done.stderr) == (130, "arena: interrupted: the command was not finished\n")


BUSY = """
import os, time
from pathlib import Path
import attrs
from learners.releases.counts import LaplaceCount

@attrs.frozen(kw_only=True)
class Busy(LaplaceCount):
    name = "busy"
    how: str = "sleep"
    folder: str = ""
    client: int = attrs.field(factory=os.getpid)

    def start(self, games, rng):
        if os.getpid() != self.client and games > 100:  # in a worker, not in a check before the run
            Path(self.folder, str(os.getpid())).touch()
            if self.how == "sleep":
                time.sleep(300)
            while self.how == "python":
                sum(range(1000))
            if self.how == "c":
                pow(3, 10**9)  # keeps other threads from running
        return LaplaceCount.start(self, games, rng)
"""


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
@pytest.mark.parametrize("backend", ["loky", "dask"])
@pytest.mark.parametrize("how", ["sleep", "python", "c"])
def test_workers_end_with_the_process_that_started_them(tmp_path: Path, backend: str, how: str) -> None:
    """Though it is killed. They and their helpers close its output, and write nothing to it."""
    plug_in = tmp_path / "busy.py"
    plug_in.write_text(BUSY)
    settings = ("--set", f"folder={tmp_path}", "--set", f"how={how}", "--jobs", "2", "--backend", backend)
    running = start("audit", f"{plug_in}:Busy", "--against", "count-swap", *settings)
    wait_until(lambda: sum(file.name.isdigit() for file in tmp_path.iterdir()) == 2)
    assert len(find_processes(running.pid)) >= 3
    os.kill(running.pid, signal.SIGKILL)
    assert running.communicate() == ("", "")
    wait_until(lambda: not find_processes(running.pid))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
@pytest.mark.parametrize("backend", ["loky", "dask"])
def test_nothing_is_left_of_a_command_that_is_killed_while_it_starts(backend: str) -> None:
    for tries in range(20):
        running = start(*COUNT, "--games", "1e9", "--jobs", "2", "--backend", backend)
        group = running.pid
        wait_until(lambda group=group: len(find_processes(group)) >= 2)
        time.sleep(tries * 0.1)
        os.kill(group, signal.SIGKILL)
        output, errors = running.communicate()
        if "pickle.load(from_parent)" not in output:  # by a process of loky that was being started
            assert (output, errors) == ("", "")
        wait_until(lambda group=group: not find_processes(group))


DEADLY = """
import multiprocessing, os
import attrs
from learners.releases.counts import LaplaceCount

@attrs.frozen(kw_only=True)
class Deadly(LaplaceCount):
    name = "deadly"

    def start(self, games, rng):
        worker = multiprocessing.current_process().name != "MainProcess"
        if worker and rng.bit_generator.state["state"]["state"].sum() % 7 == 0:
            os._exit(3)
        return LaplaceCount.start(self, games, rng)
"""


@pytest.mark.thorough
def test_a_block_that_ends_its_workers_leaves_the_figures_so_far(tmp_path: Path) -> None:
    plug_in, ledger = tmp_path / "deadly.py", tmp_path / "run.ledger"
    plug_in.write_text(DEADLY)
    players = (f"{plug_in}:Deadly", "--against", "count-swap")
    command = ("audit", *players, "--games", "100000", "--seed", "2", "--json")
    failed = arena(*command, "--jobs", "2", "--ledger", str(ledger))
    assert failed.returncode == 2
    assert failed.stderr.startswith("arena: block 7 failed 3 times; at last it ended its worker (Terminated")
    found = json.loads(failed.stdout)
    assert found["interrupted"]
    assert found["games"] == sum(list(BlockSizes(100_000, 8_192, Release.block_pairs))[:7])
    alone = arena(*command, "--ledger", str(ledger))
    assert (alone.returncode, json.loads(alone.stdout)["games"]) == (0, 100_000)
