"""Running a plan: play the blocks that are missing, anywhere; test them in order; remember them."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path

import attrs

from arena import InvalidArgument
from arena.independence import check_in_step
from arena.testing import check_adversary
from audits.blocks import coupled, play_block
from audits.course import Course, Numbers, Progress
from audits.ledger import Ledger
from audits.notes import Notes
from audits.parallel import in_order
from audits.plan import Plan
from audits.verdict import Verdict
from audits.views import Block


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
    with closing(in_order(partial(play_block, plan), missing, jobs)) as played:
        for index in range(plan.blocks):
            if index in have:
                # The ledger's iterator also meets blocks that were added meanwhile.
                yield next(result for found, result in kept if found == index), False
                continue
            result = next(played)
            if book is not None:
                book.add(index, result)
            yield result, True
