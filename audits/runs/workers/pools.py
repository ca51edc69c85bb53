"""Pools of workers, by joblib's backends, and how each sends the call to its workers once.

Processes map the pickled call from a file, dask scatters it, ray stores it, and threads share the call.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from hashlib import sha256
from threading import current_thread, main_thread
from typing import Any

import numpy as np

from arena.parcels import pack
from audits.runs.interrupts import end_with_parent, start_worker
from audits.runs.workers.workers import DASK, LOKY, RAY, THREADING, Workers, WorkersFailed

_TIMEOUT = 5.0  # seconds for a cluster to answer
_RAY_SCHEME = "ray://"  # of ray's client, on a machine that is no node of the cluster
_NO_WARNING = "ignore:resource_tracker:UserWarning"
_START_COMMANDS = {DASK: "dask scheduler", RAY: "ray start --head"}

# By default the workers of dask use some 5 % of a core to watch themselves.
DASK_UNWATCHED = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "1s",
}


class Pool(ABC):
    """Workers and the call that they perform.

    parcel: what reaches them instead of the call. digest: of the pickled call, by which they recognise it.
    """

    def __init__(self, workers: Workers, call: Callable[[Any], Any]) -> None:
        self.workers = workers
        self.parcel, self.digest = self._pack(call)

    @property
    def size(self) -> int:
        """The number of tasks that are done at a time."""
        return self.workers.jobs or 1

    def parallel(self, **options: Any) -> Any:
        """A joblib.Parallel on the workers."""
        from joblib import Parallel

        # An interrupted run keeps the blocks that have come; joblib warns of those that were under way.
        warnings.filterwarnings("ignore", ".*still being processed", module=r"joblib\.parallel")
        return Parallel(**{"n_jobs": self.size, **self._backend(), **options})

    @abstractmethod
    def _backend(self) -> dict[str, Any]:
        """The options of joblib that choose the workers."""

    def end_hanging(self) -> None:  # noqa: B027 - the others are ended by joblib
        """End workers that hang, if joblib has not done so."""

    def _pack(self, call: Callable[[Any], Any]) -> tuple[Any, str]:
        pickled = pack(call, by_value=not self.workers.local)
        return np.frombuffer(pickled, np.uint8), sha256(pickled).hexdigest()


class Processes(Pool):
    """Processes of this machine, by loky."""

    def _backend(self) -> dict[str, Any]:
        # loky replaces a process that has grown large and warns of it, in a thread. If warnings are errors,
        # as in many test suites, that thread would end and the run would wait for ever.
        warnings.filterwarnings("ignore", "A worker stopped while", module=r"joblib\.externals\.loky")
        _let_loky_kill()
        _let_loky_drop_tasks()
        # joblib passes these on to loky, and uses its processes again where they are equal.
        parent = (os.getpid(), current_thread() is main_thread())
        # Arrays larger than one byte are mapped from a file, so the parcel is, however small.
        return {"backend": LOKY, "max_nbytes": 1, "initializer": start_worker, "initargs": parent}


def _let_loky_kill() -> None:
    """Let loky end its processes on machines without psutil and pgrep, where exit would wait for ever."""
    warnings.filterwarnings("ignore", "Failed to kill subprocesses", module=r"joblib\.externals\.loky")
    if os.name != "posix":
        return
    from joblib.externals.loky.backend.popen_loky_posix import Popen

    if not hasattr(Popen, "kill"):
        Popen.kill = _kill


def _kill(process: Any) -> None:
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)


def _quieten_trackers() -> None:
    """Start the processes that remove what a killed run leaves behind, and have them not warn of it."""
    if os.name != "posix":
        return
    from multiprocessing import resource_tracker as tracker

    from joblib.externals.loky.backend import resource_tracker as tracker_of_loky

    sys.warnoptions.append(_NO_WARNING)  # their interpreters are started with the options of this one
    # They ignore other signals that end a run. The standard library's unblocks SIGINT here.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        tracker.ensure_running()
        tracker_of_loky.ensure_running()
    finally:
        sys.warnoptions.remove(_NO_WARNING)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _let_loky_drop_tasks() -> None:
    """Let loky's thread pass over tasks that ended with their pool, instead of ending itself in KeyError."""
    from joblib.externals.loky.process_executor import _ExecutorManagerThread as Manager

    add = Manager.add_call_item_to_queue
    if add.__module__ == __name__:
        return

    def add_those_left(manager: Any) -> None:
        while True:
            with suppress(KeyError):  # the number of an ended task is no longer in the queue then
                return add(manager)

    Manager.add_call_item_to_queue = add_those_left


class Threads(Pool):
    """Threads of this process."""

    def _backend(self) -> dict[str, Any]:
        return {"backend": THREADING}

    def _pack(self, call: Callable[[Any], Any]) -> tuple[Any, str]:
        return call, ""


