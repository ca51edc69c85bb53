"""Running a plan: play the missing blocks, test all blocks in order, and store them in a ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from arena import InvalidArgument
from arena.engine import ReleaseWatch, watch_releases
from arena.testing.memory import Record, check_memory_after
from audits.distinguishers.view_features import Block
from audits.interrupts import acknowledge_interrupt, check_interrupts
from audits.registry.origins import Origins, find_packages
from audits.registry.user_files import UsedFiles
from audits.runs.audit_estimators import AuditEstimators
from audits.runs.blocks import (
    check_independence,
    check_players,
    check_repeated_games,
    check_scatter,
    choose_bins,
    count_repeated_calls,
    play_block,
    play_blocks,
    repeats_calls,
    uses_common_random_numbers,
)
from audits.runs.limits import (
    CALLS,
    CHECKED_AGAIN,
    SECONDS,
    Limits,
    TimeIsOver,
    announce_cost,
    count_checking_calls,
    makes_few_calls,
    time_game,
)
from audits.runs.plan import LEARNED, Plan
from audits.runs.same_releases import judge_same_releases
from audits.runs.verdict import RunNotes, RunStopped, Verdict
from audits.runs.workers import Workers
from audits.runs.workers.workers import defer_interrupts
from audits.statistics.score_histogram import EXACT

if TYPE_CHECKING:
    from audits.runs.ledger import Ledger

_SMALL_BATCH = 16  # games, which are enough if no game differs from the others of its block


@attrs.frozen
class RunProgress:
    """The state of a run: games tested in each world, of how many, and the certified bound so far (nats)."""

    games: int
    games_planned: int
    epsilon_lower: float
    refuted: bool


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
    estimators: AuditEstimators | None = None,
    limits: Limits | None = None,
    announce: Callable[[str], None] | None = None,
    relation_chosen: bool = True,
) -> Verdict:
    """Play the blocks of the plan that the ledger lacks, and return the verdict.

    jobs: number of processes, or `Workers`. ledger: a file that stores every finished block, so that a killed
    run can be resumed. watch: called after every block, in order. command: for the notes of a new ledger.
    files: what the players come from; a ledger that was begun with others is refused. key: signs the ledger.
    estimators: to update with the blocks, in place of those of the plan. relation_chosen: as of
    `AuditEstimators`; a new ledger notes it.

    limits: that end the run early, with a verdict marked `stopped`; the test is valid at any time. announce:
    called with what the run costs, if that is over ten seconds.

    No figure depends on jobs, interruptions or the ledger. A keyboard interrupt ends the run early with a
    verdict marked `interrupted`. Errors of workers or of the ledger's disk have such a `verdict`.

    Raises: NotConforming and NothingTested as `check_players` does, NothingTested if all games release the
    same whatever the data; whatever `arena.play` raises;
    InvalidArgument and LedgerFailed of the ledger; WorkersFailed of the workers.
    """
    if not isinstance(plan, Plan):
        raise InvalidArgument(
            "run takes a Plan", value=plan, remedy="Write run(Plan(learner=..., ...)), or use audits.audit."
        )
    workers = Workers.from_jobs(jobs, len(plan.blocks))
    start = time.perf_counter()
    limits = Limits() if limits is None else limits
    few, seconds = makes_few_calls(plan.learner, 2 * plan.games), 0.0
    if announce is not None:
        seconds = time_game(plan.learner, plan.adversary, plan.referee, faults=plan.faults, few=few)
        few = makes_few_calls(plan.learner, 2 * plan.games, seconds)
        costs = {"jobs": workers.jobs or 1}
        if plan.learner.one_call_a_game:
            costs["checks"] = count_checking_calls(plan.learner, few=few) + CHECKED_AGAIN
            costs["repeated"] = count_repeated_calls(plan)
        announce_cost(plan.learner, 2 * plan.games, seconds, limits, announce, **costs)
    with watch_releases() as releases:
        record = check_players(plan, few=few)
    seen = releases.describe()
    outcomes: set[bytes] = set()  # of blocks in which all games look the same; b"" for any other
    workers = workers.choose_for(plan)
    estimators = estimators or AuditEstimators(
        plan, all_estimators=all_estimators, relation_chosen=relation_chosen
    )
    played_now, interrupted = 0, False
    failure: RunStopped | None = None
    with (
        nullcontext()
        if ledger is None
        else closing(open_ledger(ledger, plan, command, files, key, relation_chosen, seen)) as opened_ledger,
        closing(_iterate_blocks(plan, workers, opened_ledger, limits)) as blocks,
    ):
        try:
            for block, is_new in blocks:
                check_interrupts()
                with defer_interrupts():  # figures are always those of whole blocks
                    played_now += block.pairs if is_new else 0
                    estimators.update(block)
                    outcomes.add(block.only_outcome)
                if watch is not None:
                    certified, refuted = estimators.epsilon_lower, estimators.refuted
                    watch(RunProgress(estimators.games, plan.games, certified, refuted))
                if estimators.done:
                    break
        except KeyboardInterrupt:
            acknowledge_interrupt()
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
    # Games before an allowed change of the players may come out otherwise after it.
    repeats = repeats_calls(plan) and not (files is not None and files.allow_changes)
    _check_after(plan, estimators, record, None if interrupted else workers, repeats=repeats, few=few)
    notes = attrs.evolve(RunNotes.from_plan(plan), seen=seen)
    if len(outcomes) == 1 and outcomes != {b""}:
        notes = attrs.evolve(notes, same_releases=_check_releases(plan, releases))
    verdict = estimators.make_verdict(
        notes,
        interrupted=interrupted,
        stopped="" if interrupted or estimators.done else limits.reached,
        played_now=played_now,
        seconds=time.perf_counter() - start,
        played=plan,
    )
    if failure is not None:
        failure.verdict = verdict
        raise failure
    return verdict


def _check_releases(plan: Plan, releases: ReleaseWatch) -> str:
    """As `judge_same_releases`, of a run in which all games had one score, or one view; empty if the releases
    differ all the same."""
    if not releases.varied and plan.distinguisher != LEARNED:  # scores may hide what differs
        with watch_releases() as others:
            play_block(plan, 0)
        releases.join(others)
    return judge_same_releases(plan.learner, plan.referee.name, releases)


def _check_after(
    plan: Plan,
    estimators: AuditEstimators,
    record: Record | None,
    workers: Workers | None,
    *,
    repeats: bool,
    few: bool,
) -> None:
    """Check the largest batch, the scatter of blocks, a refuted learner's memory, and that games repeat.
    workers: None after an interrupt, when only what was refuted is worth the time. repeats: whether games
    that are played again must come out as before. few: as of `check_players`."""
    refuted, calls = estimators.refuted, plan.learner.one_call_a_game
    largest = max(estimators.block_sizes, default=0)
    if refuted and record is not None:
        check_memory_after(record, plan.learner, plan.adversary, plan.referee, faults=plan.faults, few=few)
    if largest > plan.blocks[0] and not calls and (estimators.epsilon_lower > 0 or refuted):
        check_independence(plan, largest)
    if estimators.scatter.suspected:
        check_scatter(plan, largest)
    elif refuted and estimators.scatter.unclear and uses_common_random_numbers(plan) and not calls:
        check_scatter(plan, min(largest, _SMALL_BATCH))
    if repeats and estimators.first_blocks and (workers is not None or refuted):
        blocks = dict(enumerate(estimators.first_blocks))
        check_repeated_games(plan, blocks, workers or Workers(), games=estimators.games)


def open_ledger(
    path: str | Path,
    plan: Plan,
    command: str | None,
    files: UsedFiles | None,
    key: bytes | None,
    relation_chosen: bool = True,
    seen: str = "",
) -> Ledger:
    """The ledger of a plan; a new ledger gets notes. files, key, relation_chosen: as in `run`. seen: what a
    game released, in words."""
    from audits.runs.example_games import write_excerpt
    from audits.runs.ledger import Ledger  # with sqlite3, which only runs with a ledger need

    def make_notes() -> dict[str, Any]:
        players = (plan.learner, plan.adversary, plan.referee)
        transcript, data = write_excerpt(*players, seed=plan.seed, faults=plan.faults)
        notes = RunNotes.from_plan(plan)
        notes = attrs.evolve(
            notes,
            transcript=transcript,
            data=data,
            command=command or "",
            relation_chosen=relation_chosen,
            seen=seen,
        )
        return attrs.asdict(notes)

    return Ledger.open(
        path,
        plan.describe(),
        notes=make_notes,
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
    """Add to the ledger the files that were imported late. Raises: InvalidArgument if one has changed."""
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
    plan: Plan, workers: Workers, ledger: Ledger | None, limits: Limits
) -> Generator[tuple[Block, bool], None, None]:
    """Blocks in order, each with whether it is new: those that the ledger lacks are played and stored, up to
    the first that exceeds a limit."""
    stored = set() if ledger is None else ledger.block_indices()
    keep = None if ledger is None else ledger.add
    exact = plan.blocks.exact
    first_blocks: list[Block] = []
    for indices in (range(exact), range(exact, len(plan.blocks))):
        bins = choose_bins(plan, first_blocks) if first_blocks else EXACT
        missing: Sequence[int] = [index for index in indices if index not in stored] if stored else indices
        missing = limits.keep_affordable(missing, plan.blocks)
        played = 0
        with closing(play_blocks(plan, missing, workers, bins=bins, keep=keep)) as new_blocks:
            for index in indices:
                is_new = index not in stored
                if is_new:
                    reached = limits.find_reached_before(2 * plan.blocks[index], plan.learner)
                    limits.reached = CALLS if played == len(missing) else reached
                    if limits.reached:
                        return
                    played += 1
                try:
                    with limits.end_in_time_before_checks(plan.learner):
                        block = ledger.block(index) if ledger is not None and not is_new else next(new_blocks)
                except TimeIsOver:
                    limits.reached = SECONDS
                    return
                if is_new and not workers.alone:
                    limits.count_elsewhere(2 * block.pairs)
                if index < exact:
                    first_blocks.append(block)
                yield block, is_new
