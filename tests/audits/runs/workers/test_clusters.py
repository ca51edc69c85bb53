"""Clusters of dask and ray: the same figures, bit for bit, though workers are killed; and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cloudpickle import register_pickle_by_value, unregister_pickle_by_value
from joblib import delayed
from support import rough_workers
from support.paths import ROOT
from support.players.race_players import Drawn, TinySoa
from support.rough_workers import RecordingCall, figures, read_lines, rough_plan

from audits.races import plan_online_race, run_race
from audits.runs.ledger import Ledger
from audits.runs.run import run
from audits.runs.workers import Workers, WorkersFailed, map_in_order
from audits.runs.workers.envelope import perform
from audits.runs.workers.pools import open_pool

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as local:
        yield local


@pytest.fixture
def dask(cluster: Any) -> Workers:
    return Workers(backend="dask", cluster=cluster.scheduler_address)


# --- dask -----------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_every_backend_finds_the_same_figures(dask: Workers, tmp_path: Path) -> None:
    plan = rough_plan(tmp_path, "never", games=30_000, block=1_000)
    one = figures(run(plan))
    assert figures(run(plan, jobs=2)) == one
    assert figures(run(plan, jobs=Workers(backend="threading", jobs=2))) == one
    assert figures(run(plan, jobs=dask, ledger=tmp_path / "run.ledger")) == one
    assert run(plan, ledger=tmp_path / "run.ledger").played_now == 0


@pytest.mark.thorough
def test_what_a_killed_worker_of_dask_had_is_played_again(dask: Workers, tmp_path: Path) -> None:
    plan = rough_plan(tmp_path, "kill")
    assert figures(run(plan, jobs=dask)) == figures(run(plan))
    assert (tmp_path / "flag").exists()


def slow_square(task: int) -> int:
    time.sleep(0.02)
    return task * task


@pytest.mark.slow
def test_a_worker_that_leaves_dask_in_the_middle_changes_nothing(cluster: Any, dask: Workers) -> None:
    """And one that comes."""
    count = 150
    results = map_in_order(slow_square, range(count), dask)
    got = [next(results) for _ in range(20)]
    cluster.scale(1)
    got += [next(results) for _ in range(40)]
    cluster.scale(2)
    assert got + list(results) == [task * task for task in range(count)]


def test_the_work_is_scattered_once(dask: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million bytes of work, 60 tasks: it leaves this process once, and each worker opens it once."""
    from distributed.protocol import pickle as pickled

    sent, real = [], pickled.dumps

    def count_bytes(content: Any, *, buffer_callback: Any = None, protocol: int = 4) -> bytes:
        buffers: list[Any] = []
        read_result: bytes = real(content, buffer_callback=buffers.append, protocol=protocol)
        sent.append(len(read_result) + sum(buffer.raw().nbytes for buffer in buffers))
        if buffer_callback is not None:
            for buffer in buffers:
                buffer_callback(buffer)
        return read_result

    monkeypatch.setattr(pickled, "dumps", count_bytes)
    results = list(map_in_order(RecordingCall(str(tmp_path)), range(60), dask))
    assert [square for square, _ in results] == [task * task for task in range(60)]
    assert len(read_lines(tmp_path, "pickled")) == 1
    assert len(read_lines(tmp_path, "opened")) <= 2
    assert sum(sent) < 2_000_000


@pytest.mark.thorough
def test_the_work_is_scattered_under_a_new_name_when_workers_were_lost(dask: Workers) -> None:
    """A worker that was fetching it under the old name may never get it."""
    with open_pool(dask, slow_square) as pool:
        names = []
        for _ in range(2):
            before = set(pool.client.futures)
            parallel = pool.parallel()
            names.append(set(pool.client.futures) - before)
            (envelope,) = parallel([delayed(perform)(pool.parcel, pool.digest, 3, 3)])
            assert envelope.content == 9
    assert len(names[0]) == len(names[1]) == 1
    assert names[0] != names[1]


def is_watched(task: int) -> bool:
    from dask import config

    return bool(config.get("distributed.worker.profile.enabled"))


@pytest.mark.thorough
def test_workers_of_a_cluster_started_here_do_not_watch_themselves() -> None:
    """It takes some of their core; the settings of this process stay what they were."""
    assert list(map_in_order(is_watched, range(4), Workers(backend="dask", jobs=2))) == [False] * 4
    assert is_watched(0)


def test_a_stop_ends_what_dask_was_asked_for(dask: Workers, cluster: Any) -> None:
    results = map_in_order(slow_square, range(10**6), dask)
    next(results)
    started = time.monotonic()
    results.close()
    assert time.monotonic() - started < 10


