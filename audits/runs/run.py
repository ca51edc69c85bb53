"""Running a plan: play the blocks that are missing, anywhere; test them in order; remember them."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import closing, nullcontext
from pathlib import Path

import attrs

from arena.testing import check_adversary
from arena.testing.fresh_coins import check_own_coins
from arena.testing.independence import check_common_random_numbers
from audits.distinguishers.view_features import Block
from audits.runs.blocks import coupled, play_blocks
from audits.runs.description import Notes
from audits.runs.estimation import Course, Numbers, Progress
from audits.runs.interrupts import held_back
from audits.runs.ledger import Ledger
from audits.runs.plan import Plan
from audits.runs.stopped import Stopped
from audits.runs.verdict import Verdict
from audits.runs.workers import Workers


def run(
    plan: Plan,
    *,
    jobs: int | Workers = 1,
    ledger: str | Path | None = None,
    watch: Callable[[Progress], None] | None = None,
    command: str | None = None,
    every: bool = False,
) -> Verdict:
    """Play the plan, or what a ledger says is left of it, and return the verdict.

    jobs: processes, or the workers of a cluster; see `Workers`.
    ledger: a file that keeps every finished block; a run that is killed and run again ends with the figures
        of an undisturbed one.
    watch: called after every block, in order.
    command: the command line that asks for this plan, for the notes of a new ledger.
    every: whether the verdict has all estimators side by side; they take as long again as the test.

    The verdict's figures do not depend on jobs, on interruptions, or on the ledger. A keyboard
    interrupt ends the run early with what it has, marked `interrupted`. So does a failure of the workers or
    of the ledger's disk; it is raised once the figures are there, with the verdict as its attribute
    `verdict`. Where the learner draws coins of its own nothing repeats the figures; they are as sound, since
    new processes draw other coins: that is checked.

    Raises: NotConforming if the adversary fails `arena.testing.check_adversary`, with which every run
    begins, or if a learner that says it is in step is not, or if two processes draw the same where it draws
    coins of its own; whatever a referee raises in a game; InvalidArgument and `LedgerFailed` of the ledger;
    WorkersFailed of the workers.
    """
    workers = Workers.of(jobs)
    started = time.perf_counter()
    check_players(plan)
    course, played_now, interrupted = Course(Numbers.of(plan), every=every), 0, False
    stopped: Stopped | None = None
    with (
        nullcontext() if ledger is None else closing(opened(ledger, plan, command)) as book,
        closing(_results(plan, workers, book)) as results,
    ):
        try:
            for result, is_new in results:
                with held_back():  # figures are of whole blocks
                    played_now += result.pairs if is_new else 0
                    course.update(result)
                if watch is not None:
                    watch(course.progress())
                if course.done:
                    break
        except KeyboardInterrupt:
            interrupted = True
        except Stopped as error:
            stopped, interrupted = error, True
    verdict = course.verdict(
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
    if stopped is not None:
        stopped.verdict = verdict
        raise stopped
    return verdict


def check_players(plan: Plan) -> None:
    """Check what a run rests on, with which every one begins.

    Raises: NotConforming if the adversary fails `arena.testing.check_adversary`, or if a learner that says it
    is in step is not, or if two processes draw the same where a learner draws coins of its own.
    """
    if plan.learner.own_coins:
        check_own_coins(plan.learner, plan.adversary, plan.referee, faults=plan.faults)
    if not plan.faults:  # with faults, every game is played alone
        check_adversary(plan.adversary, plan.learner, plan.referee)
    if coupled(plan):
        check_common_random_numbers(plan.learner, plan.adversary, plan.referee)


def opened(path: str | Path, plan: Plan, command: str | None) -> Ledger:
    """The ledger of a plan; a new one is given notes."""
    return Ledger.open(path, plan.describe(), notes=lambda: attrs.asdict(Notes.of(plan, command)))


def _results(plan: Plan, workers: Workers, book: Ledger | None) -> Generator[tuple[Block, bool], None, None]:
    """Every block's result in order, and whether it is new: from the ledger where it has it, played where
    not, and remembered as it comes."""
    kept = book.blocks() if book is not None else iter(())
    have = book.have() if book is not None else set()
    missing = [index for index in range(plan.blocks) if index not in have] if have else range(plan.blocks)
    with closing(play_blocks(plan, missing, workers, keep=None if book is None else book.add)) as played:
        for index in range(plan.blocks):
            if index in have:
                # The ledger's iterator also meets blocks that were added meanwhile.
                yield next(result for found, result in kept if found == index), False
                continue
            yield next(played), True
