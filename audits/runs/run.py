"""Running a plan: play the missing blocks, test all blocks in order, and store them in a ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from arena.errors import InvalidArgument
from arena.testing import check_adversary
from arena.testing.independence import check_batches_independent, check_common_random_numbers
from arena.testing.memory import Record, check_memory, check_memory_after
from audits.distinguishers.view_features import Block
from audits.registry.origins import Origins, find_packages
from audits.registry.user_files import UsedFiles
from audits.runs.audit_estimators import AuditEstimators, EstimatorSettings, RunProgress
from audits.runs.blocks import choose_bins, play_blocks, uses_common_random_numbers
from audits.runs.first_games import check_first_games
from audits.runs.interrupts import defer_interrupts
from audits.runs.plan import LEARNED, LIKELIHOOD, Plan
from audits.runs.verdict import RunStopped, Verdict
from audits.runs.workers import Workers
from audits.statistics.score_bins import EXACT

if TYPE_CHECKING:
    from audits.runs.ledger import Ledger

_FEW_BLOCKS = 8  # too few to see from their scores that the games of a block depend on each other
_MIN_BATCHES, _MAX_BATCHES = 16, 64  # of fresh games, if the blocks are few or scatter
_SMALL_BATCH = 16  # games, which are enough if no game differs from the others of its block


def run(
    plan: Plan,
    *,
    jobs: int | Workers = 1,
    ledger: str | Path | None = None,
    watch: Callable[[RunProgress], None] | None = None,
    command: str | None = None,
    files: UsedFiles | None = None,
    key: bytes | None = None,
    all_estimators: bool = False,
) -> Verdict:
    """Play the blocks of the plan that the ledger lacks, and return the verdict.

    jobs: number of processes, or the workers of a cluster; see `Workers`.
    ledger: a file that stores every finished block, so that a killed run can be resumed.
    watch: called after every block, in order. command: the command line, for the notes of a new ledger.
    files: what the players come from; a ledger that was begun with others is refused. key: signs the ledger.
    all_estimators: whether the verdict has all estimators side by side; they take as long again as the test.

    The verdict's figures depend neither on jobs, nor on interruptions, nor on the ledger. A keyboard
    interrupt ends the run early with a verdict marked `interrupted`. If the workers or the disk of the ledger
    fail, the error is raised with such a verdict as its attribute `verdict`. If the learner draws random
    numbers that no seed repeats, the figures cannot be repeated but are as valid, since new processes draw
    other numbers, which is checked.

    Raises: NotConforming and NothingTested as `check_players` does; whatever `arena.play` raises;
    InvalidArgument and LedgerFailed of the ledger; WorkersFailed of the workers.
    """
    if not isinstance(plan, Plan):
        raise InvalidArgument(
            "run takes a Plan", value=plan, remedy="Write run(Plan(learner=..., ...)), or use audits.audit."
        )
    workers = Workers.from_jobs(jobs, len(plan.blocks))
    start = time.perf_counter()
    record = check_players(plan)
    workers = workers.choose_for(plan)
    estimators = AuditEstimators(EstimatorSettings.from_plan(plan), all_estimators=all_estimators)
    played_now, interrupted = 0, False
    failure: RunStopped | None = None
    with (
        nullcontext()
        if ledger is None
        else closing(open_ledger(ledger, plan, command, files, key)) as opened_ledger,
        closing(_iterate_blocks(plan, workers, opened_ledger)) as blocks,
    ):
        try:
            for block, is_new in blocks:
                with defer_interrupts():  # figures are always those of whole blocks
                    played_now += block.pairs if is_new else 0
                    estimators.update(block)
                if watch is not None:
                    watch(estimators.progress())
                if estimators.done:
                    break
        except KeyboardInterrupt:
            interrupted = True
        except RunStopped as error:
            failure, interrupted = error, True
        blocks.close()
        try:
            if opened_ledger is not None:
                if failure is None:
                    check_files_after(opened_ledger, plan, files)
                opened_ledger.close()
        except RunStopped as error:
            failure = failure or error
    _check_after(plan, estimators, record)
    verdict = estimators.make_verdict(
        learner=plan.learner.name,
        adversary=plan.adversary.name,
        protocol=plan.referee.name,
        protects=plan.learner.claim.protects,
        neighbours=plan.learner.claim.neighbours,
        played_now=played_now,
        seconds=time.perf_counter() - start,
        seed=plan.seed,
        interrupted=interrupted,
        estimates=estimators.estimates() if all_estimators else None,
    )
    if failure is not None:
        failure.verdict = verdict
        raise failure
    return verdict


def check_players(plan: Plan) -> Record | None:
    """Check the properties of the players that the verdict relies on; returns as `check_memory` does.

    Raises: NotConforming if the adversary fails `arena.testing.check_adversary`, or the learner does not use
    the random numbers that it declares, common to both worlds or its own; NothingTested if the first games
    show that none could refute the claim.
    """
    games = plan.blocks[0]
    record = check_memory(plan.learner, plan.adversary, plan.referee, faults=plan.faults)
    check_independence(plan, games)
    if 1 < len(plan.blocks) < _FEW_BLOCKS and not plan.faults:
        check_scatter(plan, games)
    check_first_games(plan)
    if plan.distinguisher == LIKELIHOOD:
        from audits.exact_loss.declared_law import check_declared_law  # slow to import

        check_declared_law(plan.learner, plan.adversary, plan.referee)
    return record


def _check_after(plan: Plan, estimators: AuditEstimators, record: Record | None) -> None:
    """Check the players in a batch of the largest size that was played, look at the scatter of blocks, and
    check that a learner whose claim is refuted plays as before the run.

    Raises: NotConforming.
    """
    if estimators.refuted and record is not None:
        check_memory_after(record, plan.learner, plan.adversary, plan.referee, faults=plan.faults)
    largest = max(estimators.block_sizes, default=0)
    if largest > plan.blocks[0] and (estimators.betting.epsilon_lower > 0 or estimators.refuted):
        check_independence(plan, largest)
    if estimators.scatter.suspected:
        check_scatter(plan, largest)
    elif estimators.refuted and estimators.scatter.unclear and uses_common_random_numbers(plan):
        check_scatter(plan, min(largest, _SMALL_BATCH))


def check_independence(plan: Plan, games: int) -> None:
    """Check in a batch of so many games that what a player does in one does not depend on the others.

    Raises: NotConforming.
    """
    if not plan.faults:  # with faults, every game is played alone
        check_adversary(plan.adversary, plan.learner, plan.referee, games=games)
    if uses_common_random_numbers(plan):
        check_common_random_numbers(plan.learner, plan.adversary, plan.referee, games=games)


def check_scatter(plan: Plan, games: int) -> None:
    """Check in fresh batches of so many games that the games of a batch are independent.

    An adversary may draw random numbers for a whole batch, which make blocks differ and do no harm. So in
    these games it draws the same in every batch.

    Raises: NotConforming.
    """
    batches = min(max(len(plan.blocks), _MIN_BATCHES), _MAX_BATCHES)
    players = (plan.learner, plan.adversary, plan.referee)
    check_batches_independent(*players, games=games, batches=batches, faults=plan.faults)


def open_ledger(
    path: str | Path,
    plan: Plan,
    command: str | None,
    files: UsedFiles | None = None,
    key: bytes | None = None,
) -> Ledger:
    """The ledger of a plan; a new ledger gets notes. files, key: as in `run`."""
    from audits.runs.ledger import Ledger  # with sqlite3, which only runs with a ledger need
    from audits.runs.ledger.notes import LedgerNotes

    return Ledger.open(
        path,
        plan.describe(),
        notes=lambda: attrs.asdict(LedgerNotes.from_plan(plan, command)),
        origins=lambda recorded: describe_origins(plan, files, recorded["files"]),
        allow_changes=files is not None and files.allow_changes,
        key=key,
    )


def describe_origins(
    plan: Plan, files: UsedFiles | None, recorded: Mapping[str, str] | None = None
) -> Origins:
    """What the players of a plan come from, as a ledger records it. recorded: its digests of files."""
    files = UsedFiles() if files is None else files
    files.look_up(recorded or {})
    learning = ("sklearn",) if plan.distinguisher == LEARNED else ()
    return {
        "files": files.digest_by_name(),
        "packages": find_packages((plan.learner, plan.adversary), sources=files.digests, more=learning),
    }


def check_files_after(ledger: Ledger, plan: Plan, files: UsedFiles | None) -> None:
    """Look at the files of the players once more, and add to the ledger those that were imported late.

    Raises: InvalidArgument if one changed while the run went on. The ledger then matches no version of it.
    """
    ledger.record_origins(describe_origins(plan, files))
    changed = [] if files is None or files.allow_changes else files.find_changed()
    if changed:
        ledger.record_origins(
            {"files": dict.fromkeys(changed, "several versions"), "packages": {}}, replace=True
        )
        raise InvalidArgument(
            f"files of the players changed while the run went on ({', '.join(changed)}), so that the ledger "
            f"{ledger.path} may hold games from before and after",
            remedy="Begin a new ledger. If no figure depends on the change, give --allow-changes.",
        )


def _iterate_blocks(
    plan: Plan, workers: Workers, ledger: Ledger | None
) -> Generator[tuple[Block, bool], None, None]:
    """All blocks in order, each with whether it is new: those that the ledger lacks are played and stored."""
    stored = set() if ledger is None else ledger.block_indices()
    keep = None if ledger is None else ledger.add
    exact = plan.blocks.exact
    first_blocks: list[Block] = []
    for indices in (range(exact), range(exact, len(plan.blocks))):
        bins = choose_bins(plan, first_blocks) if first_blocks else EXACT
        missing = [index for index in indices if index not in stored] if stored else indices
        with closing(play_blocks(plan, missing, workers, bins=bins, keep=keep)) as new_blocks:
            for index in indices:
                block = ledger.block(index) if ledger is not None and index in stored else next(new_blocks)
                if index < exact:
                    first_blocks.append(block)
                yield block, index not in stored
