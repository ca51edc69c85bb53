"""Attempts of workers at tasks: what comes back is checked, and what does not come back is tried again."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Future
from hashlib import sha256
from heapq import heappop, heappush
from queue import Empty, SimpleQueue
from typing import Any

from arena.errors import describe_error
from audits.runs.interrupts import start_processes
from audits.runs.workers.envelope import MISSING, RESULT, UNOPENED, Envelope, perform, software
from audits.runs.workers.pools import Pool
from audits.runs.workers.workers import WorkersFailed, report_gone

TRIES = 3
_LOOK = 5.0  # seconds of silence until somebody looks whether there are workers


class Attempts:
    """Tasks that are begun in order and arrive in any order, however often workers fail meanwhile.

    parcel: the pickled call, or the call itself for workers of this process. patience: as of `Workers`.
    find_fault, unit: as `map_in_order` takes them.
    """

    def __init__(
        self,
        pool: Pool,
        parcel: Any,
        tasks: Sequence[Any],
        *,
        patience: float | None,
        find_fault: Callable[[Any, Any], str] | None,
        unit: str,
    ) -> None:
        self._pool, self._parcel, self._tasks = pool, parcel, tasks
        self._patience = math.inf if patience is None else patience
        self._find_fault, self._unit = find_fault, unit
        self._digest = "" if callable(parcel) else sha256(parcel).hexdigest()
        self._waiting: list[int] = []  # a heap of tasks to be submitted
        self._alone: list[int] = []  # a heap of tasks that were lost twice, to be tried while no other is
        self._under_way: dict[Future[Any], int] = {}  # in the order in which they were submitted
        self._done: SimpleQueue[Future[Any]] = SimpleQueue()
        self._losses: Counter[int] = Counter()  # by task
        self._breakdowns = 0  # of all workers, since the last arrival
        self._size = pool.size  # tasks that are done at a time

    def begin(self, place: int) -> None:
        """Have the task of this place done once workers are free."""
        heappush(self._waiting, place)
        self._submit_waiting()

    def receive(self) -> tuple[int, str, Any]:
        """The place of the next task that arrives, with the kind and the content of its envelope.

        Raises: WorkersFailed as `map_in_order` does.
        """
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
                elif not self._pool.size:
                    self._replace_workers("ended all workers")
                continue
            if future not in self._under_way:  # of workers that were given up
                continue
            error = _find_error(future)
            if isinstance(error, BrokenExecutor | CancelledError):
                self._break_down(_describe_end(error))
                continue
            place = self._under_way.pop(future)
            if error is not None:
                self._lose(place, _describe_end(error))
                continue
            envelope = future.result()
            fault, content = self._open(place, envelope)
            if fault:
                self._lose(place, fault)
            elif envelope.kind == MISSING:
                self._submit(place, self._parcel)
            else:
                self._breakdowns = 0
                return place, envelope.kind, content

    def close(self) -> None:
        """Give up the tasks that have not arrived."""
        self._waiting.clear()
        self._pool.leave(self._under_way)

    def _submit_waiting(self) -> None:
        while self._waiting and (not self._alone or self._waiting[0] < self._alone[0]):
            self._submit(heappop(self._waiting))
        if self._alone and not self._under_way:
            self._submit(heappop(self._alone))

    def _submit(self, place: int, parcel: Any = None) -> None:
        """Submit a task; the parcel only travels if it is asked for, or if it need not travel."""
        if not self._digest:
            parcel = self._parcel
        try:
            with start_processes():
                executor = self._pool.find_executor()
                future = executor.submit(perform, self._digest, parcel, place, self._tasks[place])
                self._under_way[future] = place
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
        lost = {future: place for future, place in self._under_way.items() if not _has_result(future)}
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

    def _open(self, place: int, envelope: Any) -> tuple[str, Any]:
        """What is wrong with an envelope, or "", and its content. Raises: WorkersFailed."""
        if not isinstance(envelope, Envelope):
            return f"gave what is no envelope ({type(envelope).__name__})", None
        worker = envelope.worker
        for name, version in envelope.software.items():
            if version != software()[name]:
                raise WorkersFailed(
                    f"{name} is {software()[name]} here and {version} on the worker {worker}, and figures "
                    "depend on it",
                    remedy="Install the same on every worker.",
                )
        if not envelope.is_intact:
            return f"came damaged from {worker}: its checksum does not match", None
        if envelope.place != place:
            return f"came from {worker} under the number of another", None
        content = envelope.content
        if envelope.kind == UNOPENED:
            raise WorkersFailed(
                f"the worker {worker} cannot open what is to be played: {content}",
                remedy="Install what is missing on every worker, or name a plug-in as path/to/file.py:Class, "
                "which travels with the plan.",
            )
        fault = ""
        if envelope.kind == RESULT and self._find_fault is not None:
            fault = self._find_fault(self._tasks[place], content)
        return f"came from {worker} and {fault}" if fault else "", content


def _find_error(future: Future[Any]) -> BaseException | None:
    """What a finished future raises."""
    return CancelledError() if future.cancelled() else future.exception()


def _has_result(future: Future[Any]) -> bool:
    return future.done() and _find_error(future) is None


def _describe_end(error: BaseException) -> str:
    return f"ended its worker ({type(error).__name__})"
