"""Running a plan: play the missing blocks, test all blocks in order, and store them in a ledger."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from arena import Claim, InvalidArgument
from arena.testing.memory import Record, check_memory_after
from audits.distinguishers.learned_distinguisher import DistinguisherTraining
from audits.distinguishers.view_features import Block, ViewCounts
from audits.registry.origins import Origins, find_packages
from audits.registry.user_files import UsedFiles
from audits.runs.blocks import (
    check_independence,
    check_players,
    check_repeated_games,
    check_scatter,
    choose_bins,
    play_blocks,
    repeats_calls,
    uses_common_random_numbers,
)
from audits.runs.limits import CALLS, Limits, announce_cost, time_game
from audits.runs.plan import LEARNED, Plan, PlanSettings
from audits.runs.verdict import RunNotes, RunStopped, Verdict
from audits.runs.workers import Workers
from audits.runs.workers.workers import defer_interrupts
from audits.statistics.betting import Betting, ceiling, is_refutable
from audits.statistics.estimates import Estimate, Estimator, EstimatorContext, estimate_epsilon
from audits.statistics.estimators import ESTIMATORS
from audits.statistics.estimators.held_out import OneEvent
from audits.statistics.guess_counts import Guesses
from audits.statistics.score_histogram import EXACT, BlockScatter
from audits.statistics.score_pairs import PairCounts

if TYPE_CHECKING:
    from audits.runs.ledger import Ledger

_CHOOSING_SHARE = 5  # one game in five serves to choose a distinguisher
_SMALL_BATCH = 16  # games, which are enough if no game differs from the others of its block


@attrs.frozen
class RunProgress:
    """The state of a run: games tested in each world, of how many, and the certified bound so far (nats)."""

    games: int
    games_planned: int
    epsilon_lower: float
    refuted: bool


class AuditEstimators:
    """The test of a plan's claim, and its estimators. Update them with the plan's blocks in order.

    all_estimators: include those that only a report shows; they take as long again.
    """

    def __init__(self, plan: PlanSettings, *, all_estimators: bool = False) -> None:
        self.plan = plan
        certifying: list[type[Estimator]] = [Guesses] if plan.fixed_games else []
        self._kinds = [*certifying, *ESTIMATORS] if all_estimators else certifying or [OneEvent]
        self._shows_all = all_estimators
        self.betting = Betting(epsilon_claim=plan.epsilon, **plan.of_betting())
        self._tests = [self.betting]
        if plan.curve is not None:
            self._tests.append(Betting(curve=plan.curve, **plan.of_betting()))
        self.estimators: list[Estimator] = []  # from the first block that the final distinguisher scores
        self.scatter = BlockScatter()
        self._learning: DistinguisherTraining | None = None
        self.block_sizes = array("q")  # eight bytes a block, since there may be millions of blocks
        self.first_blocks: list[Block] = []  # those that count their scores exactly
        self.games = 0

    @property
    def done(self) -> bool:
        """Whether a run until the claim is refuted has ended."""
        return self.plan.until_refuted and self.refuted

    @property
    def refuted(self) -> bool:
        if self.plan.fixed_games:
            return self.epsilon_lower > self.plan.epsilon
        return any(test.refuted for test in self._tests)

    @property
    def epsilon_lower(self) -> float:
        """The certified bound in nats; of a fixed number of games, 0 before the last one."""
        guesses = self._guesses
        if not self.plan.fixed_games:
            return self.betting.epsilon_lower
        return 0.0 if guesses is None else guesses.epsilon_lower or 0.0

    @property
    def _guesses(self) -> Guesses | None:
        return next((one for one in self.estimators if isinstance(one, Guesses)), None)

    @property
    def log_wealth(self) -> float:
        """The current log wealth against the claim, of the better test."""
        return max(test.log_wealth_now for test in self._tests)

    @property
    def log_evidence(self) -> float:
        """The evidence against the claim in nats; see `Betting`."""
        return max(test.log_evidence for test in self._tests)

    def update(self, block: Block) -> None:
        """Use the next block."""
        self.games += block.pairs
        self.block_sizes.append(block.pairs)
        if self.games - block.pairs < self.plan.exact_pairs:
            self.first_blocks.append(block)
        if isinstance(block, ViewCounts):
            self._learn(block)
        else:
            self._bet(block)
            self._update_estimators(block)

    def update_from_ledger(self, ledger: Ledger, watch: Callable[[], None] | None = None) -> None:
        """Use the next blocks of a ledger up to the first missing one. watch: called after every block."""
        for index, block in ledger.blocks(start=len(self.block_sizes)):
            if index != len(self.block_sizes) or self.done:
                return
            self.update(block)
            if watch is not None:
                watch()

    def _bet(self, block: PairCounts) -> None:
        for test in self._tests:
            test.update(block)
        self.scatter.update(block)

    def _learn(self, views: ViewCounts) -> None:
        """Bet on a block with the distinguisher learned from earlier blocks, then learn from the block."""
        if self._learning is None:
            choosing = max(1, self.plan.games // _CHOOSING_SHARE)
            self._learning = DistinguisherTraining(pairs=choosing, delta=self.plan.delta)
        scores, final = self._learning.score(views), self._learning.done
        if scores is not None:
            self._bet(scores)
            if final:
                self._update_estimators(scores)
        relearned = self._learning.learn(views)
        if relearned is not None:
            for test in self._tests:
                test.start_again(relearned)
            self.scatter.start_again(relearned)

    def _update_estimators(self, block: PairCounts) -> None:
        if not self.estimators:  # their games follow from the sizes of the blocks alone
            self.estimators = self._make_estimators(block.pairs + self.plan.games - self.games)
        for estimator in self.estimators:
            estimator.update(block)

    def _make_estimators(self, games: int) -> list[Estimator]:
        names = ("delta", "confidence", "epsilon", "curve", "seed", "paired")
        shared = {name: getattr(self.plan, name) for name in names}
        context = EstimatorContext(**shared, games=games, games_planned=self.plan.games)
        return [kind(context) for kind in self._kinds]

    def estimates(self) -> tuple[Estimate, ...]:
        """The rows of all estimators, that of the betting test first; requires `all_estimators`."""
        betting = estimate_epsilon(
            "betting", self.betting.epsilon_lower, assumes="nothing: it holds at any time"
        )
        estimators = self.estimators or self._make_estimators(self.plan.games)
        return betting, *(row for estimator in estimators for row in estimator.rows())

    def make_verdict(
        self,
        notes: RunNotes,
        *,
        interrupted: bool | None = None,
        stopped: str = "",
        played_now: int = 0,
        seconds: float = 0.0,
        played: Plan | None = None,
    ) -> Verdict:
        """The verdict after the last block. interrupted: by default, whether games are missing. played: the
        plan, if it is more than a ledger's."""
        if interrupted is None:
            interrupted = not self.done and self.games < self.plan.games
        plan, epsilon_lower = self.plan, self.epsilon_lower
        curve, on_curve, guesses = plan.curve, self._tests[-1], self._guesses
        if plan.fixed_games:
            highest = 0.0 if guesses is None or interrupted or stopped else guesses.ceiling
        else:
            highest = ceiling(self.block_sizes, **plan.of_betting())
        highest = max(highest, epsilon_lower)  # that of betting is computed from joined blocks
        refutable = highest >= plan.epsilon or (
            curve is not None and is_refutable(self.block_sizes, curve, **plan.of_betting())
        )
        # This bound is valid only at a number of games fixed beforehand.
        is_fixed = self.estimators and not (plan.until_refuted or interrupted or stopped)
        one_event = [one for one in self.estimators if isinstance(one, OneEvent)]
        shared: dict[str, Any] = {"protects": notes.protects, "neighbours": notes.neighbours}
        return Verdict(
            learner=notes.learner,
            adversary=notes.adversary,
            protocol=notes.protocol,
            claim=Claim(epsilon=plan.epsilon, delta=plan.delta, curve=curve, **shared),
            refuted=self.refuted,
            epsilon_lower=epsilon_lower,
            curve_epsilon_lower=None if curve is None else on_curve.epsilon_lower,
            curve_lower=None if curve is None else on_curve.curve_lower,
            confidence=plan.confidence,
            ceiling=highest,
            refutable=refutable,
            clopper_pearson=one_event[0].epsilon_lower if is_fixed and one_event else None,
            games=self.games,
            played_now=played_now,
            seconds=seconds,
            interrupted=interrupted,
            stopped=stopped,
            until_refuted=plan.until_refuted,
            fixed_games=plan.fixed_games,
            seed=plan.seed,
            estimates=self.estimates() if self._shows_all else None,
            players=notes,
            plan=played,
        )


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
    limits: Limits | None = None,
    announce: Callable[[str], None] | None = None,
) -> Verdict:
    """Play the blocks of the plan that the ledger lacks, and return the verdict.

    jobs: number of processes, or `Workers`. ledger: a file that stores every finished block, so that a killed
    run can be resumed. watch: called after every block, in order. command: for the notes of a new ledger.
    files: what the players come from; a ledger that was begun with others is refused. key: signs the ledger.

    limits: that end the run early, with a verdict marked `stopped`; the test is valid at any time. announce:
    called with what the run costs, if that is over ten seconds.

    No figure depends on jobs, interruptions or the ledger. A keyboard interrupt ends the run early with a
    verdict marked `interrupted`. Errors of workers or of the ledger's disk have such a `verdict`.

    Raises: NotConforming and NothingTested as `check_players` does; whatever `arena.play` raises;
    InvalidArgument and LedgerFailed of the ledger; WorkersFailed of the workers.
    """
    if not isinstance(plan, Plan):
        raise InvalidArgument(
            "run takes a Plan", value=plan, remedy="Write run(Plan(learner=..., ...)), or use audits.audit."
        )
    workers = Workers.from_jobs(jobs, len(plan.blocks))
    start = time.perf_counter()
    limits = Limits() if limits is None else limits
    if announce is not None:
        seconds = time_game(plan.learner, plan.adversary, plan.referee, faults=plan.faults)
        announce_cost(plan.learner, 2 * plan.games, seconds, limits, announce, jobs=workers.jobs or 1)
    record = check_players(plan)
    workers = workers.choose_for(plan)
    estimators = AuditEstimators(plan, all_estimators=all_estimators)
    played_now, interrupted = 0, False
    failure: RunStopped | None = None
    with (
        nullcontext()
        if ledger is None
        else closing(open_ledger(ledger, plan, command, files, key)) as opened_ledger,
        closing(_iterate_blocks(plan, workers, opened_ledger, limits)) as blocks,
    ):
        try:
            for block, is_new in blocks:
                with defer_interrupts():  # figures are always those of whole blocks
                    played_now += block.pairs if is_new else 0
                    estimators.update(block)
                if watch is not None:
                    certified, refuted = estimators.epsilon_lower, estimators.refuted
                    watch(RunProgress(estimators.games, plan.games, certified, refuted))
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
    # Games before an allowed change of the players may come out otherwise after it.
    repeats = repeats_calls(plan) and not (files is not None and files.allow_changes)
    _check_after(plan, estimators, record, None if interrupted else workers, repeats=repeats)
    verdict = estimators.make_verdict(
        RunNotes.from_plan(plan),
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


def _check_after(
    plan: Plan, estimators: AuditEstimators, record: Record | None, workers: Workers | None, *, repeats: bool
) -> None:
    """Check the largest batch, the scatter of blocks, a refuted learner's memory, and that games repeat.
    workers: None after an interrupt, when only what was refuted is worth the time. repeats: whether games
    that are played again must come out as before."""
    refuted, calls = estimators.refuted, plan.learner.one_call_a_game
    largest = max(estimators.block_sizes, default=0)
    if refuted and record is not None:
        check_memory_after(record, plan.learner, plan.adversary, plan.referee, faults=plan.faults)
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
    path: str | Path, plan: Plan, command: str | None, files: UsedFiles | None, key: bytes | None
) -> Ledger:
    """The ledger of a plan; a new ledger gets notes. files, key: as in `run`."""
    from audits.runs.example_games import write_excerpt
    from audits.runs.ledger import Ledger  # with sqlite3, which only runs with a ledger need

    def make_notes() -> dict[str, Any]:
        players = (plan.learner, plan.adversary, plan.referee)
        transcript, data = write_excerpt(*players, seed=plan.seed, faults=plan.faults)
        notes = RunNotes.from_plan(plan)
        notes = attrs.evolve(notes, transcript=transcript, data=data, command=command or "")
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
                block = ledger.block(index) if ledger is not None and not is_new else next(new_blocks)
                if is_new and not workers.alone:
                    limits.count_elsewhere(2 * block.pairs)
                if index < exact:
                    first_blocks.append(block)
                yield block, is_new
