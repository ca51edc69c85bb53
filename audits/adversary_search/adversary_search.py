"""The search for an attack: explore, shrink, and confirm on games that no exploration used.

Why a search refutes a true claim with probability at most `error`: docs/proofs/search.md.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from math import ceil, exp, inf, log, log1p

import attrs
import numpy as np

from arena import Claim, InvalidArgument, Learner, NothingTested, PlayerError, ProtocolViolation, Sample
from arena.settings import at_least, check_value, less_than, more_than, whole
from audits.adversary_search import exploration
from audits.adversary_search.evidence import (
    DECLINED,
    SearchTarget,
    confirming_seed,
    exploring_seed,
    play_halves,
    weigh_halves,
)
from audits.adversary_search.exploration import Exploration, HypothesisRun, detectable_loss
from audits.adversary_search.score import simple_scores
from audits.adversary_search.script import SPACES, Script, SearchSpace
from audits.adversary_search.script_strategies import adversaries, choose_protocol
from audits.adversary_search.search_report import SearchResult
from audits.adversary_search.solved_start import SolvedStart, find_solved_start
from audits.interrupts import acknowledge_interrupt
from audits.registry.match import get_given_curve
from audits.runs.blocks import try_common_random_numbers
from audits.runs.learner_failures import check_learner_first, refuse_failures, warn_of_failures
from audits.runs.limits import (
    CHECKING_CALLS,
    Limits,
    announce_cost,
    check_enough,
    explain_stop,
    time_game,
)
from audits.runs.plan import LEARNED, SCORE, Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict
from audits.runs.workers import Workers, map_in_order

ERROR = 1e-6
_RUN_EXAMPLES = 250  # then a run with a fresh seed, in case this one is stuck in a local optimum
_READABLE = 0.8  # a simple score is used if it gives this part of the evidence
_CONFIRM_GAMES = 20_000
_MAX_CONFIRM_GAMES = 2_000_000
_CONFIRM_FACTOR = 3  # times the games that the evidence so far suggests
_FIRST_EXAMPLES = 96  # of the first run, where games are calls
_FAULT_GAMES = 2_000  # with faults every game is played by itself
_ignore_overflow = partial(np.errstate, over="ignore", invalid="ignore")  # of the largest points there are


@attrs.frozen(kw_only=True)
class SearchProgress:
    """Progress of a search: adversaries tried, the largest number of them, and the best evidence in nats."""

    examples: int
    of: int
    best: float


def search(
    learner: Learner,
    *,
    protocol: str | None = None,
    claim: Claim | None = None,
    error: float = ERROR,
    examples: int | None = None,
    pairs: int | None = None,
    confirm_games: int | None = None,
    data: Sample | None = None,
    seed: int = 0,
    jobs: int | Workers = 1,
    watch: Callable[[SearchProgress], None] | None = None,
    max_calls: int | None = None,
    max_seconds: float | None = None,
    announce: Callable[[str], None] | None = None,
) -> SearchResult:
    """Search for an adversary that refutes the learner's claim.

    protocol: default: the first that the learner names and a search can play.
    claim: under test; default: the learner's own. Worlds differ in what the learner's own claim protects.
    error: the probability, at most, of refuting a true claim.
    examples: adversaries to draw before giving up, not counting those tried while shrinking; default: the
        protocol's.
    pairs: games in each world to weigh one adversary; default: enough to show a clear leak at the claim's ε.
    confirm_games: games in each world for a confirmation, at most; default: what the evidence suggests.
    data: of the user, whose examples are tried, too; all of them are public to the search.
    jobs: processes, or `Workers`, which do not change the result.
    watch: called after every adversary, or with several jobs after every run of 250.
    max_calls, max_seconds: limits, see `audits.runs.limits`; with one of them the search is one process.
    announce: called with what the search costs, if it is long; default: a warning of the log `audits`.

    If each game is a call, an example costs at most 512 of them on average. A keyboard interrupt ends the
    search; the result so far is marked `interrupted`. Warns if the learner fails in some games.

    Raises: InvalidArgument; WorkersFailed; NotConforming if the learner fails `arena.testing.check_learner`;
    NothingTested if it fails in, or declines, every game; whatever a referee raises in other games.
    """
    protocol = choose_protocol(learner, protocol)
    claim = learner.claim if claim is None else claim
    if not 0 < claim.epsilon < inf or claim.delta >= 1:
        raise InvalidArgument(
            "the claim under test must have a finite ε above 0 and a δ below 1",
            value=(claim.epsilon, claim.delta),
            remedy="For a learner that claims nothing, give the claim to test.",
        )
    check_value("error", error, more_than(0), less_than(1))
    if data is not None and data.points.shape[1:] != learner.point_shape:
        raise InvalidArgument(
            f"the points of the data must have the shape of those of {learner.own_name}, "
            f"{learner.point_shape}",
            value=data.points.shape[1:],
            remedy="Choose other columns, or set the dimension of the learner.",
        )
    adversaries(learner, protocol)  # raises InvalidArgument if the learner protects nothing there
    plan = SearchPlan(
        learner=learner,
        protocol=protocol,
        claim=claim,
        error=error,
        examples=SPACES[protocol].budget.examples if examples is None else examples,
        space=SPACES[protocol],
        pairs=choose_pairs(claim, SPACES[protocol]) if pairs is None else pairs,
        confirm_games=confirm_games,
        data=data,
        seed=seed,
    )
    with Limits(max_calls, max_seconds) as limits:
        workers = Workers.from_jobs(jobs)
        if learner.one_call_a_game:
            check_enough(max_calls, plan.confirming_calls)
            plan.announce(limits, announce, workers)
        check_learner_first(learner)
        result = plan.run(Workers() if limits.given else workers.choose_for(plan), watch, limits)
    tried = result.examples + result.rejected
    if result.stopped and not result.examples:
        raise NothingTested(
            f"{learner.own_name}: {explain_stop(result.stopped)} No adversary was played before. Allow more."
        )
    if not (result.examples or result.interrupted):
        raise refuse_failures(learner, result.failure, f"against all of {tried:,} adversaries")
    if result.failed and not result.refuted:
        warn_of_failures(learner, result.failure, result.failed, tried, "in games against {} adversaries")
    return result


def choose_pairs(claim: Claim, space: SearchSpace) -> int:
    """Pairs of games that show a clear leak at ε: each is worth at most log(1 + exp(−ε)) nats."""
    return min(max(space.budget.pairs, 2 * ceil(24.0 / log1p(exp(-claim.epsilon)))), 4_096)


def share_of_error(error: float, number: int) -> float:
    """The error of confirmation `number` = 1, 2, …; all of them add up to at most `error`."""
    return error / (number * (number + 1))


@attrs.frozen(kw_only=True)
class SearchPlan:
    """What is searched. space: of the protocol, which so becomes known to workers, wherever it is defined."""

    learner: Learner
    protocol: str
    space: SearchSpace
    claim: Claim
    error: float
    examples: int = attrs.field(validator=[whole, at_least(1)])
    pairs: int = attrs.field(validator=[whole, at_least(2)])
    confirm_games: int | None = attrs.field(validator=attrs.validators.optional([whole, at_least(1)]))
    data: Sample | None
    seed: int = attrs.field(validator=[whole, at_least(0)])

    def announce(self, limits: Limits, announce: Callable[[str], None] | None, workers: Workers) -> None:
        """Say what the search of a learner costs of which each game is a call."""
        script = next(self.space.obvious(self.learner, self.protocol), None)
        if script is not None:
            seconds = time_game(self.learner, script, script.referee)
            calls = CHECKING_CALLS + 2 * self.space.budget.calls * self.examples
            jobs = 1 if limits.given else workers.jobs or 1
            announce_cost(self.learner, calls, seconds, limits, announce, jobs=jobs)

    def run(
        self, workers: Workers, watch: Callable[[SearchProgress], None] | None, limits: Limits
    ) -> SearchResult:
        explorations: list[Exploration] = []
        confirmations = 0
        confirmed: tuple[Plan, Verdict] | None = None
        interrupted = False
        start: SolvedStart | None = None
        try:
            start = find_solved_start(self.learner, self.protocol, self.claim)
            if start is not None:
                confirmations, confirmed = self._confirm(
                    start.script, False, start.rate(self.claim), 0, limits
                )
            with closing(self._explore_runs(workers, watch, explorations, limits)) as runs:
                for explored in runs if confirmed is None else ():
                    if explored.adversary is not None:
                        script, faults, rate = self.choose_score(explored)
                        confirmations, confirmed = self._confirm(script, faults, rate, confirmations, limits)
                    interrupted = explored.interrupted
                    if not any(each.examples for each in explorations):
                        break  # the learner fails in, or declines, all games
                    if confirmed is not None or interrupted or limits.reached:
                        break
        except KeyboardInterrupt:
            acknowledge_interrupt()
            interrupted = True
        plan, verdict = confirmed or (None, None)
        examples, rejected, games, failed = (
            sum(getattr(each, name) for each in explorations)
            for name in ("examples", "rejected", "games", "failed")
        )
        return SearchResult(
            learner=self.learner,
            protocol=self.protocol,
            claim=self.claim,
            error=self.error,
            seed=self.seed,
            refuted=confirmed is not None,
            adversary=None if plan is None else plan.adversary,  # type: ignore[arg-type]
            plan=plan,
            verdict=verdict,
            examples=examples + (start is not None),
            rejected=rejected,
            games=games,
            confirmations=confirmations,
            best=max((each.best for each in explorations), default=0.0),
            failed=failed,
            failure=next((each.failure for each in explorations if each.failure), ""),
            detectable=None if confirmed else self._detectable_loss(explorations),
            interrupted=interrupted or (verdict is not None and verdict.interrupted),
            stopped="" if confirmed else limits.reached,
        )

    def _detectable_loss(self, explorations: list[Exploration]) -> float | None:
        """That of the exploration with the least power; None without rungs."""
        # Half of the wealth is bet against a curve.
        threshold = exploration.EVIDENCE_THRESHOLD + (0.0 if self.claim.curve is None else log(2.0))
        losses = [
            detectable_loss(
                each.rungs, self.claim, pairs=self._make_target(self.pairs).few, threshold=threshold
            )
            for each in explorations
            if each.rungs
        ]
        return None if not losses or None in losses else max(losses)  # type: ignore[type-var]

    def _explore_runs(
        self,
        workers: Workers,
        watch: Callable[[SearchProgress], None] | None,
        explorations: list[Exploration],
        limits: Limits,
    ) -> Generator[Exploration, None, None]:
        """Add to the explorations in order. Examples that runs leave by ending early are for further runs."""
        starts = range(0, self.examples, _RUN_EXAMPLES)
        sizes = [min(_RUN_EXAMPLES, self.examples - start) for start in starts]
        if self.learner.one_call_a_game and sizes[0] > _FIRST_EXAMPLES:
            sizes[:1] = [_FIRST_EXAMPLES, sizes[0] - _FIRST_EXAMPLES]
        unused = 0

        def report(examples: int = 0, best: float = 0.0) -> None:
            """Show the progress, with that of the present run."""
            if watch is not None:
                examples += sum(each.examples for each in explorations)
                best = max([best, *(each.best for each in explorations)])
                watch(SearchProgress(examples=examples, of=max(self.examples, examples), best=best))

        while len(explorations) < len(sizes):
            # No more runs than workers: when a run succeeds, all runs that have started after it are wasted.
            at_a_time = workers.jobs or (1 if workers.alone else len(sizes))
            tasks = list(enumerate(sizes))[len(explorations) :][:at_a_time]
            is_shown = len(tasks) == 1 and workers.local
            run = partial(self.explore, watch=report, limits=limits) if is_shown else self.explore
            for explored in map_in_order(run, tasks, workers, unit="run"):
                explorations.append(explored)
                report()
                if explored.adversary is not None:
                    unused += max(0, sizes[len(explorations) - 1] - explored.examples - explored.rejected)
                yield explored
            if len(explorations) == len(sizes) and unused:
                sizes.append(min(_RUN_EXAMPLES, unused))
                unused -= sizes[-1]

    def explore(
        self,
        task: tuple[int, int],
        *,
        watch: Callable[[int, float], None] | None = None,
        limits: Limits | None = None,
    ) -> Exploration:
        """One exploration. task: its number, and its number of examples. limits: of the search, if given."""
        number, examples = task
        target = self._make_target(self.pairs, "run", number)
        limits = Limits() if limits is None else limits
        calls = limits.calls_left - min(limits.calls_left / 2, self.confirming_calls)
        obvious = () if number else tuple(self.space.obvious(self.learner, self.protocol))
        search = HypothesisRun(target, self.protocol, watch, self.data, obvious, calls, limits)
        with _ignore_overflow():
            explored = search.run(examples)
        limits.reached = limits.reached or explored.stopped
        return explored

    @property
    def _least_games(self) -> int:
        """Eight times the games that an adversary needs which separates the worlds perfectly."""
        return ceil(8 * log(2 / self.error) / log1p(exp(-self.claim.epsilon)))

    @property
    def confirming_calls(self) -> int:
        """Calls that a clear leak takes to be confirmed, with all checks."""
        return self._least_games + CHECKING_CALLS

    def _make_target(self, pairs: int, *purpose: object) -> SearchTarget:
        seed = exploring_seed(self.seed, *purpose)
        return SearchTarget(learner=self.learner, claim=self.claim, pairs=pairs, seed=seed)

    def choose_score(self, explored: Exploration) -> tuple[Script, bool, float]:
        """The adversary, with a simple score if one is good; whether it sees failures; nats per pair."""
        script, evidence = explored.adversary, explored.evidence
        assert script is not None
        assert evidence is not None
        if evidence.halves is not None:
            halves, faults = evidence.halves, evidence.faults
        else:  # at least as many games as it took to see the leak
            target = self._make_target(max(4 * self.pairs, evidence.games), "hand over")
            halves, faults = play_halves(target, script, pairs=target.pairs, stage="hand over")
        listed = [[*simple_scores(half), *self.space.scores(half)] for half in halves]
        scores = list(dict.fromkeys([*listed[0], *listed[1]]))
        single = [weigh_halves(halves, self.claim, scores=[score]).nats for score in scores]
        largest = max([weigh_halves(halves, self.claim, more=self.space.scores).nats, *single])
        rate = largest / sum(half.pairs for half in halves)
        for score, nats in zip(scores, single, strict=True):
            if nats >= _READABLE * largest > 0:
                sums = sum(half.counts @ score.column(half)[half.which] for half in halves)
                sign = -1 if sums[1] < sums[0] else 1  # world 1 has the larger scores
                own = script.score or score
                return attrs.evolve(script, score=attrs.evolve(own, sign=sign)), faults, rate
        return attrs.evolve(script, score=None), faults, rate

    def _confirm(
        self, script: Script, faults: bool, rate: float, number: int, limits: Limits
    ) -> tuple[int, tuple[Plan, Verdict] | None]:
        """The number of attempts so far, and the success; a plan that learners fail is tried with faults."""
        while True:
            number += 1
            plan = self._plan(script, faults, rate, number)
            try:
                with _ignore_overflow():
                    verdict = run(plan, limits=limits)
            except (PlayerError, *DECLINED) as error:
                if faults or (isinstance(error, PlayerError) and error.player != "learner"):
                    raise
                faults = True  # the learner failed for the first time
            except ProtocolViolation:
                if script.score is None:
                    raise
                script = attrs.evolve(script, score=None)  # a released value was not a number
            else:
                if verdict.interrupted and not verdict.refuted:
                    raise KeyboardInterrupt
                return number, (plan, verdict) if verdict.refuted else None

    def _plan(self, script: Script, faults: bool, rate: float, number: int) -> Plan:
        error = share_of_error(self.error, number)
        enough = ceil(_CONFIRM_FACTOR * log(1 / error) / max(rate, 1e-12))
        calls = self.learner.one_call_a_game
        games = self.confirm_games
        if games is None or calls:
            least, most = max(_CONFIRM_GAMES, self._least_games), _MAX_CONFIRM_GAMES
            if calls:  # all confirmations together cost as much as what they confirm
                least, pairs = self._least_games, self.space.budget.calls * self.examples // 2
                most = max(least, int(share_of_error(1.0, number) * pairs))
            enough = min(max(least, enough), most)
            games = enough if games is None else min(games, enough)
        learner = self.learner
        return Plan(
            learner=learner if faults else try_common_random_numbers(learner, script, script.referee),
            adversary=script,
            referee=script.referee,
            epsilon=self.claim.epsilon,
            delta=self.claim.delta,
            curve=get_given_curve(self.learner, self.claim),
            confidence=1.0 - error,
            games=min(games, _FAULT_GAMES) if faults else games,
            until_refuted=True,
            seed=confirming_seed(self.seed, number),
            distinguisher=LEARNED if script.score is None else SCORE,
            faults=faults,
        )
