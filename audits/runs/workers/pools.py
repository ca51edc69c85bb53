"""Pools of workers: executors of `concurrent.futures`, of this machine or of a dask cluster."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from threading import current_thread, main_thread
from typing import Any

from arena.errors import describe_error
from audits.runs.workers.worker_process import end_with_parent, start_worker
from audits.runs.workers.workers import DASK, LOKY, Workers, WorkersFailed, report_gone

_TIMEOUT = 5.0  # seconds for a cluster to answer
_IDLE = 300.0  # seconds until processes end that no run uses
_GRACE = 1.0  # seconds for processes to finish their tasks when a run ends early
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_NO_WARNING = "ignore:resource_tracker:UserWarning"

# By default the workers of dask use some 5 % of a core to watch themselves.
DASK_UNWATCHED = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "1s",
}


class Pool(ABC):
    """Workers that do tasks in the order in which they are submitted."""

    def __init__(self, jobs: int | None) -> None:
        self.size = jobs or 1  # tasks that are done at a time

    def is_stuck(self) -> bool:
        """Whether no worker has a task, though there are some."""
        return False

    @abstractmethod
    def find_executor(self) -> Any:
        """The executor of `concurrent.futures` to submit a task to."""

    @abstractmethod
    def end_workers(self) -> None:
        """End the workers that have tasks, whatever they do. Others take their place."""

    @abstractmethod
    def leave(self, futures: Iterable[Future[Any]]) -> None:
        """Give up tasks, since a run ends."""


class Threads(Pool):
    """Threads of this process, which cannot be ended."""

    def __init__(self, jobs: int | None) -> None:
        super().__init__(jobs)
        self._executor = ThreadPoolExecutor(self.size)

    def find_executor(self) -> Any:
        return self._executor

    def end_workers(self) -> None: ...

    def leave(self, futures: Iterable[Future[Any]]) -> None:
        self._executor.shutdown(cancel_futures=True)  # tasks that have begun are waited for


class Processes(Pool):
    """Processes of this machine, by loky, which one run takes over from another."""

    def __init__(self, jobs: int | None) -> None:
        from loky import cpu_count

        super().__init__(jobs)
        # loky replaces a process that has grown large and warns of it, in a thread that such an error ends.
        warnings.filterwarnings("ignore", "A worker (stopped|was restarted) while", module="loky")
        threads = str(max(1, cpu_count() // self.size))  # else each process would use all cores
        self._environment = {name: os.environ.get(name, threads) for name in _THREADS}

    def find_executor(self) -> Any:
        """The executor of this thread; a new one, if the last one is broken or was shut down."""
        from loky import get_reusable_executor

        return get_reusable_executor(
            self.size,
            timeout=_IDLE,
            initializer=start_worker,
            initargs=(os.getpid(), current_thread() is main_thread()),
            env=self._environment,
        )

    def end_workers(self) -> None:
        self.find_executor().shutdown(kill_workers=True)

    def leave(self, futures: Iterable[Future[Any]]) -> None:
        """Give up tasks; processes that do not finish theirs within a moment are ended."""
        if wait([future for future in futures if not future.cancel()], _GRACE).not_done:
            self.end_workers()


class Dask(Pool):
    """Workers of a dask cluster, by a client of distributed."""

    def __init__(self, workers: Workers, stack: ExitStack) -> None:
        self._workers, self._stack = workers, stack
        self._connect()

    def _connect(self) -> None:
        self._client = self._stack.enter_context(_connect_dask(self._workers))
        self._executor = self._client.get_executor(pure=False)  # else a task has the future of its last try

    def find_executor(self) -> Any:
        return self._executor

    @property
    def size(self) -> int:  # type: ignore[override]
        return sum(self._ask(self._client.ncores).values())

    def is_stuck(self) -> bool:
        """As when all workers ended, or one with a result that was not fetched, for which dask may wait."""
        own, tasks = set(self._client.futures), self._ask(self._client.processing).values()
        return not any(own.intersection(keys) for keys in tasks) and not (tasks and all(tasks))

    def _ask(self, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except Exception as error:  # of asyncio, tornado and dask itself
            raise report_gone(describe_error(error)) from error

    def end_workers(self) -> None:
        """End the workers with tasks; here all, since dask gives up those that end while they start."""
        if self._workers.local:
            self._stack.close()
            self._connect()
            return
        with suppress(Exception):  # a worker without a nanny cannot be restarted
            own, tasks = set(self._client.futures), self._client.processing()
            hanging = [worker for worker in tasks if own.intersection(tasks[worker])]
            self._client.restart_workers(hanging, timeout=_TIMEOUT, raise_for_error=False)

    def leave(self, futures: Iterable[Future[Any]]) -> None:
        with suppress(Exception):  # the scheduler may be gone
            self._executor.shutdown(wait=False)


@contextmanager
def open_pool(workers: Workers) -> Iterator[Pool]:
    """The pool of such workers. What was started for it ends with it, except processes of this machine."""
    if workers.backend == DASK:
        _start_trackers()
        with ExitStack() as stack:
            yield Dask(workers, stack)
    elif workers.backend == LOKY:
        from loky.backend import resource_tracker

        _start_trackers(resource_tracker)
        yield Processes(workers.jobs)
    else:
        yield Threads(workers.jobs)


def _start_trackers(*others: Any) -> None:
    """Start the processes that remove what a killed run leaves behind, and have them not warn of it."""
    if os.name != "posix":
        return
    from multiprocessing import resource_tracker

    sys.warnoptions.append(_NO_WARNING)  # their interpreters are started with the options of this one
    # They ignore other signals that end a run. The standard library's unblocks SIGINT here.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        for tracker in (resource_tracker, *others):
            tracker.ensure_running()
    finally:
        sys.warnoptions.remove(_NO_WARNING)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@contextmanager
def _connect_dask(workers: Workers) -> Iterator[Any]:
    from dask import config
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        # This package reports what goes wrong, once.
        logger = logging.getLogger("distributed")
        stack.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL + 1)
        address: Any = workers.cluster
        if workers.local:
            options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
            # A task that ends its worker is reported at once, instead of done again.
            with config.set({**DASK_UNWATCHED, "distributed.scheduler.allowed-failures": 0}):
                cluster = LocalCluster(n_workers=workers.jobs, silence_logs=logging.CRITICAL, **options)
                address = stack.enter_context(cluster)
        else:
            _check_listening(address)
        try:
            client = stack.enter_context(Client(address, timeout=_TIMEOUT, set_as_default=False))
        except (OSError, ValueError) as error:
            raise _no_cluster(address) from error
        try:
            client.wait_for_workers(1, timeout=_TIMEOUT)
        except TimeoutError as error:
            raise WorkersFailed(
                f"the dask scheduler at {address} has no workers", remedy=f"Start: dask worker {address}."
            ) from error
        if workers.local:  # dask's own watch ends them, but not while C code holds the interpreter
            client.register_worker_callbacks(partial(end_with_parent, os.getpid(), True))
        yield client


def _check_listening(address: str) -> None:
    """Check that something listens at the address: dask itself would try for a long time."""
    from distributed.comm.addressing import get_address_host_port

    try:
        socket.create_connection(get_address_host_port(address), timeout=_TIMEOUT).close()
    except (OSError, ValueError, OverflowError) as error:
        raise _no_cluster(address) from error


def _no_cluster(address: str) -> WorkersFailed:
    return WorkersFailed(
        "no dask cluster answers at the address",
        value=address,
        remedy="Start one (dask scheduler), correct the address, or let the cluster be local.",
    )
