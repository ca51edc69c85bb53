"""Running a plan: play the blocks that are missing, anywhere; test them in order; remember them."""

from __future__ import annotations

import signal
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from itertools import takewhile
from pathlib import Path
from threading import Event, current_thread, main_thread

import attrs

from arena import InvalidArgument
from arena.independence import check_in_step
from arena.testing import check_adversary
from audits.blocks import coupled, play_block
from audits.course import Course, Numbers, Progress
from audits.ledger import Ledger
from audits.notes import Notes
from audits.plan import Plan
from audits.verdict import Verdict
from audits.views import Block

# Workers that outrun this process would pile up results, so it hands out so many blocks at a time.
_WAVE = 64


def run(
    plan: Plan,
    *,
    jobs: int = 1,
    ledger: str | Path | None = None,
    watch: Callable[[Progress], None] | None = None,
    command: str | None = None,
    every: bool = False,
) -> Verdict:
    """Play the plan, or what a ledger says is left of it, and return the verdict.

    jobs: processes.
    ledger: a file that keeps every finished block; a run that is killed and run again ends with the figures
        of an undisturbed one.
    watch: called after every block, in order.
    command: the command line that asks for this plan, for the notes of a new ledger.
    every: whether the verdict has all estimators side by side; they take as long again as the test.

    The verdict's figures do not depend on jobs, on interruptions, or on the ledger. A keyboard
    interrupt ends the run early with what it has, marked `interrupted`.

    Raises: NotConforming if the adversary fails `arena.testing.check_adversary`, with which every run
    begins, or if a learner that says it is in step is not; whatever a referee raises in a game;
    InvalidArgument and `LedgerFailed` of the ledger.
    """
    if jobs < 1:
        raise InvalidArgument("jobs must be at least 1", value=jobs)
    started = time.perf_counter()
    if not plan.faults:  # with faults, every game is played alone
        check_adversary(plan.adversary, plan.learner, plan.referee)
    if coupled(plan):
        check_in_step(plan.learner, plan.adversary, plan.referee)
    course, played_now, interrupted = Course(Numbers.of(plan), every=every), 0, False
    with (
        nullcontext() if ledger is None else closing(_opened(ledger, plan, command)) as book,
        closing(_results(plan, jobs, book)) as results,
    ):
        try:
            for result, is_new in results:
                played_now += result.pairs if is_new else 0
                course.update(result)
                if watch is not None:
                    watch(course.progress())
                if course.done:
                    break
        except KeyboardInterrupt:
            interrupted = True
    return course.verdict(
        learner=plan.learner.name,
        adversary=plan.adversary.name,
        protocol=plan.referee.name,
        protects=plan.learner.claim.protects,
        neighbours=plan.learner.claim.neighbours,
        played_now=played_now,
        seconds=time.perf_counter() - started,
        seed=plan.seed,
        interrupted=interrupted,
        estimates=course.estimates() if every else None,
    )


def _opened(path: str | Path, plan: Plan, command: str | None) -> Ledger:
    return Ledger.open(path, plan.describe(), notes=lambda: attrs.asdict(Notes.of(plan, command)))


def _results(plan: Plan, jobs: int, book: Ledger | None) -> Generator[tuple[Block, bool], None, None]:
    """Every block's result in order, and whether it is new: from the ledger where it has it, played and
    remembered where not."""
    kept = book.blocks() if book is not None else iter(())
    have = book.have() if book is not None else set()
    missing = [index for index in range(plan.blocks) if index not in have]
    with closing(_played(plan, missing, jobs)) as played:
        for index in range(plan.blocks):
            if index in have:
                # The ledger's iterator also meets blocks that were added meanwhile.
                yield next(result for found, result in kept if found == index), False
                continue
            result = next(played)
            if book is not None:
                book.add(index, result)
            yield result, True


def _played(plan: Plan, indices: list[int], jobs: int) -> Generator[Block, None, None]:
    """The named blocks, played, in order."""
    if jobs == 1 or len(indices) <= 1:
        for index in indices:
            yield play_block(plan, index)
        return
    from joblib import Parallel, delayed  # slow to import, and not needed for one job

    stopping = Event()
    # One block a task and few ahead, so that a run which stops early has little to wait for.
    with Parallel(n_jobs=jobs, return_as="generator", batch_size=1, pre_dispatch="2*n_jobs") as parallel:
        for start in range(0, len(indices), _WAVE):
            wave = indices[start : start + _WAVE]
            tasks = (delayed(play_block)(plan, i) for i in takewhile(lambda _: not stopping.is_set(), wave))
            with _no_interrupt():
                results = parallel(tasks)
            try:
                for result in results:  # noqa: UP028 - "yield from" would close it with blocks under way
                    yield result
            finally:
                stopping.set()
                with suppress(Exception):
                    deque(results, maxlen=0)
            stopping.clear()


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Let the workers that start here ignore Ctrl-C: it reaches them too, and one that dies of it half-way
    through a message would be waited for for ever. This process stops them in order."""
    if current_thread() is not main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
