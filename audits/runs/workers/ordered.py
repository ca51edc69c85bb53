"""The same call on many tasks, by whoever is there, with the results in order.

joblib hands out tasks, one at a time and a few ahead, and gives back what comes, in any order. This adds what
it leaves open: what came is checked; what did not come is asked for again; no more comes than can be kept.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from multiprocessing import TimeoutError as HungTask  # as joblib calls it
from threading import Lock
from typing import Any, TypeVar

import attrs

from arena.errors import describe_error
from audits.runs.interrupts import ignored
from audits.runs.workers.envelope import ERROR, RESULT, UNOPENED, Envelope, made_with, played, raised
from audits.runs.workers.pools import Pool, opened
from audits.runs.workers.workers import Workers, WorkersFailed

Given = TypeVar("Given")
Result = TypeVar("Result")

TRIES = 3
_AHEAD = 16  # tasks begun before an earlier one was read: so many times the workers,
_LEAST_AHEAD = 64  # but at least so many
_WAVE = 256  # so many times the workers; then joblib counts anew how many there are


def in_order(
    call: Callable[[Given], Result],
    tasks: Sequence[Given],
    workers: int | Workers = 1,
    *,
    keep: Callable[[Given, Result], None] | None = None,
    fault: Callable[[Given, Result], str] | None = None,
    unit: str = "block",
) -> Generator[Result, None, None]:
    """What `call` makes of every task, in their order.

    workers: processes, or `Workers`; with one job of this machine, tasks are done here as they are asked for.
    keep: called with every task and its result as they come, in any order, by this thread.
    fault: says what is wrong with a result that a worker gave, or nothing; such a task is done again.
    unit: what a task is called.

    It may be closed early: then no task is begun any more, and those that were are waited for. What a call
    raises is raised in its place in the order.

    Raises: WorkersFailed if no cluster answers, if what a worker has installed is not what is installed here,
    if it cannot import what the tasks need, or if a task fails three times, the last time alone: its worker
    ended, hung, or gave what fails its check.
    """
    workers = Workers.of(workers)
    if workers.alone or not tasks or (len(tasks) == 1 and workers.local):
        for task in tasks:
            result = call(task)
            if keep is not None:
                keep(task, result)
            yield result
        return
    ahead: dict[int, Envelope | Result] = {}
    with (
        _opened(workers, call) as pool,
        closing((handing := _Handing(pool, tasks, fault, unit)).out()) as coming,
    ):
        for place in range(len(tasks)):
            while place not in ahead:
                came, envelope, result = next(coming)
                ahead[came] = result if envelope.kind == RESULT else envelope
                if envelope.kind == RESULT and keep is not None:
                    keep(tasks[came], result)
            found = ahead.pop(place)
            handing.first = place + 1
            if isinstance(found, Envelope):
                raise raised(found.content)
            yield found


@contextmanager
def _opened(workers: Workers, call: Callable[[Any], Any]) -> Iterator[Pool]:
    with ignored():
        pool = opened(workers, call)
        there = pool.__enter__()
    try:
        yield there
    finally:
        pool.__exit__(None, None, None)


@attrs.define(eq=False)
class _Handing:
    """Handing out tasks, and taking in what comes.

    never: the first that was never handed out. first: the first that was not read; who reads sets it.
    handed: handed out, and not come. again: to be handed out again. alone: the same, one at a time.
    tries: how often one was lost. reason: why the last was. wave: number of the call of joblib under way.
    ahead: how far beyond the first that was not read it may begin. left: how many it may still hand out.
    barren: how often workers were asked since anything came.
    """

    pool: Pool
    tasks: Sequence[Any]
    fault: Callable[[Any, Any], str] | None
    unit: str
    never: int = 0
    first: int = 0
    handed: set[int] = attrs.field(factory=set)
    again: deque[int] = attrs.field(factory=deque)
    alone: deque[int] = attrs.field(factory=deque)
    tries: dict[int, int] = attrs.field(factory=dict)
    reason: str = ""
    wave: int = 0
    ahead: int = 0
    left: int = 0
    barren: int = 0
    lock: Any = attrs.field(factory=Lock)

    def out(self) -> Generator[tuple[int, Envelope, Any], None, None]:
        """All tasks, until each was read."""
        while self.first < len(self.tasks):
            self.barren += 1
            if self.barren > TRIES:
                raise _gone(self.reason)
            with self._parallel() as parallel:
                yield from self._until_lost(parallel)

    def _parallel(self) -> Any:
        """joblib on the workers that are there."""
        try:
            with ignored():
                return self.pool.parallel(
                    timeout=self.pool.workers.patience,
                    batch_size=1,  # so that one who stops early has little to wait for
                    pre_dispatch="2*n_jobs",
                    return_as="generator_unordered",
                )
        except Exception as error:  # each package has its own
            raise _gone(describe_error(error)) from error

    def _until_lost(self, parallel: Any) -> Generator[tuple[int, Envelope, Any], None, None]:
        """What comes until workers fail, or all was read."""
        failed: Exception | None = None
        while failed is None and self.first < len(self.tasks):
            self.wave += 1
            try:
                with ignored():
                    self.ahead = max(_LEAST_AHEAD, _AHEAD * self.pool.size)
                    self.left = _WAVE * self.pool.size
                    envelopes = parallel(self._calls(self.wave))
            except Exception as error:  # they failed between two waves
                failed = error
            else:
                try:
                    failed = yield from self._taken_in(envelopes)
                finally:
                    self.wave += 1  # so that no more are handed out
                    with suppress(Exception):
                        deque(envelopes, maxlen=0)
            self._lost(failed)

    def _taken_in(
        self, envelopes: Iterator[Any]
    ) -> Generator[tuple[int, Envelope, Any], None, Exception | None]:
        """What comes of one call of joblib; at the end, why it ended early."""
        while True:
            try:
                envelope = next(envelopes)
            except StopIteration:
                return None
            except Exception as error:  # a worker catches what tasks raise: this is of the workers themselves
                return error
            result = self._checked(envelope)
            if result is not None:
                self._arrived(envelope.place)
                yield envelope.place, envelope, result[0]

    def _calls(self, wave: int) -> Iterator[Any]:
        """What joblib is to do; its threads ask for it as workers come free."""
        from joblib import delayed

        while (place := self._next(wave)) is not None:
            yield delayed(played)(self.pool.parcel, self.pool.digest, place, self.tasks[place])

    def _next(self, wave: int) -> int | None:
        with self.lock:
            if self.wave != wave or not self.left:
                return None
            self.left -= 1
            if self.again:
                place = self.again.popleft()
            elif self.alone:
                if self.handed:
                    return None
                place = self.alone.popleft()
            elif self.never < min(len(self.tasks), self.first + self.ahead):
                place, self.never = self.never, self.never + 1
            else:
                return None
            self.handed.add(place)
            return place

    def _arrived(self, place: int) -> None:
        with self.lock:
            self.handed.discard(place)
            self.barren = 0

    def _lost(self, failed: Exception | None) -> None:
        """What was handed out and has not come is handed out again; in the end alone, and then no more."""
        if isinstance(failed, HungTask):
            self.reason = f"did not come within {self.pool.workers.patience:g} s"
            self.pool.end_hanging()
        elif failed is not None:
            self.reason = f"ended its worker ({type(failed).__name__})"
        with self.lock:
            lost = sorted(self.handed)
            self.handed.clear()
            for place in lost:
                self.tries[place] = self.tries.get(place, 0) + 1
                if self.tries[place] >= TRIES:
                    raise self._given_up(place)
            self.again.extend(place for place in lost if self.tries[place] < TRIES - 1)
            self.alone.extend(place for place in lost if self.tries[place] == TRIES - 1)

    def _given_up(self, place: int) -> WorkersFailed:
        return WorkersFailed(
            f"{self.unit} {self.tasks[place]} failed {TRIES} times; at last it {self.reason}",
            remedy="To see what it does, play it in this process: the same command and ledger, with --jobs 1 "
            "and neither --backend nor --cluster.",
        )

    def _checked(self, envelope: Any) -> tuple[Any] | None:
        """The result in an envelope that may be used; None for one that may not.

        Raises: WorkersFailed if its worker is one of which nothing may be used.
        """
        if not isinstance(envelope, Envelope):
            self.reason = f"gave what is no envelope ({type(envelope).__name__})"
            return None
        self._check_made_with(envelope)
        if not envelope.whole:
            self.reason = f"came damaged from {envelope.where}: its checksum does not match"
            return None
        if envelope.place not in self.handed:
            self.reason = f"came from {envelope.where} under the number of another"
            return None
        if envelope.kind == UNOPENED:
            raise WorkersFailed(
                f"the worker {envelope.where} cannot open what is to be played: {envelope.content}",
                remedy="Install what is missing on every worker, or name a plug-in as path/to/file.py:Class, "
                "which travels with the plan.",
            )
        if envelope.kind == ERROR:
            return (None,)
        result = envelope.content
        wrong = "" if self.fault is None else self.fault(self.tasks[envelope.place], result)
        if wrong:
            self.reason = f"came from {envelope.where} and {wrong}"
            return None
        return (result,)

    def _check_made_with(self, envelope: Envelope) -> None:
        here = made_with()
        for name, there in envelope.made_with.items():
            if there != here[name]:
                raise WorkersFailed(
                    f"{name} is {here[name]} here and {there} on the worker {envelope.where}, and figures "
                    "hang on it",
                    remedy="Install the same on every worker.",
                )


def _gone(reason: str) -> WorkersFailed:
    return WorkersFailed(
        f"the workers are gone ({reason})",
        remedy="With a ledger, the same command goes on from there once they are back.",
    )
