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
from audits.betting import Betting, ceiling
from audits.blocks import coupled, play_block
from audits.clopper_pearson import HeldOut
from audits.learnt import Learning
from audits.ledger import Ledger
from audits.plan import Plan
from audits.verdict import Verdict
from audits.views import Block, ViewCounts

# Workers that outrun this process would pile up results, so it hands out so many blocks at a time.
_WAVE = 64


@attrs.frozen(kw_only=True)
class Progress:
    """How far a run is: games played in each world, of how many, and the bound so far."""

    games: int
    of: int
    epsilon_lower: float
    refuted: bool


def run(
    plan: Plan,
    *,
    jobs: int = 1,
    ledger: str | Path | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Verdict:
    """Play the plan, or what a ledger says is left of it, and return the verdict.

    jobs: processes.
    ledger: a file that keeps every finished block; a run that is killed and run again ends with the figures
        of an undisturbed one.
    watch: called after every block, in order.

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
    tests = _Tests.of(plan)
    interrupted = False
    with (
        nullcontext() if ledger is None else closing(Ledger.open(ledger, plan.describe())) as book,
        closing(_results(plan, jobs, book, tests)) as results,
    ):
        try:
            for result in results:
                tests.update(result)
                if watch is not None:
                    watch(tests.progress(plan))
                if plan.until_refuted and tests.betting.refuted:
                    break
        except KeyboardInterrupt:
            interrupted = True
    return tests.verdict(plan, time.perf_counter() - started, interrupted)


@attrs.define(eq=False)
class _Tests:
    """The estimators, fed block by block."""

    betting: Betting
    held_out: HeldOut
    learning: Learning
    sizes: list[int] = attrs.field(factory=list)
    games: int = 0
    played_now: int = 0

    @classmethod
    def of(cls, plan: Plan) -> _Tests:
        return cls(
            Betting(delta=plan.delta, confidence=plan.confidence, epsilon_claim=plan.epsilon),
            HeldOut(
                delta=plan.delta,
                confidence=plan.confidence,
                choose_pairs=max(1, plan.games // 5),
            ),
            Learning(pairs=max(1, plan.games // 5)),
        )

    def update(self, result: Block) -> None:
        if isinstance(result, ViewCounts):
            self._learn(result)
        else:
            self.betting.update(result)
            self.held_out.update(result)
        self.sizes.append(result.pairs)
        self.games += result.pairs

    def _learn(self, views: ViewCounts) -> None:
        """Bet on a block with the witness learnt before it, then learn from it."""
        scores, settled = self.learning.scored(views), self.learning.done
        if scores is not None:
            self.betting.update(scores)
        if settled:
            assert scores is not None
            self.held_out.update(scores)
        relearnt = self.learning.learn(views)
        if relearnt is not None:
            self.betting.start_again(relearnt)
            if self.learning.done:
                for seen in relearnt:
                    self.held_out.update(seen)

    def progress(self, plan: Plan) -> Progress:
        return Progress(
            games=self.games,
            of=plan.games,
            epsilon_lower=self.betting.epsilon_lower,
            refuted=self.betting.refuted,
        )

    def verdict(self, plan: Plan, seconds: float, interrupted: bool) -> Verdict:
        return Verdict(
            learner=plan.learner.name,
            adversary=plan.adversary.name,
            protocol=plan.referee.name,
            claim=attrs.evolve(plan.learner.claim, epsilon=plan.epsilon, delta=plan.delta),
            refuted=self.betting.refuted,
            epsilon_lower=self.betting.epsilon_lower,
            confidence=plan.confidence,
            ceiling=ceiling(self.sizes, delta=plan.delta, confidence=plan.confidence),
            # It holds at a number of games fixed beforehand, and only there.
            clopper_pearson=None if plan.until_refuted or interrupted else self.held_out.epsilon_lower,
            games=self.games,
            played_now=self.played_now,
            seconds=seconds,
            seed=plan.seed,
            interrupted=interrupted,
        )


def _results(plan: Plan, jobs: int, book: Ledger | None, tests: _Tests) -> Generator[Block, None, None]:
    """Every block's result in order: from the ledger where it has them, played and remembered where not."""
    kept = book.blocks() if book is not None else iter(())
    have = book.have() if book is not None else set()
    missing = [index for index in range(plan.blocks) if index not in have]
    with closing(_played(plan, missing, jobs)) as played:
        for index in range(plan.blocks):
            if index in have:
                # The ledger's iterator also meets blocks that were added meanwhile.
                yield next(result for found, result in kept if found == index)
                continue
            result = next(played)
            tests.played_now += result.pairs
            if book is not None:
                book.add(index, result)
            yield result


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