class Dask(Pool):
    """Workers of a dask cluster. client: of distributed."""

    def __init__(self, workers: Workers, call: Callable[[Any], Any], client: Any) -> None:
        super().__init__(workers, call)
        self.client = client

    @property
    def size(self) -> int:
        return sum(self.client.ncores().values())

    def _backend(self) -> dict[str, Any]:
        from joblib._dask import DaskDistributedBackend

        class Backend(DaskDistributedBackend):
            def effective_n_jobs(self, n_jobs: int) -> int:
                # For one worker joblib would do the tasks in this process.
                return max(2, super().effective_n_jobs(n_jobs))

        # Another byte, which unpickling ignores, makes other content and so another name at the scheduler. A
        # worker that was fetching the old one when all that had it ended would wait for it for ever.
        self.parcel = np.append(self.parcel, np.uint8(0))
        return {"n_jobs": -1, "backend": Backend(client=self.client, scatter=[self.parcel])}

    def end_hanging(self) -> None:
        """Restart the workers that have tasks of this client: if they did not hang, the tasks were done."""
        with suppress(Exception):  # a worker without a nanny cannot be restarted
            own, tasks = set(self.client.futures), self.client.processing()
            hanging = [worker for worker in tasks if own.intersection(tasks[worker])]
            self.client.restart_workers(hanging, timeout=_TIMEOUT, raise_for_error=False)


class Ray(Pool):
    """Actors on a ray cluster, one for each CPU."""

    @property
    def size(self) -> int:
        import ray

        return max(1, int(ray.cluster_resources().get("CPU", 1)))

    def _backend(self) -> dict[str, Any]:
        from ray.util.joblib.ray_backend import RayBackend

        class Backend(RayBackend):
            # The base class is for pools of multiprocessing, which cannot be left early. Those of ray can.
            supports_return_generator = True

        return {"backend": Backend()}

    def _pack(self, call: Callable[[Any], Any]) -> tuple[Any, str]:
        import ray

        content, digest = super()._pack(call)
        return ray.put(content), digest


@contextmanager
def open_pool(workers: Workers, call: Callable[[Any], Any]) -> Iterator[Pool]:
    """The pool of such workers for `call`; what was started for it ends with it.

    Raises: WorkersFailed if no cluster answers.
    """
    with ExitStack() as stack:
        if workers.backend != THREADING:
            _quieten_trackers()
        if workers.backend == DASK:
            yield Dask(workers, call, stack.enter_context(_connect_dask(workers)))
        elif workers.backend == RAY:
            stack.enter_context(_connect_ray(workers))
            yield Ray(workers, call)
        else:
            yield (Processes if workers.backend == LOKY else Threads)(workers, call)


@contextmanager
def _connect_dask(workers: Workers) -> Iterator[Any]:
    from dask import config
    from distributed import Client, LocalCluster
    from distributed.comm.addressing import get_address_host_port

    with ExitStack() as stack:
        # This package reports what goes wrong, once.
        logger = logging.getLogger("distributed")
        stack.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL + 1)
        address: Any = workers.cluster
        if workers.local:
            options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
            with config.set(DASK_UNWATCHED):
                cluster = LocalCluster(n_workers=workers.jobs, silence_logs=logging.CRITICAL, **options)
                address = stack.enter_context(cluster)
        else:
            _check_listening(workers, get_address_host_port)
        try:
            client = stack.enter_context(Client(address, timeout=_TIMEOUT, set_as_default=False))
        except (OSError, ValueError) as error:
            raise _no_cluster(workers) from error
        try:
            client.wait_for_workers(1, timeout=_TIMEOUT)
        except TimeoutError as error:
            raise WorkersFailed(
                f"the dask scheduler at {address} has no workers",
                remedy=f"Start some: dask worker {address}.",
            ) from error
        if workers.local:  # dask's own watch ends them, but not while C code holds the interpreter
            client.register_worker_callbacks(partial(end_with_parent, os.getpid(), True))
        yield client


@contextmanager
def _connect_ray(workers: Workers) -> Iterator[None]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a run reports to nobody
    import ray

    if ray.is_initialized():  # by the program that calls this one, which also ends it
        yield
        return
    options: dict[str, Any] = {"address": "local", "include_dashboard": False, "num_cpus": workers.jobs}
    if not workers.local:
        if workers.cluster != "auto":
            _check_listening(workers, _parse_address)
        options = {"address": workers.cluster}
    try:
        ray.init(logging_level=logging.CRITICAL, log_to_driver=False, **options)
    except (ConnectionError, OSError, ValueError, RuntimeError) as error:
        raise _no_cluster(workers) from error
    try:
        yield
    finally:
        ray.shutdown()


def _parse_address(address: str) -> tuple[str, int]:
    host, _, port = address.removeprefix(_RAY_SCHEME).rpartition(":")
    return host, int(port)


def _check_listening(workers: Workers, split: Callable[[str], tuple[str, int]]) -> None:
    """Check that something listens at the address: the packages themselves would try for a long time."""
    try:
        socket.create_connection(split(workers.cluster or ""), timeout=_TIMEOUT).close()
    except (OSError, ValueError, OverflowError) as error:
        raise _no_cluster(workers) from error


def _no_cluster(workers: Workers) -> WorkersFailed:
    return WorkersFailed(
        f"no {workers.backend} cluster answers at the address",
        value=workers.cluster,
        remedy=f"Start one ({_START_COMMANDS[workers.backend]}), correct the address, or let the cluster be "
        "local.",
    )
