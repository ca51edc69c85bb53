"""Clusters of dask: the same figures, bit for bit, though workers are killed; and what is refused."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.processes import RecordingCall, figures, read_lines, rough_plan

from audits.runs.ledger import Ledger
from audits.runs.run import run
from audits.runs.workers import Workers, WorkersFailed, map_in_order

distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
OPTIONS: Any = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": 50}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(n_workers=2, **OPTIONS) as local:
        yield local


@pytest.fixture
def dask(cluster: Any) -> Workers:
    return Workers(backend="dask", cluster=cluster.scheduler_address)


def slow_square(task: int) -> int:
    time.sleep(0.02)
    return task * task


@pytest.mark.thorough
def test_every_backend_finds_the_same_figures(dask: Workers, tmp_path: Path) -> None:
    plan = rough_plan(tmp_path, "never", games=30_000, block=1_000)
    one = figures(run(plan))
    assert figures(run(plan, jobs=2)) == one
    assert figures(run(plan, jobs=Workers(backend="threading", jobs=2))) == one
    assert figures(run(plan, jobs=dask, ledger=tmp_path / "run.ledger")) == one
    assert run(plan, ledger=tmp_path / "run.ledger").played_now == 0


@pytest.mark.thorough
def test_the_work_is_pickled_once_and_opened_once_by_a_worker(dask: Workers, tmp_path: Path) -> None:
    results = list(map_in_order(RecordingCall(str(tmp_path)), range(60), dask))
    assert [square for square, _ in results] == [task * task for task in range(60)]
    assert len(read_lines(tmp_path, "pickled")) == 1
    assert len(read_lines(tmp_path, "opened")) <= 2


@pytest.mark.thorough
def test_what_a_killed_worker_had_is_played_again(dask: Workers, tmp_path: Path) -> None:
    plan = rough_plan(tmp_path, "kill")
    assert figures(run(plan, jobs=dask)) == figures(run(plan))
    assert (tmp_path / "flag").exists()


@pytest.mark.slow
def test_workers_that_leave_and_come_in_the_middle_change_nothing(cluster: Any, dask: Workers) -> None:
    count = 150
    results = map_in_order(slow_square, range(count), dask)
    got = [next(results) for _ in range(20)]
    cluster.scale(1)
    got += [next(results) for _ in range(40)]
    cluster.scale(2)
    assert got + list(results) == [task * task for task in range(count)]


@pytest.mark.slow
def test_a_worker_that_hangs_is_restarted(tmp_path: Path) -> None:
    plan = rough_plan(tmp_path, "hang")
    assert figures(run(plan, jobs=Workers(backend="dask", jobs=2, patience=10))) == figures(run(plan))
    assert (tmp_path / "flag").exists()


@pytest.mark.slow
def test_a_block_that_always_ends_its_worker_is_named(tmp_path: Path) -> None:
    plan, ledger = rough_plan(tmp_path, "always"), tmp_path / "run.ledger"
    workers = Workers(backend="dask", jobs=2)
    with pytest.raises(WorkersFailed, match="block 7 failed 3 times; at last it ended") as refusal:
        run(plan, jobs=workers, ledger=ledger)
    assert refusal.value.verdict.games == 7 * 500
    with Ledger.read(ledger) as book:
        assert set(range(7)) <= book.block_indices()


@pytest.mark.slow
def test_a_cluster_that_ends_in_the_middle() -> None:
    with distributed.LocalCluster(n_workers=1, **OPTIONS) as brief:
        workers = Workers(backend="dask", cluster=brief.scheduler_address)
        results = map_in_order(slow_square, range(10**4), workers)
        assert next(results) == 0
        threading.Thread(target=brief.close).start()
        with pytest.raises(WorkersFailed, match=r"the workers are gone|failed 3 times"):
            for _ in results:
                pass


@pytest.mark.thorough
@pytest.mark.parametrize("address", ["nonsense", "tcp://127.0.0.1:9", "tcp://127.0.0.1:99999999"])
def test_no_cluster_at_the_address(address: str) -> None:
    with pytest.raises(WorkersFailed) as refusal:
        next(map_in_order(slow_square, range(3), Workers(backend="dask", cluster=address)))
    assert str(refusal.value).startswith(
        f"no dask cluster answers at the address, got '{address}'. Start one"
    )


@pytest.mark.thorough
def test_a_scheduler_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("audits.runs.workers.pools._TIMEOUT", 0.5)
    with distributed.LocalCluster(n_workers=0, **OPTIONS) as empty:
        address = empty.scheduler_address
        with pytest.raises(WorkersFailed) as refusal:
            next(map_in_order(slow_square, range(3), Workers(backend="dask", cluster=address)))
    assert str(refusal.value).endswith(f" has no workers. Start: dask worker {address}.")