def test_races_are_the_same_on_a_cluster(dask: Workers) -> None:
    race = plan_online_race([("tiny", TinySoa(), Drawn())], rounds=20, games=130, marks=3)
    assert run_race(race, jobs=dask).to_dict() == run_race(race).to_dict()


@pytest.mark.slow
def test_a_worker_of_dask_that_hangs_is_restarted(tmp_path: Path) -> None:
    plan = rough_plan(tmp_path, "hang")
    assert figures(run(plan, jobs=Workers(backend="dask", jobs=2, patience=3))) == figures(run(plan))
    assert (tmp_path / "flag").exists()


@pytest.mark.slow
def test_a_block_that_always_ends_its_worker_of_dask_is_named(tmp_path: Path) -> None:
    plan, ledger = rough_plan(tmp_path, "always"), tmp_path / "run.ledger"
    with pytest.raises(
        WorkersFailed, match=r"block 7 failed 3 times; at last it ended its worker"
    ) as refusal:
        run(plan, jobs=Workers(backend="dask", jobs=2), ledger=ledger)
    assert refusal.value.verdict.games == 7 * 500
    with Ledger.read(ledger) as book:
        assert set(range(7)) <= book.block_indices()


# --- the command line -----------------------------------------------------------------------------------


def arena(*options: str, games: str = "20000") -> subprocess.CompletedProcess:
    command = ("audit", "laplace-count", "--against", "count-swap", "--games", games, "--seed", "3")
    return subprocess.run(
        [sys.executable, "-m", "audits.cli", *command, *options],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=120,
    )


def read_result(done: subprocess.CompletedProcess) -> dict[str, Any]:
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    del found["seconds"], found["games_per_second"]
    return found


@pytest.mark.slow
def test_an_audit_from_the_command_line(cluster: Any) -> None:
    address = cluster.scheduler_address
    assert read_result(arena("--json", "--backend", "dask", "--cluster", address)) == read_result(
        arena("--json")
    )


@pytest.mark.thorough
def test_no_cluster_at_the_address() -> None:
    done = arena("--backend", "dask", "--cluster", "tcp://127.0.0.1:9")
    assert done.returncode == 2
    assert done.stderr == (
        "arena: no dask cluster answers at the address, got 'tcp://127.0.0.1:9'. Start one (dask scheduler), "
        "correct the address, or let the cluster be local.\n"
    )


@pytest.mark.parametrize("address", ["nonsense", "xyz://127.0.0.1:9", "tcp://127.0.0.1:99999999"])
def test_what_is_no_address(address: str) -> None:
    with pytest.raises(WorkersFailed, match="no dask cluster answers at the address, got"):
        next(map_in_order(slow_square, range(3), Workers(backend="dask", cluster=address)))


@pytest.mark.thorough
def test_a_scheduler_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audits.runs.workers.pools._TIMEOUT", 0.5)
    with distributed.LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", silence_logs=50) as empty:
        address = empty.scheduler_address
        with (
            pytest.raises(WorkersFailed) as refusal,
            open_pool(Workers(backend="dask", cluster=address), slow_square),
        ):
            pass
    assert str(refusal.value) == (
        f"the dask scheduler at {address} has no workers. Start some: dask worker {address}."
    )


@pytest.mark.slow
def test_a_cluster_that_ends_in_the_middle(tmp_path: Path) -> None:
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
    ) as brief:
        results = map_in_order(
            slow_square, range(10**4), Workers(backend="dask", cluster=brief.scheduler_address)
        )
        assert next(results) == 0
        threading.Thread(target=brief.close).start()
        with pytest.raises(WorkersFailed, match=r"the workers are gone|failed 3 times"):
            for _ in results:
                pass


# --- ray ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ray_finds_the_same_figures_though_workers_are_killed(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="the extra ray is not installed")
    workers = Workers(backend="ray", jobs=2)
    register_pickle_by_value(rough_workers)  # as plug-ins from a file are
    plan = rough_plan(tmp_path, "kill")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        assert figures(run(plan, jobs=workers)) == figures(run(plan))
        assert (tmp_path / "flag").exists()
        results = list(map_in_order(RecordingCall(str(tmp_path)), range(60), workers))
    finally:
        ray.shutdown()
        unregister_pickle_by_value(rough_workers)
    assert [square for square, _ in results] == [task * task for task in range(60)]
    assert len(read_lines(tmp_path, "pickled")) == 1
    assert sorted(read_lines(tmp_path, "opened")) == sorted({process for _, process in results})
