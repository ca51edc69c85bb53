"""Which workers play: processes or threads of this machine, or a dask cluster; and what interrupts do."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from threading import current_thread, main_thread
from typing import TypeVar

import attrs

from arena.errors import CannotBeSent, InvalidArgument, PlaysAlone, suggest_extra
from arena.parcels import pack
from arena.settings import at_least, more_than, whole
from audits.interrupts import check_interrupts
from audits.registry.suggestions import unknown_name
from audits.runs.verdict import RunStopped

LOKY, THREADING, DASK = BACKENDS = ("loky", "threading", "dask")
LOCAL = "local"
JOBS_PER_CORE = 32  # blocks that wait for something else keep no core busy
ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
Task = TypeVar("Task")
Result = TypeVar("Result")


@attrs.frozen(kw_only=True)
class Workers:
    """The workers that play; this process with one job of loky or threading. No figure depends on them.

    backend: "loky" (processes), "threading", or "dask". jobs: number of workers of this machine. Default: 1,
    or the number of cores for a local cluster. cluster: the address of dask's scheduler; "local", the
    default, starts a cluster that ends with the run. patience: seconds without a block after which the
    workers count as hanging; None waits for ever. Raises: InvalidArgument if there are no such workers.
    """

    backend: str = LOKY
    jobs: int | None = attrs.field(default=None, validator=attrs.validators.optional([whole, at_least(1)]))
    cluster: str | None = None
    patience: float | None = attrs.field(default=None, validator=attrs.validators.optional(more_than(0)))

    def __attrs_post_init__(self) -> None:
        cores = os.cpu_count() or 1
        limit = JOBS_PER_CORE * cores
        if self.backend not in BACKENDS:
            raise unknown_name("backend", self.backend, BACKENDS)
        if self.jobs is not None and self.jobs > limit:
            raise InvalidArgument(
                f"jobs must be at most {limit:,}, {JOBS_PER_CORE} for each core of this machine, "
                "since more only wait for each other, and a process takes some 50 MB",
                value=self.jobs,
                remedy=f"Give one for each core, {cores}, or use a cluster with --backend dask.",
            )
        if self.backend != DASK and self.cluster is not None:
            raise InvalidArgument(
                f"{self.backend} has no cluster", value=self.cluster, remedy="Choose the backend dask."
            )
        if self.jobs is not None and not self.local:
            raise InvalidArgument(
                "a cluster elsewhere has its own number of workers", value=self.jobs, remedy="Leave out jobs."
            )
        if self.backend == DASK and find_spec("distributed") is None:
            raise InvalidArgument(
                "the backend dask needs distributed, which is not installed", remedy=suggest_extra(DASK)
            )
        if self.patience is not None and (self.backend == THREADING or self.alone):
            raise InvalidArgument(
                "patience ends workers that hang, but threads of this process cannot be ended",
                value=self.patience,
                remedy="Use at least two jobs of loky, or a cluster.",
            )

    @classmethod
    def from_jobs(cls, jobs: int | Workers, tasks: int | None = None) -> Workers:
        """This number of processes, or the workers themselves; of this machine at most one for a task."""
        workers = jobs if isinstance(jobs, Workers) else cls(jobs=jobs)
        if workers.jobs is None or tasks is None:
            return workers
        return attrs.evolve(workers, jobs=min(workers.jobs, max(2, tasks)))

    @property
    def alone(self) -> bool:
        """Whether this process plays everything."""
        return self.backend in (LOKY, THREADING) and (self.jobs or 1) == 1

    @property
    def local(self) -> bool:
        """Whether the workers end with this process."""
        return self.cluster in (None, LOCAL)

    def choose_for(self, players: object) -> Workers:
        """These workers; if the players cannot be sent to other processes, this process, with a warning."""
        if self.alone or self.backend == THREADING:
            return self
        try:
            pack(players)
        except CannotBeSent as error:
            warn_of_one_process(error)
            return Workers()
        return self


class WorkersFailed(InvalidArgument, RunStopped):
    """The workers failed. The blocks that they had finished are kept."""


def report_gone(reason: str) -> WorkersFailed:
    return WorkersFailed(
        f"the workers are gone ({reason})", remedy="With a ledger, the same command resumes the run."
    )


def warn_of_one_process(error: CannotBeSent) -> None:
    """Warn that one process plays everything."""
    warnings.warn(
        f"one process plays all games, since the players cannot be sent to others ({error}). Figures are the "
        "same. To use several, give the mechanism by make=, a function without arguments that makes it in "
        "each process (--set make=FILE.py:f), or make what cannot be pickled at the top level of FILE.py.",
        PlaysAlone,
        stacklevel=4,
    )


def map_here(
    call: Callable[[Task], Result], tasks: Iterable[Task], keep: Callable[[Task, Result], None] | None = None
) -> Generator[Result, None, None]:
    """The result of `call` for every task, in order, by this process. keep: as of `map_in_order`."""
    for task in tasks:
        check_interrupts()
        result = call(task)
        if keep is not None:
            keep(task, result)
        yield result


@contextmanager
def defer_interrupts() -> Iterator[None]:
    """Deliver signals that end a run, if they have a handler in Python, only at the end of the block.

    Does nothing outside the main thread, where Python never runs handlers.
    """
    arrived: list[int] = []
    try:
        with ExitStack() as stack:
            for number in ENDING if current_thread() is main_thread() else ():
                previous = signal.getsignal(number)
                if callable(previous):
                    stack.callback(signal.signal, number, previous)
                    signal.signal(number, lambda number, _: arrived.append(number))
            yield
    finally:
        if arrived:
            signal.raise_signal(arrived[0])


@contextmanager
def start_processes() -> Iterator[None]:
    """Defer signals that end a run, and keep SIGINT from all processes that are started inside.

    A worker that Ctrl-C ends in the middle of a message would leave this process waiting for the rest.
    """
    with defer_interrupts():
        if not hasattr(signal, "pthread_sigmask"):
            yield
            return
        # Processes and threads inherit the mask. A process that ignored SIGINT would lose a Ctrl-C.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
