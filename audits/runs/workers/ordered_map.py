"""Applying one call to many tasks on workers, with the results in order.

joblib does the tasks. This module checks the results, hands a task out again if its worker failed, and limits
how far the workers may run ahead of the reader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from multiprocessing import TimeoutError as TaskHung  # what joblib raises
from threading import Lock
from typing import Any, TypeVar

import attrs

from arena.errors import CannotBeSent, describe_error
from audits.runs.interrupts import start_processes
from audits.runs.workers.envelope import ERROR, RESULT, UNOPENED, Envelope, perform, restore_error, software
from audits.runs.workers.pools import Pool, open_pool
from audits.runs.workers.workers import Workers, WorkersFailed, warn_of_one_process

Task = TypeVar("Task")
Result = TypeVar("Result")
Arrival = tuple[int, Envelope, Any]

TRIES = 3
_AHEAD, _MIN_AHEAD = 16, 64  # tasks that may begin beyond the first unread one: for each worker, and at least
_PER_CALL = 256  # tasks for each worker in one call of joblib, which counts the workers of a cluster anew


def map_in_order(
    call: Callable[[Task], Result],
    tasks: Sequence[Task],
    workers: int | Workers = 1,
    *,
    keep: Callable[[Task, Result], None] | None = None,
    find_fault: Callable[[Task, Result], str] | None = None,
    unit: str = "block",
) -> Generator[Result, None, None]:
    """The result of `call` for every task, in order.

    workers: number of processes, or `Workers`; one worker of this machine is this process, which also does
        what cannot be sent to others.
    keep: called with every task and its result as they arrive, in any order, by this thread.
    find_fault: describes what is wrong with a result of a worker, or returns ""; a faulty task is done again.
    unit: what messages call a task.

    The generator may be closed early: then no further task begins, and those under way are waited for. An
    error of `call` is raised at its place in the order.

    Raises: WorkersFailed if no cluster answers, if a worker has other versions installed or cannot import
    what the tasks need, or if a task fails three times, the last time alone: its worker ended or hung, or the
    result failed its check.
    """
    workers = Workers.from_jobs(workers)
    if workers.alone or not tasks or (len(tasks) == 1 and workers.local):
        yield from _map_here(call, tasks, keep)
        return
    arrived: dict[int, Envelope | Result] = {}
    with ExitStack() as stack:
        try:
            with start_processes():
                pool = stack.enter_context(open_pool(workers, call))
        except CannotBeSent as error:
            warn_of_one_process(error)
            yield from _map_here(call, tasks, keep)
            return
        dispatcher = _Dispatcher(pool, tasks, find_fault, unit)
        results = stack.enter_context(closing(dispatcher.results()))
        for place in range(len(tasks)):
            while place not in arrived:
                other, envelope, result = next(results)
                arrived[other] = result if envelope.kind == RESULT else envelope
                if envelope.kind == RESULT and keep is not None:
                    keep(tasks[other], result)
            outcome = arrived.pop(place)
            dispatcher.first_unread = place + 1
            if isinstance(outcome, Envelope):
                raise restore_error(outcome.content)
            yield outcome


def _map_here(
    call: Callable[[Task], Result], tasks: Sequence[Task], keep: Callable[[Task, Result], None] | None
) -> Iterator[Result]:
    for task in tasks:
        result = call(task)
        if keep is not None:
            keep(task, result)
        yield result


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

    A keyboard interrupt ends it early. watch: called with the number of results so far. The rest is as in
    `map_in_order`.
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
            return results, True
    return results, False


@attrs.define(eq=False)
class _Dispatcher:
    """Hands out tasks to a pool and returns checked results in the order of their arrival.

    first_new: the first task that was never handed out. first_unread: the first whose result was not read;
        the reader sets it.
    under_way: tasks that were handed out and have not arrived. retries: tasks to be handed out again.
    lone_retries: the same, while no other task is under way. lone: the last of these.
    losses: how often a task was lost. reason: why the last one was.
    call_number: of the call of joblib under way. ahead: how far beyond the first unread task one may begin.
    remaining: how many tasks this call may still hand out. starts: of the workers, since the last result.
    """

    pool: Pool
    tasks: Sequence[Any]
    find_fault: Callable[[Any, Any], str] | None
    unit: str
    first_new: int = 0
    first_unread: int = 0
    under_way: set[int] = attrs.field(factory=set)
    retries: deque[int] = attrs.field(factory=deque)
    lone_retries: deque[int] = attrs.field(factory=deque)
    lone: int | None = None
    losses: dict[int, int] = attrs.field(factory=dict)
    reason: str = ""
    call_number: int = 0
    ahead: int = 0
    remaining: int = 0
    starts: int = 0
    lock: Any = attrs.field(factory=Lock)

    def results(self) -> Generator[Arrival, None, None]:
        """The place of each task, its envelope, and its result unless the call raised an error."""
        while self.first_unread < len(self.tasks):
            self.starts += 1
            if self.starts > TRIES:
                raise _workers_gone(self.reason)
            with ExitStack() as stack:
                try:
                    parallel = stack.enter_context(self._start_workers())
                except WorkersFailed:
                    raise
                except Exception as error:  # a worker ended while the others were started
                    self.reason = describe_error(error)
                    continue
                yield from self._use_workers(parallel)

    def _start_workers(self) -> Any:
        try:
            with start_processes():
                return self.pool.parallel(
                    timeout=self.pool.workers.patience,
                    batch_size=1,  # so that an early stop has little to wait for
                    pre_dispatch="2*n_jobs",
                    return_as="generator_unordered",
                )
        except Exception as error:  # each package has its own
            raise _workers_gone(describe_error(error)) from error

    def _use_workers(self, parallel: Any) -> Generator[Arrival, None, None]:
        """The results until workers fail or all results are read."""
        failure: Exception | None = None
        while failure is None and self.first_unread < len(self.tasks):
            self.call_number += 1
            try:
                with start_processes():
                    self.ahead = max(_MIN_AHEAD, _AHEAD * self.pool.size)
                    self.remaining = _PER_CALL * self.pool.size
                    envelopes = parallel(self._hand_out(self.call_number))
            except Exception as error:  # the workers failed between two calls
                failure = error
            else:
                try:
                    failure = yield from self._receive(envelopes)
                finally:
                    self.call_number += 1  # so that no more tasks are handed out
                    with suppress(Exception):
                        deque(envelopes, maxlen=0)  # waits for the tasks under way
            self._retry_lost(failure)

    def _receive(self, envelopes: Iterator[Any]) -> Generator[Arrival, None, Exception | None]:
        """The results of one call of joblib. Returns the error that ended it early."""
        while True:
            try:
                envelope = next(envelopes)
            except StopIteration:
                return None
            except Exception as error:  # of the workers, since they return the errors of tasks
                return error
            result = self._check(envelope)
            if result is not None:
                with self.lock:
                    self.under_way.discard(envelope.place)
                    self.starts = 0
                yield envelope.place, envelope, result[0]

    def _hand_out(self, call_number: int) -> Iterator[Any]:
        """The tasks of one call of joblib, whose threads ask for the next one when a worker is free."""
        from joblib import delayed

        while (place := self._choose_task(call_number)) is not None:
            yield delayed(perform)(self.pool.parcel, self.pool.digest, place, self.tasks[place])

    def _choose_task(self, call_number: int) -> int | None:
        with self.lock:
            if self.call_number != call_number or not self.remaining or self.lone in self.under_way:
                return None
            if self.retries:
                place = self.retries.popleft()
            elif self.lone_retries:
                if self.under_way:
                    return None
                place = self.lone = self.lone_retries.popleft()
            elif self.first_new < min(len(self.tasks), self.first_unread + self.ahead):
                place, self.first_new = self.first_new, self.first_new + 1
            else:
                return None
            self.remaining -= 1
            self.under_way.add(place)
            return place

    def _retry_lost(self, failure: Exception | None) -> None:
        """Have the tasks that did not arrive handed out again: the last time alone, and then no more."""
        if isinstance(failure, TaskHung):
            self.reason = f"did not come within {self.pool.workers.patience:g} s"
            self.pool.end_hanging()
        elif failure is not None:
            self.reason = f"ended its worker ({type(failure).__name__})"
        with self.lock:
            lost = sorted(self.under_way)
            self.under_way.clear()
            for place in lost:
                self.losses[place] = self.losses.get(place, 0) + 1
                if self.losses[place] >= TRIES:
                    raise WorkersFailed(
                        f"{self.unit} {self.tasks[place]} failed {TRIES} times; at last it {self.reason}",
                        remedy="To see what it does, play it in this process: the same command and ledger, "
                        "with --jobs 1 and neither --backend nor --cluster.",
                    )
            self.retries.extend(place for place in lost if self.losses[place] < TRIES - 1)
            self.lone_retries.extend(place for place in lost if self.losses[place] == TRIES - 1)

    def _check(self, envelope: Any) -> tuple[Any] | None:
        """The result in an envelope; None if it cannot be used."""
        if not isinstance(envelope, Envelope):
            self.reason = f"gave what is no envelope ({type(envelope).__name__})"
            return None
        for name, version in envelope.software.items():
            if version != software()[name]:
                raise WorkersFailed(
                    f"{name} is {software()[name]} here and {version} on the worker {envelope.worker}, and "
                    "figures depend on it",
                    remedy="Install the same on every worker.",
                )
        if not envelope.is_intact:
            self.reason = f"came damaged from {envelope.worker}: its checksum does not match"
            return None
        if envelope.place not in self.under_way:
            self.reason = f"came from {envelope.worker} under the number of another"
            return None
        if envelope.kind == UNOPENED:
            raise WorkersFailed(
                f"the worker {envelope.worker} cannot open what is to be played: {envelope.content}",
                remedy="Install what is missing on every worker, or name a plug-in as path/to/file.py:Class, "
                "which travels with the plan.",
            )
        if envelope.kind == ERROR:
            return (None,)
        result = envelope.content
        fault = "" if self.find_fault is None else self.find_fault(self.tasks[envelope.place], result)
        if fault:
            self.reason = f"came from {envelope.worker} and {fault}"
            return None
        return (result,)


def _workers_gone(reason: str) -> WorkersFailed:
    return WorkersFailed(
        f"the workers are gone ({reason})",
        remedy="With a ledger, the same command resumes the run once they are back.",
    )
