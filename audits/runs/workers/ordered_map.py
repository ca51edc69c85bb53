"""Applying one call to many tasks on workers, with the results in order and few tasks ahead of the reader."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future
from contextlib import ExitStack, closing
from hashlib import sha256
from heapq import heappop, heappush
from queue import Empty, SimpleQueue
from typing import Any

from arena.errors import CannotBeSent, describe_error
from arena.parcels import pack
from audits.counted_warnings import add_warnings
from audits.interrupts import acknowledge_interrupt, check_interrupts
from audits.runs.workers.pools import Pool, open_pool
from audits.runs.workers.worker_process import ERROR, MISSING, RESULT, UNOPENED, Outcome, perform, software
from audits.runs.workers.workers import (
    THREADING,
    Result,
    Task,
    Workers,
    WorkersFailed,
    map_here,
    report_gone,
    start_processes,
    warn_of_one_process,
)

TRIES = 3
_AHEAD, _MIN_AHEAD = 16, 64  # tasks that may begin beyond the first unread one: for each worker, and at least
_PER_COUNT = 256  # results until the workers of a cluster are counted anew
_LOOK = 5.0  # seconds of silence until somebody looks whether workers have tasks


def map_in_order(
    call: Callable[[Task], Result],
    tasks: Sequence[Task],
    workers: int | Workers = 1,
    *,
    keep: Callable[[Task, Result], None] | None = None,
    unit: str = "block",
) -> Generator[Result, None, None]:
    """The result of `call` for every task, in order. The generator may be closed early.

    workers: number of processes, or `Workers`; one is this process, which also does what cannot be sent.
    keep: called with every task and its result as they arrive, in any order. unit: what messages call a task.

    Raises: an error of `call`, at its place in the order; WorkersFailed if no cluster answers, if a worker
    has other versions or cannot import what it needs, or if the workers of a task end or hang three times.
    """
    workers = Workers.from_jobs(workers)
    if workers.alone or not tasks or (len(tasks) == 1 and workers.local):
        yield from map_here(call, tasks, keep)
        return
    parcel: Any = call
    try:
        if workers.backend != THREADING:
            parcel = pack(call, by_value=not workers.local)
    except CannotBeSent as error:
        warn_of_one_process(error)
        yield from map_here(call, tasks, keep)
        return
    with ExitStack() as stack:
        with start_processes():
            pool = stack.enter_context(open_pool(workers))
        attempts = _Attempts(pool, parcel, tasks, patience=workers.patience, unit=unit)
        stack.enter_context(closing(attempts))
        arrived: dict[int, Outcome] = {}
        begun = ahead = 0
        for place in range(len(tasks)):
            check_interrupts()
            if place % _PER_COUNT == 0:
                ahead = max(_MIN_AHEAD, _AHEAD * pool.size)
            while begun < min(len(tasks), place + ahead):
                attempts.begin(begun)
                begun += 1
            while place not in arrived:
                other, outcome = attempts.receive()
                arrived[other] = outcome
                add_warnings(outcome.warnings)
                if outcome.kind == RESULT and keep is not None:
                    keep(tasks[other], outcome.content)
            outcome = arrived.pop(place)
            if outcome.kind == ERROR:
                raised, trace = outcome.content
                raised.add_note(f"In a worker:\n{trace}")  # which `--debug` shows
                raise raised
            yield outcome.content


def map_missing(
    call: Callable[[Task], Result],
    tasks: Iterable[Task],
    known: Mapping[Task, Result],
    jobs: int | Workers = 1,
    *,
    keep: Callable[[Task, Result], None] | None = None,
    watch: Callable[[int], None] | None = None,
    unit: str = "block",
) -> tuple[dict[Task, Result], bool]:
    """The results by task, the known ones and those of `call` for the others; and whether it was interrupted.

    watch: called with the number of results so far. The rest is as in `map_in_order`.
    """
    results = dict(known)
    missing = [task for task in tasks if task not in results]
    workers = Workers.from_jobs(jobs, len(missing))
    with closing(map_in_order(call, missing, workers, keep=keep, unit=unit)) as found:
        try:
            if watch is not None:
                watch(len(results))
            for task, result in zip(missing, found, strict=True):
                results[task] = result
                if watch is not None:
                    watch(len(results))
        except KeyboardInterrupt:
            acknowledge_interrupt()
            return results, True
    return results, False


class _Attempts:
    """Tasks that are begun in order and arrive in any order, however often workers fail meanwhile.

    parcel: the pickled call, or the call itself for workers of this process.
    """

    def __init__(
        self, pool: Pool, parcel: Any, tasks: Sequence[Any], *, patience: float | None, unit: str
    ) -> None:
        self._pool, self._parcel, self._tasks, self._unit = pool, parcel, tasks, unit
        self._patience = math.inf if patience is None else patience
        self._digest = "" if callable(parcel) else sha256(parcel).hexdigest()
        self._waiting: list[int] = []  # a heap of tasks to be submitted
        self._alone: list[int] = []  # a heap of tasks that were lost twice, to be tried while no other is
        self._lone: Future[Any] | None = None  # the last of these
        self._under_way: dict[Future[Any], int] = {}  # in the order in which they were submitted
        self._done: SimpleQueue[Future[Any]] = SimpleQueue()
        self._losses: Counter[int] = Counter()  # by task
        self._breakdowns = 0  # of all workers, since the last arrival
        self._size = pool.size  # tasks that are done at a time

    def begin(self, place: int) -> None:
        heappush(self._waiting, place)
        self._submit_waiting()

    def receive(self) -> tuple[int, Outcome]:
        """The place and the outcome of the next task that arrives. Raises: WorkersFailed."""
        silent = 0.0  # seconds
        while True:
            self._submit_waiting()
            pause = min(_LOOK, self._patience - silent)
            try:
                future = self._done.get(timeout=pause)
            except Empty:
                silent += pause
                if silent >= self._patience:
                    self._replace_workers(f"did not come within {self._patience:g} s")
                    silent = 0.0
                elif self._pool.is_stuck():
                    self._replace_workers("was lost by the cluster")
                continue
            if future not in self._under_way:  # of workers that were given up
                continue
            error = _find_error(future)
            if isinstance(error, CancelledError):
                self._replace_workers("was lost by the cluster")
            elif isinstance(error, BrokenExecutor):
                self._break_down(_describe_end(error))
            elif error is not None:
                self._lose(self._under_way.pop(future), _describe_end(error))
            else:
                place, outcome = self._under_way.pop(future), future.result()
                _check_worker(outcome)
                if outcome.kind != MISSING:
                    self._breakdowns = 0
                    return place, outcome
                self._submit(place, self._parcel)

    def close(self) -> None:
        """Give up the tasks that have not arrived."""
        self._waiting.clear()
        self._pool.leave(self._under_way)

    def _submit_waiting(self) -> None:
        if self._lone in self._under_way:
            return
        while self._waiting and (not self._alone or self._waiting[0] < self._alone[0]):
            self._submit(heappop(self._waiting))
        if self._alone and not self._under_way:
            self._submit(heappop(self._alone))

    def _submit(self, place: int, parcel: Any = None) -> None:
        """Submit a task. The parcel travels with the first tasks, one for each worker, and where it is asked
        for: a task that had to ask waits behind all others."""
        if not self._digest or place < self._size:
            parcel = self._parcel
        try:
            with start_processes():
                executor = self._pool.find_executor()
                future = executor.submit(perform, self._digest, parcel, self._tasks[place])
                self._under_way[future] = place
            if self._losses[place] == TRIES - 1:
                self._lone = future
        except BrokenExecutor as error:
            heappush(self._waiting, place)
            self._break_down(_describe_end(error))
        except Exception as error:  # each package has its own
            raise report_gone(describe_error(error)) from error
        else:
            future.add_done_callback(self._done.put)

    def _replace_workers(self, reason: str) -> None:
        with start_processes():
            self._pool.end_workers()
        self._break_down(reason)

    def _break_down(self, reason: str) -> None:
        """Try all tasks under way again. Those that workers had begun, the first, may be why they failed."""
        self._breakdowns += 1
        if self._breakdowns > TRIES:
            raise report_gone(reason)
        lost = {
            future: place
            for future, place in self._under_way.items()
            if not future.done() or _find_error(future)
        }
        for future in lost:
            self._under_way.pop(future)
            future.cancel()
        for number, place in enumerate(lost.values()):
            if number < self._size:
                self._lose(place, reason)
            else:
                heappush(self._waiting, place)

    def _lose(self, place: int, reason: str) -> None:
        """Try a task again, the last time alone, and then no more. reason: why it was lost."""
        self._losses[place] += 1
        if self._losses[place] >= TRIES:
            raise WorkersFailed(
                f"{self._unit} {self._tasks[place]} failed {TRIES} times; at last it {reason}",
                remedy="To see what it does, play it in this process: the same command and ledger, with "
                "--jobs 1 and neither --backend nor --cluster.",
            )
        heappush(self._alone if self._losses[place] == TRIES - 1 else self._waiting, place)


def _check_worker(outcome: Outcome) -> None:
    """Raises: WorkersFailed if the worker has other versions, or cannot open the call."""
    for name, version in outcome.software.items():
        if version != software()[name]:
            raise WorkersFailed(
                f"{name} is {software()[name]} here and {version} on the worker {outcome.worker}, and "
                "figures depend on it",
                remedy="Install the same on every worker.",
            )
    if outcome.kind == UNOPENED:
        raise WorkersFailed(
            f"the worker {outcome.worker} cannot open what is to be played: {outcome.content}",
            remedy="Install what is missing on every worker, or name a plug-in as path/to/file.py:Class, "
            "which travels with the plan.",
        )


def _find_error(future: Future[Any]) -> BaseException | None:
    """What a finished future raises."""
    return CancelledError() if future.cancelled() else future.exception()


def _describe_end(error: BaseException) -> str:
    return f"ended its worker ({type(error).__name__})"
