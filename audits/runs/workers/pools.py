"""Pools of workers, as joblib's backends make them; and the way in which each sends the work out once.

loky maps a file into the memory of every process (joblib does so with arrays), dask scatters to every worker,
ray has an object store, and threads share the object itself. What travels with a task is where to find it.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from typing import Any

import numpy as np

from audits.runs.workers.workers import DASK, LOKY, RAY, Workers, WorkersFailed

_WAIT = 5.0  # seconds for a cluster to answer
_RAY_SCHEME = "ray://"
_STARTED = {DASK: "dask scheduler", RAY: "ray start --head"}

# What dask's workers watch themselves by takes some 5 % of a core from a block that keeps it busy.
DASK_UNWATCHED = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.admin.tick.interval": "1s",
}


class Pool(ABC):
    """Workers that are there, and what they are to do.

    parcel: what reaches them once. digest: of it, by which they know it again.
    """

    def __init__(self, workers: Workers, call: Callable[[Any], Any]) -> None:
        self.workers = workers
        self.parcel, self.digest = self._packed(call)

    @property
    @abstractmethod
    def size(self) -> int:
        """How many tasks are done at a time."""

    @abstractmethod
    def parallel(self, **options: Any) -> Any:
        """A joblib.Parallel on them."""

    def end_hanging(self) -> None:  # noqa: B027 - most have nothing to do
        """End workers that hang, where joblib has not done so."""

    def _packed(self, call: Callable[[Any], Any]) -> tuple[Any, str]:
        from cloudpickle import dumps  # by value what plug-ins hold, which workers do not have

        blob = dumps(call)
        return np.frombuffer(blob, np.uint8), sha256(blob).hexdigest()


class Processes(Pool):
    """Processes of loky."""

    @property
    def size(self) -> int:
        return self.workers.jobs or 1

    def parallel(self, **options: Any) -> Any:
        from joblib import Parallel

        # loky replaces a worker that has grown large, and its thread that does so warns of it. Where warnings
        # are errors, as in many a suite of tests, that thread would end, and the run wait for ever.
        warnings.filterwarnings("ignore", "A worker stopped while", module=r"joblib\.externals\.loky")
        _let_loky_kill()
        # Every array is mapped from a file, so the parcel is, however small.
        return Parallel(n_jobs=self.size, backend=LOKY, max_nbytes=1, **options)


def _let_loky_kill() -> None:
    """Have loky able to end its processes where there is neither psutil nor pgrep.

    It warns there, and calls a method that its processes lack. Its thread would end of either, and at its end
    this process would wait for ever for one that nobody ended.
    """
    warnings.filterwarnings("ignore", "Failed to kill subprocesses", module=r"joblib\.externals\.loky")
    if os.name != "posix":
        return
    from joblib.externals.loky.backend.popen_loky_posix import Popen

    if not hasattr(Popen, "kill"):
        Popen.kill = _kill


def _kill(process: Any) -> None:
    with suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)


class Threads(Pool):
    """Threads of this process."""

    @property
    def size(self) -> int:
        return self.workers.jobs or 1

    def parallel(self, **options: Any) -> Any:
        from joblib import Parallel

        return Parallel(n_jobs=self.size, backend="threading", **options)

    def _packed(self, call: Callable[[Any], Any]) -> tuple[Any, str]:
        return call, ""


class Dask(Pool):
    """Workers of a dask cluster. client: of distributed."""

    def __init__(self, workers: Workers, call: Callable[[Any], Any], client: Any) -> None:
        super().__init__(workers, call)
        self.client = client

    @property
    def size(self) -> int:
        return sum(self.client.ncores().values())

    def parallel(self, **options: Any) -> Any:
        from joblib import Parallel
        from joblib._dask import DaskDistributedBackend

        class Backend(DaskDistributedBackend):
            def effective_n_jobs(self, n_jobs: int) -> int:
                # joblib would do in this process what one worker could.
                return max(2, super().effective_n_jobs(n_jobs))

        # A byte more, which no unpickling reads, makes another content, and so another name at the scheduler.
        # Under the old one a worker that was still fetching it when all who had it ended would be taken to
        # have it, and wait for it for ever.
        self.parcel = np.append(self.parcel, np.uint8(0))
        return Parallel(n_jobs=-1, backend=Backend(client=self.client, scatter=[self.parcel]), **options)

    def end_hanging(self) -> None:
        """Restart those that have tasks of ours: had they not hung, these would have come."""
        with suppress(Exception):  # one without a nanny is left alone
            ours = set(self.client.futures)
            doing = self.client.processing()
            hanging = [worker for worker, tasks in doing.items() if ours.intersection(tasks)]
            self.client.restart_workers(hanging, timeout=_WAIT, raise_for_error=False)


class Ray(Pool):
    """Actors on a ray cluster, one a CPU."""

    @property
    def size(self) -> int:
        import ray

        return max(1, int(ray.cluster_resources().get("CPU", 1)))

    def parallel(self, **options: Any) -> Any:
        from joblib import Parallel
        from ray.util.joblib.ray_backend import RayBackend

        class Backend(RayBackend):
            # Inherited from multiprocessing's, whose pools do not bear being left early. Ray's do.
            supports_return_generator = True

        return Parallel(n_jobs=self.size, backend=Backend(), **options)

    def _packed(self, call: Callable[[Any], Any]) -> tuple[Any, str]:
        import ray

        content, digest = super()._packed(call)
        return ray.put(content), digest


@contextmanager
def opened(workers: Workers, call: Callable[[Any], Any]) -> Iterator[Pool]:
    """The pool of such workers, for `call`; what was started for it ends with it.

    Raises: WorkersFailed if no cluster answers.
    """
    with ExitStack() as stack:
        if workers.backend == DASK:
            yield Dask(workers, call, stack.enter_context(_dask(workers)))
        elif workers.backend == RAY:
            stack.enter_context(_ray(workers))
            yield Ray(workers, call)
        else:
            yield (Processes if workers.backend == LOKY else Threads)(workers, call)


@contextmanager
def _dask(workers: Workers) -> Iterator[Any]:
    from dask import config
    from distributed import Client, LocalCluster
    from distributed.comm.addressing import get_address_host_port

    with ExitStack() as stack:
        stack.enter_context(_quiet("distributed"))
        address: Any = workers.cluster
        if workers.local:
            with config.set(DASK_UNWATCHED):
                address = stack.enter_context(
                    LocalCluster(
                        n_workers=workers.jobs,
                        threads_per_worker=1,
                        dashboard_address="127.0.0.1:0",
                        silence_logs=logging.CRITICAL,
                    )
                )
        else:
            _check_listens(workers, get_address_host_port)
        try:
            client = stack.enter_context(Client(address, timeout=_WAIT, set_as_default=False))
        except (OSError, ValueError) as error:
            raise _no_cluster(workers) from error
        try:
            client.wait_for_workers(1, timeout=_WAIT)
        except TimeoutError as error:
            raise WorkersFailed(
                f"the dask scheduler at {address} has no workers",
                remedy=f"Start some: dask worker {address}.",
            ) from error
        yield client


@contextmanager
def _ray(workers: Workers) -> Iterator[None]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a run tells nobody of itself
    import ray

    if ray.is_initialized():  # by the program that runs this: its cluster, its end
        yield
        return
    address = "local" if workers.local else workers.cluster
    options: dict[str, Any] = {"include_dashboard": False, "num_cpus": workers.jobs} if workers.local else {}
    _check_ray(workers)
    try:
        ray.init(address=address, logging_level=logging.CRITICAL, log_to_driver=False, **options)
    except (ConnectionError, OSError, ValueError, RuntimeError) as error:
        raise _no_cluster(workers) from error
    try:
        yield
    finally:
        ray.shutdown()


def _check_ray(workers: Workers) -> None:
    address = workers.cluster or ""
    if address.startswith(_RAY_SCHEME):
        raise WorkersFailed(
            "joblib reaches a ray cluster from one of its nodes only",
            value=address,
            remedy="Run this on a node of the cluster, with the address auto.",
        )
    if workers.local or address == "auto":
        return
    _check_listens(workers, _host_and_port)


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


def _check_listens(workers: Workers, parsed: Callable[[str], tuple[str, int]]) -> None:
    """Whether anybody listens at the address: the packages themselves would try for long."""
    try:
        socket.create_connection(parsed(workers.cluster or ""), timeout=_WAIT).close()
    except (OSError, ValueError, OverflowError) as error:
        raise _no_cluster(workers) from error


def _no_cluster(workers: Workers) -> WorkersFailed:
    return WorkersFailed(
        f"no {workers.backend} cluster answers at the address",
        value=workers.cluster,
        remedy=f"Start one ({_STARTED[workers.backend]}), mend the address, or let the cluster be local.",
    )


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """What goes wrong is told once, by this package."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)
