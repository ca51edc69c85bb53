"""Tasks in order, by threads and processes: what workers may do wrong, and that nothing hangs on it."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from contextlib import closing
from functools import partial
from pathlib import Path

import attrs
import numpy as np
import pytest
from support.processes import RecordingCall, figures, read_lines, rough_plan, square_with_other_versions

from arena import InvalidArgument, PlayerError
from audits.runs.run import run
from audits.runs.workers import Workers, WorkersFailed, map_in_order
from audits.runs.workers.workers import JOBS_PER_CORE

PROCESSES, THREADS = Workers(jobs=2), Workers(backend="threading", jobs=2)
SQUARES = [task * task for task in range(100)]


def square(task: int) -> int:
    return task * task


# --- order and window -----------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, PROCESSES, THREADS])
def test_results_are_in_order_and_kept_as_they_come(workers) -> None:
    kept: dict[int, int] = {}
    assert list(map_in_order(square, range(100), workers, keep=kept.__setitem__)) == SQUARES
    assert kept == dict(enumerate(SQUARES))


def test_no_more_is_begun_ahead_than_can_be_kept() -> None:
    """Task 0 is late: others run ahead of it, 64 at most, and all of them are kept at once."""
    waiting, begun, kept = threading.Event(), [], []

    def call(task: int) -> int:
        begun.append(task)
        if task == 0:
            waiting.wait()
        return task * task

    def keep(task: int, result: int) -> None:
        kept.append(task)
        if len(kept) == 63:
            time.sleep(0.2)  # for others to begin, if they would
            assert sorted(begun) == list(range(64))
            waiting.set()

    assert list(map_in_order(call, range(1_000), THREADS, keep=keep)) == [task**2 for task in range(1_000)]
    assert kept.index(0) == 63


def test_a_reader_that_is_slower_than_the_workers_holds_them_up() -> None:
    begun: list[int] = []
    with closing(map_in_order(lambda task: begun.append(task), range(10**15), THREADS)) as results:
        for number, _ in zip(range(20), results, strict=False):
            time.sleep(0.01)
            assert len(begun) <= number + 1 + 64
    count = len(begun)
    time.sleep(0.05)
    assert len(begun) == count  # closed early, no task is begun any more


def note_end_of_sleep(folder: Path, seconds: int) -> None:
    time.sleep(seconds)
    Path(folder, str(seconds)).touch()


@pytest.mark.thorough
def test_processes_that_are_busy_do_not_hold_up_the_end(tmp_path: Path) -> None:
    ended = partial(note_end_of_sleep, tmp_path)
    with closing(map_in_order(ended, [0, *[600] * 50], PROCESSES)) as results:
        next(results)
    assert [file.name for file in tmp_path.iterdir()] == ["0"]
    assert list(map_in_order(square, range(100), PROCESSES)) == SQUARES


# --- errors of calls ------------------------------------------------------------------------------------


def breaks(task: int) -> int:
    if task == 3:
        time.sleep(0.2)
        raise PlayerError("learner", "mine", 1, "ValueError: no")
    if task == 5:
        raise ZeroDivisionError
    return task


@pytest.mark.parametrize("workers", [1, PROCESSES, THREADS])
def test_an_error_is_raised_in_its_place_in_the_order(workers) -> None:
    results = map_in_order(breaks, range(100), workers)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(PlayerError, match="learner mine raised ValueError: no in round 1") as raised:
        next(results)
    if workers != 1:
        assert "in breaks" in raised.value.__notes__[0]


class Mine(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")  # which do not make another one


def raise_mine(task: int) -> int:
    raise Mine(task, task)


def test_an_error_that_cannot_travel_is_told() -> None:
    with pytest.raises(RuntimeError, match="Mine: 0 and 0"):
        list(map_in_order(raise_mine, range(4), PROCESSES))


# --- what travels ---------------------------------------------------------------------------------------


def test_the_work_is_pickled_once_and_opened_once_by_a_process(tmp_path: Path) -> None:
    call = RecordingCall(str(tmp_path))
    results = list(map_in_order(call, range(60), PROCESSES))
    assert [square for square, _ in results] == SQUARES[:60]
    assert len(read_lines(tmp_path, "pickled")) == 1
    processes = {process for _, process in results}
    assert sorted(read_lines(tmp_path, "opened")) == sorted(processes)
    assert len(processes) <= 2


def test_a_worker_that_cannot_import_a_plug_in_is_told() -> None:
    """Pickled by its name, from a module that is only here."""
    module = type(sys)("only_here")
    exec("def call(task): return task", vars(module))
    sys.modules["only_here"] = module
    told = "cannot open what is to be played: ModuleNotFoundError: No module named 'only_here'. Install"
    try:
        with pytest.raises(WorkersFailed, match=re.escape(told)):
            list(map_in_order(vars(module)["call"], range(4), PROCESSES))
    finally:
        del sys.modules["only_here"]


# --- workers that end or hang ---------------------------------------------------------------------------


def test_a_worker_with_other_versions_is_refused_and_nothing_of_it_is_used() -> None:
    kept: list[int] = []
    results = map_in_order(
        square_with_other_versions, [5, 5, 5], PROCESSES, keep=lambda task, result: kept.append(task)
    )
    with pytest.raises(WorkersFailed) as refusal:
        list(results)
    assert kept == []
    assert f"numpy is {np.__version__} here and 1.0 on the worker " in str(refusal.value)


@attrs.frozen
class EndingCall:
    """Squares, of which the one of 5 ends its process as often as told. Notes when tasks begin and end."""

    folder: str
    ends: int

    def __call__(self, task: int) -> int:
        tries = self.note(f"begin {task}").count(f"begin {task}")
        time.sleep(0.05 if task == 5 else 0.001)
        if task == 5 and tries <= self.ends:
            os._exit(1)
        self.note(f"end {task}")
        return task * task

    def note(self, line: str) -> list[str]:
        path = Path(self.folder, "notes")
        with path.open("a") as file:
            file.write(f"{line}\n")
        return path.read_text().splitlines()


@pytest.mark.thorough
def test_the_last_try_is_made_while_no_other_task_is_under_way(tmp_path: Path) -> None:
    call = EndingCall(str(tmp_path), ends=2)
    assert list(map_in_order(call, range(100), PROCESSES)) == SQUARES
    notes = (tmp_path / "notes").read_text().splitlines()
    last = len(notes) - notes[::-1].index("begin 5") - 1
    assert notes.count("begin 5") == 3
    assert notes[last + 1] == "end 5"


@pytest.mark.thorough
def test_what_a_killed_process_had_is_played_again(tmp_path: Path) -> None:
    plan = rough_plan(tmp_path, "kill")
    one = figures(run(plan))
    assert figures(run(plan, jobs=2, ledger=tmp_path / "run.ledger")) == one
    assert (tmp_path / "flag").exists()


@pytest.mark.slow
def test_what_a_process_that_hangs_had_is_played_again(tmp_path: Path) -> None:
    plan = rough_plan(tmp_path, "hang")
    one = figures(run(plan))
    assert figures(run(plan, jobs=Workers(jobs=2, patience=2))) == one
    assert (tmp_path / "flag").exists()


# --- which workers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"backend": "dsk"}, "there is no backend of that name, got 'dsk'. Did you mean dask?"),
        ({"jobs": 0}, "jobs must be at least 1, got 0"),
        (
            {"cluster": "tcp://host:8786"},
            "loky has no cluster, got 'tcp://host:8786'. Choose the backend dask.",
        ),
        (
            {"backend": "dask", "cluster": "tcp://host:8786", "jobs": 4},
            "a cluster elsewhere has its own number of workers, got 4. Leave out jobs.",
        ),
        ({"jobs": 2, "patience": 0}, "patience must be more than 0, got 0"),
        (
            {"patience": 60},
            "patience ends workers that hang, but threads of this process cannot be ended, got 60. Use",
        ),
    ],
)
def test_workers_that_there_are_not(settings, message: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        Workers(**settings)
    assert str(refusal.value).startswith(message)


def test_more_workers_than_a_machine_bears_are_refused() -> None:
    limit = JOBS_PER_CORE * (os.cpu_count() or 1)
    with pytest.raises(InvalidArgument, match=f"jobs must be at most {limit:,}, 32 for each core"):
        Workers(jobs=limit + 1)
    assert Workers(jobs=limit).jobs == limit


def test_no_more_workers_start_than_there_are_tasks() -> None:
    assert Workers.from_jobs(30, 12).jobs == 12
    assert Workers.from_jobs(Workers(jobs=30, patience=5), 1).jobs == 2  # one would be this process
    assert Workers.from_jobs(3, 12).jobs == 3
    assert Workers.from_jobs(Workers(backend="dask"), 12).jobs is None


def test_what_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audits.runs.workers.workers.find_spec", lambda name: None)
    with pytest.raises(InvalidArgument) as refusal:
        Workers(backend="dask")
    assert str(refusal.value).startswith(
        "the backend dask needs distributed, which is not installed. Run pip"
    )
