"""Applying one call to many tasks on workers, with the results in order and few tasks ahead of the reader."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from typing import Any, TypeVar

from arena.errors import CannotBeSent
from arena.parcels import pack
from audits.runs.interrupts import start_processes
from audits.runs.workers.attempts import Attempts
from audits.runs.workers.envelope import ERROR, RESULT, restore_error
from audits.runs.workers.pools import open_pool
from audits.runs.workers.workers import THREADING, Workers, warn_of_one_process

Task = TypeVar("Task")
Result = TypeVar("Result")

_AHEAD, _MIN_AHEAD = 16, 64  # tasks that may begin beyond the first unread one: for each worker, and at least
_PER_COUNT = 256  # results until the workers of a cluster are counted anew


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

    The generator may be closed early: then the tasks that have not arrived are given up. An error of `call`
    is raised at its place in the order.

    Raises: WorkersFailed if no cluster answers, if a worker has other versions installed or cannot import
    what the tasks need, or if a task fails three times, the last time alone: its worker ended or hung, or the
    result failed its check.
    """
    workers = Workers.from_jobs(workers)
    if workers.alone or not tasks or (len(tasks) == 1 and workers.local):
        yield from _map_here(call, tasks, keep)
        return
    parcel: Any = call
    try:
        if workers.backend != THREADING:
            parcel = pack(call, by_value=not workers.local)
    except CannotBeSent as error:
        warn_of_one_process(error)
        yield from _map_here(call, tasks, keep)
        return
    with ExitStack() as stack:
        with start_processes():
            pool = stack.enter_context(open_pool(workers))
        attempts = Attempts(pool, parcel, tasks, patience=workers.patience, find_fault=find_fault, unit=unit)
        stack.enter_context(closing(attempts))
        arrived: dict[int, tuple[str, Any]] = {}
        begun = ahead = 0
        for place in range(len(tasks)):
            if place % _PER_COUNT == 0:
                ahead = max(_MIN_AHEAD, _AHEAD * pool.size)
            while begun < min(len(tasks), place + ahead):
                attempts.begin(begun)
                begun += 1
            while place not in arrived:
                other, kind, content = attempts.receive()
                arrived[other] = kind, content
                if kind == RESULT and keep is not None:
                    keep(tasks[other], content)
            kind, content = arrived.pop(place)
            if kind == ERROR:
                raise restore_error(content)
            yield content


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
