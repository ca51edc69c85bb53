"""Tasks in order, by threads and processes: what workers may do wrong, and that nothing hangs on it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from support.paths import ROOT
from support.rough_workers import GarblingCall, RecordingCall, figures, read_lines, rough_plan, square_fault

from arena import InvalidArgument, PlayerError
from audits.runs.ledger import Ledger
from audits.runs.run import run
from audits.runs.workers import Workers, WorkersFailed, map_in_order
from audits.runs.workers.envelope import Envelope, perform
from audits.runs.workers.ordered_map import _Dispatcher
from audits.runs.workers.pools import open_pool
from audits.runs.workers.workers import JOBS_PER_CORE

LOKY, THREADS = Workers(jobs=2), Workers(backend="threading", jobs=2)
SQUARES = [task * task for task in range(100)]


def square(task: int) -> int:
    return task * task


# --- order ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, LOKY, THREADS])
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
            assert waiting.wait(60)
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
    with closing(map_in_order(lambda task: begun.append(task), range(1_000), THREADS)) as results:
        for number, _ in zip(range(20), results, strict=False):
            time.sleep(0.01)
            assert len(begun) <= number + 1 + 64


def test_tasks_may_be_more_than_a_list_holds() -> None:
    with closing(map_in_order(square, range(10**15), THREADS)) as results:
        assert [next(results) for _ in range(100)] == SQUARES


def test_closed_early_no_task_is_begun_any_more() -> None:
    begun: list[int] = []
    with closing(map_in_order(lambda task: begun.append(task), range(1_000), THREADS)) as results:
        next(results)
    count = len(begun)
    time.sleep(0.05)
    assert len(begun) == count < 1_000


@pytest.mark.thorough
def test_a_pool_of_processes_ends_quietly_while_tasks_wait() -> None:
    """loky's thread took up tasks that were gone, and its traceback was in the output of the user."""
    from joblib.externals.loky import ProcessPoolExecutor

    assert list(map_in_order(square, range(4), LOKY)) == SQUARES[:4]  # which mends loky
    for _ in range(3):
        executor = ProcessPoolExecutor(1)
        executor.submit(square, 1).result()
        for task in range(200):
            executor.submit(time.sleep, 0.001 * (task == 0))
        executor.shutdown(kill_workers=True)  # an error in the thread would be a warning, which fails tests


# --- errors of calls ------------------------------------------------------------------------------------


class Mine(Exception):
    """It cannot be pickled: its arguments do not make one."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def breaks(task: int) -> int:
    if task == 3:
        time.sleep(0.2)
        raise PlayerError("learner", "mine", 1, "ValueError: no")
    if task == 5:
        raise ZeroDivisionError
    return task


@pytest.mark.parametrize("workers", [1, LOKY, THREADS])
def test_an_error_is_raised_in_its_place_in_the_order(workers) -> None:
    results = map_in_order(breaks, range(100), workers)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(PlayerError, match="learner mine raised ValueError: no in round 1") as raised:
        next(results)
    if workers != 1:
        assert "in breaks" in raised.value.__notes__[0]


def raises_mine(task: int) -> int:
    raise Mine(task, task)


def test_an_error_that_cannot_travel_is_told() -> None:
    with pytest.raises(RuntimeError, match="Mine: 0 and 0"):
        list(map_in_order(raises_mine, range(4), LOKY))


# --- what travels ---------------------------------------------------------------------------------------


def test_the_work_is_pickled_once_and_opened_once_by_a_process(tmp_path: Path) -> None:
    call = RecordingCall(str(tmp_path))
    results = list(map_in_order(call, range(60), LOKY))
    assert [square for square, _ in results] == SQUARES[:60]
    assert len(read_lines(tmp_path, "pickled")) == 1
    processes = {process for _, process in results}
    assert sorted(read_lines(tmp_path, "opened")) == sorted(processes)
    assert len(processes) <= 2


def kind_of(parcel: object) -> str:
    return type(parcel).__name__


def test_processes_map_the_work_from_a_file_and_threads_share_it() -> None:
    from joblib import delayed

    with open_pool(LOKY, square) as pool, pool.parallel() as parallel:
        assert parallel(delayed(kind_of)(pool.parcel) for _ in range(4)) == ["memmap"] * 4
    with open_pool(THREADS, square) as pool:
        assert pool.parcel is square


# --- garbage --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["type", "index", "checksum", "value"])
def test_garbage_is_played_again(tmp_path: Path, how: str) -> None:
    call = GarblingCall(how, str(tmp_path / "flag"))
    assert list(map_in_order(call, range(20), LOKY, find_fault=square_fault)) == SQUARES[:20]
    assert (tmp_path / "flag").exists()


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("type", "gave what is no envelope (str)"),
        ("index", "came from {worker} under the number of another"),
        ("checksum", "came damaged from {worker}: its checksum does not match"),
        ("value", "came from {worker} and is no square"),
    ],
)
def test_three_times_garbage_is_an_error_that_names_the_block(how: str, told: str) -> None:
    results = map_in_order(GarblingCall(how), range(20), LOKY, find_fault=square_fault)
    assert [next(results) for _ in range(5)] == SQUARES[:5]
    with pytest.raises(WorkersFailed) as refusal:
        next(results)
    pattern = re.escape(
        f"block 5 failed 3 times; at last it {told}. To see what it does, play it in this process: the same "
        "command and ledger, with --jobs 1 and neither --backend nor --cluster."
    ).replace(re.escape("{worker}"), r"\S+ \(process \d+\)")
    assert re.fullmatch(pattern, str(refusal.value))


def test_the_last_try_is_made_while_no_other_task_is_under_way() -> None:
    with open_pool(THREADS, square) as pool:
        dispatcher = _Dispatcher(pool, range(100), None, "block", remaining=100, ahead=64)
        assert [dispatcher._choose_task(0) for _ in range(2)] == [0, 1]
        dispatcher.lone_retries.append(50)
        assert dispatcher._choose_task(0) is None  # 0 and 1 are under way
        dispatcher.under_way.clear()
        assert [dispatcher._choose_task(0) for _ in range(2)] == [50, None]
        dispatcher.under_way.clear()
        assert dispatcher._choose_task(0) == 2


def test_a_block_of_another_size_is_no_block_of_the_plan(tmp_path: Path) -> None:
    from audits.runs.blocks import find_fault, play_block

    plan = rough_plan(tmp_path, "never")
    block = play_block(plan, 0)
    assert find_fault(plan, 0, block) == ""
    assert find_fault(rough_plan(tmp_path, "never", block=400), 0, block) == "has 500 pairs of games, not 400"
    assert find_fault(plan, 0, [1, 2]) == "is no block (list)"


def test_a_worker_with_other_versions_is_refused_and_nothing_of_it_is_used() -> None:
    kept: list[int] = []
    with pytest.raises(WorkersFailed) as refusal:
        list(
            map_in_order(
                GarblingCall("versions"), [5, 5, 5], LOKY, keep=lambda task, result: kept.append(task)
            )
        )
    assert kept == []
    assert re.fullmatch(
        rf"numpy is {re.escape(np.__version__)} here and 1\.0 on the worker \S+ \(process \d+\), and figures "
        r"depend on it\. Install the same on every worker\.",
        str(refusal.value),
    )


def test_a_worker_that_cannot_import_a_plug_in_is_told() -> None:
    """Pickled by its name, from a module that is only here."""
    module = type(sys)("only_here")
    exec("def call(task): return task", vars(module))
    sys.modules["only_here"] = module
    try:
        with pytest.raises(WorkersFailed) as refusal:
            list(map_in_order(vars(module)["call"], range(4), LOKY))
    finally:
        del sys.modules["only_here"]
    assert re.fullmatch(
        r"the worker \S+ \(process \d+\) cannot open what is to be played: ModuleNotFoundError: No module "
        r"named 'only_here'\. Install what is missing on every worker, or name a plug-in as "
        r"path/to/file\.py:Class, which travels with the plan\.",
        str(refusal.value),
    )


def test_an_envelope_tells_when_it_was_changed() -> None:
    sent = perform(square, "", 3, 7)
    assert (sent.is_intact, sent.place, sent.content) == (True, 3, 49)
    other = Envelope.of(4, "result", 49)
    assert other.is_intact
    assert other.checksum != sent.checksum


# --- workers that end or hang ----------------------------------------------------------------------------


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


NO_PSUTIL = """
import sys
sys.modules["psutil"] = None
from pathlib import Path
from audits.runs.run import run
from support.rough_workers import rough_plan
if __name__ == "__main__":
    print(run(rough_plan(Path(sys.argv[1]), "kill"), jobs=2).games)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("flags", [(), ("-W", "error")], ids=["warnings", "errors"])
def test_workers_are_ended_without_psutil_and_pgrep(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """As in small containers: loky could not, and its process waited at its end for one that nobody ended."""
    ended = subprocess.run(
        [sys.executable, *flags, "-c", NO_PSUTIL, str(tmp_path)],
        env={"PATH": str(tmp_path), "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert (tmp_path / "flag").exists()
    assert int(ended.stdout) > 0
    assert "pgrep" not in ended.stderr


GROWN: list[bytes] = []


def grows(task: int) -> int:
    GROWN.append(os.urandom(50_000_000))
    time.sleep(0.2)
    return task


@pytest.mark.slow
def test_a_worker_that_grows_is_replaced_though_warnings_are_errors() -> None:
    """By loky, in a thread: with an error there, no more would come."""
    pytest.importorskip("psutil", reason="loky needs it to see how large a worker is")
    assert list(map_in_order(grows, range(40), Workers(jobs=2, patience=60))) == list(range(40))


@pytest.mark.thorough
def test_a_block_that_always_ends_its_worker_ends_the_run_with_its_figures(tmp_path: Path) -> None:
    plan, ledger = rough_plan(tmp_path, "always"), tmp_path / "run.ledger"
    with pytest.raises(WorkersFailed) as refusal:
        run(plan, jobs=2, ledger=ledger)
    assert str(refusal.value) == (
        "block 7 failed 3 times; at last it ended its worker (TerminatedWorkerError). To see what it does, "
        "play it in this process: the same command and ledger, with --jobs 1 and neither --backend nor "
        "--cluster."
    )
    verdict = refusal.value.verdict
    assert verdict.interrupted
    assert verdict.games == 7 * 500
    with Ledger.read(ledger) as book:
        assert set(range(7)) <= book.block_indices()
    # In this process it does no harm, so the run can be ended here.
    assert figures(run(plan, ledger=ledger)) == figures(run(plan))


# --- which workers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"backend": "dsk"},
            "there is no backend of that name, got 'dsk'. Did you mean dask? There are: loky, threading, "
            "dask, ray.",
        ),
        ({"jobs": 0}, "jobs must be at least 1, got 0"),
        (
            {"cluster": "tcp://host:8786"},
            "the backend loky has no cluster, got 'tcp://host:8786'. Choose the backend dask or ray, or "
            "leave out the cluster.",
        ),
        (
            {"backend": "dask", "cluster": "tcp://host:8786", "jobs": 4},
            "jobs counts the workers of this machine, but a cluster elsewhere has its own, got 4. Leave "
            "out jobs.",
        ),
        ({"jobs": 2, "patience": 0}, "patience must be more than 0 seconds, got 0"),
        (
            {"patience": 60},
            "patience ends workers that hang, but threads of this process cannot be ended, got 60. Use at "
            "least two jobs of loky, or a cluster.",
        ),
    ],
)
def test_workers_that_there_are_not(settings, message: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        Workers(**settings)
    assert str(refusal.value) == message


@pytest.mark.parametrize("backend", ["loky", "threading", "dask"])
@pytest.mark.parametrize("jobs", [10**6, 10**9])
def test_more_workers_than_a_machine_bears_are_refused(backend: str, jobs: int) -> None:
    limit = JOBS_PER_CORE * (os.cpu_count() or 1)
    with pytest.raises(InvalidArgument, match=f"jobs must be at most {limit:,}, 32 for each core"):
        Workers(backend=backend, jobs=jobs)
    assert Workers(backend=backend, jobs=limit).jobs == limit


def test_no_more_workers_start_than_there_are_tasks() -> None:
    assert Workers.from_jobs(30, 12).jobs == 12
    assert Workers.from_jobs(Workers(jobs=30, patience=5), 1).jobs == 2  # one would be this process
    assert Workers.from_jobs(3, 12).jobs == 3
    assert Workers.from_jobs(Workers(backend="dask"), 12).jobs is None


@pytest.mark.parametrize(("backend", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_what_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch, backend: str, package: str) -> None:
    monkeypatch.setattr("audits.runs.workers.workers.find_spec", lambda name: None)
    with pytest.raises(InvalidArgument) as refusal:
        Workers(backend=backend)
    assert str(refusal.value) == (
        f"the backend {backend} needs {package}, which is not installed. "
        f"Run pip install 'dp-arena[{backend}]'."
    )
