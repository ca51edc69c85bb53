"""The search for an attack: explore, shrink, and confirm on games that no exploration used.

Why a search refutes a true claim with probability at most `error`: docs/proofs/search.md.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from math import inf, log
from typing import Self

import attrs

from arena import Claim, InvalidArgument, Learner, NothingTested, Sample
from arena.engine import ReleaseWatch
from arena.players import read_relation_of
from arena.settings import check_value, less_than, more_than
from audits.adversary_search import exploration
from audits.adversary_search.confirmation import SearchPlan, choose_pairs, ignore_overflow
from audits.adversary_search.detectable_loss import detectable_loss
from audits.adversary_search.exploration import Exploration, HypothesisRun
from audits.adversary_search.race import THRESHOLD, Race
from audits.adversary_search.script import SPACES
from audits.adversary_search.script_strategies import adversaries, choose_protocol
from audits.adversary_search.search_report import SearchResult
from audits.adversary_search.solved_start import SolvedStart, find_solved_start
from audits.interrupts import acknowledge_interrupt
from audits.runs.learner_failures import check_learner_first, refuse_failures, warn_of_failures
from audits.runs.limits import (
    CALLS,
    Limits,
    announce_cost,
    check_enough,
    count_checking_calls,
    explain_stop,
    makes_few_calls,
    time_game,
)
from audits.runs.other_relation import change_relation
from audits.runs.plan import Plan
from audits.runs.same_releases import refuse_same_releases
from audits.runs.verdict import Verdict
from audits.runs.workers import Workers, map_in_order

ERROR = 1e-6
POWERLESS = "too few games were played to say which loss they would have shown"
_RUN_EXAMPLES = 250  # then a run with a fresh seed, in case this one is stuck in a local optimum
_FIRST_EXAMPLES = 96  # of the first run, where games are calls
_FIRST_ENTRANTS, _ENTRANTS = 160, 64  # of a search that goes on until a limit: of its first run, of others
_OBVIOUS_SHARE = 1 / 2  # of the calls of an exploration, for the first games of the obvious adversaries
_LEAST_PAIRS, _LEAST_OBVIOUS = 16, 12  # for which a limit should be enough, the latter with the former each
_LEAST_WEIGHED = 4  # adversaries for which a limit is enough, though with fewer games
_RACING = 4  # games of the race for each game of the exploration before it, and as many more for each before


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
    bits: bool = False,
    relation_chosen: bool = True,
) -> SearchResult:
    """Search for an adversary that refutes the learner's claim.

    protocol: default: the first that the learner names and a search can play.
    claim: under test; default: the learner's own. Worlds differ in what the learner's own claim protects.
    error: the probability, at most, of refuting a true claim.
    examples: adversaries to draw before giving up, not counting those tried while shrinking. Default: with a
        limit as many as it allows, and otherwise the protocol's, 250 or 1,000.
    pairs: games in each world to weigh one adversary; default: enough to show a clear leak at the claim's ε.
    confirm_games: games in each world for a confirmation, at most; default: what the evidence suggests.
    data: of the user, whose examples are tried, too; all of them are public to the search.
    jobs: processes, or `Workers`, which do not change the result.
    watch: called after every adversary, or with several jobs after every run of 250.
    max_calls, max_seconds: limits, see `audits.runs.limits`; with one of them the search is one process.
    announce: called with what the search costs, if it is long; default: a warning of the log `audits`.
    bits: whether the last bits of released numbers count, which tell of floating point only.
    relation_chosen: whether somebody chose the neighbouring relation; if not, a confirmation goes on until
        its bound exceeds what another relation explains, or hardly will.

    If each game is a call, an example costs at most 512 of them on average. A keyboard interrupt ends the
    search; the result so far is marked `interrupted`. Warns if the learner fails in some games.

    Raises: InvalidArgument; WorkersFailed; NotConforming if the learner fails `arena.testing.check_learner`;
    NothingTested if it fails in, or declines, every game, or releases the same in all of them; whatever a
    referee raises in other games.
    """
    limits = Limits(max_calls, max_seconds)
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
    plan = AdversarySearch(
        learner=learner,
        protocol=protocol,
        claim=claim,
        error=error,
        examples=SPACES[protocol].budget.examples if examples is None else examples,
        endless=examples is None and not (max_calls is None and max_seconds is None),
        space=SPACES[protocol],
        pairs=choose_pairs(claim, SPACES[protocol]) if pairs is None else pairs,
        confirm_games=confirm_games,
        data=data,
        seed=seed,
        bits=bits,
        relation_chosen=relation_chosen or change_relation(learner, claim, 0.0) is None,
    )
    with limits:
        workers = Workers.from_jobs(jobs)
        if learner.one_call_a_game:
            check_enough(learner, max_calls, plan.least_games)
            plan.announce(limits, announce, workers)
        check_learner_first(learner)
        plan = plan.fit_pairs(limits)
        releases = ReleaseWatch()
        result = plan.run(Workers() if limits.given else workers.choose_for(plan), watch, limits, releases)
    result = attrs.evolve(result, seen=releases.describe())
    tried = result.examples + result.rejected
    if result.stopped and not result.examples:
        raise NothingTested(
            f"{learner.own_name}: {explain_stop(result.stopped)} No adversary was played before. Allow more."
        )
    if not (tried or result.interrupted) and learner.receives_records:
        raise InvalidArgument(
            f"{learner.own_name}: the strategy of the data is not known to draw two neighbouring datasets",
            value=str(read_relation_of(learner)),
            remedy="Write audits.records or audits.table, whose records may be combined at will, or name "
            "another relation.",
        )
    if not (result.examples or result.interrupted):
        raise refuse_failures(learner, result.failure, f"against all of {tried:,} adversaries")
    if not (result.refuted or result.interrupted):
        refuse_same_releases(learner, releases)
    if result.failed and not result.refuted:
        warn_of_failures(learner, result.failure, result.failed, tried, "in games against {} adversaries")
    return result


@attrs.frozen(kw_only=True)
class AdversarySearch(SearchPlan):
    """A search. endless: whether it goes on until a limit, whatever number of adversaries that takes."""

    endless: bool = False

    def announce(self, limits: Limits, announce: Callable[[str], None] | None, workers: Workers) -> None:
        """Say what the search of a learner costs of which each game is a call."""
        script = next(self.space.obvious(self.learner, self.protocol), None)
        if script is not None:
            few = makes_few_calls(self.learner, inf)
            seconds = time_game(self.learner, script, script.referee, few=few)
            calls = inf if self.endless else 2 * self.space.budget.calls * self.examples
            checks = count_checking_calls(self.learner, few=few)
            jobs = 1 if limits.given else workers.jobs or 1
            announce_cost(self.learner, calls, seconds, limits, announce, checks=checks, jobs=jobs)

    def fit_pairs(self, limits: Limits) -> Self:
        """The search with fewer games for each adversary, if limits allow hardly any adversary otherwise."""
        plan = self
        while (few := plan.make_target(plan.pairs).few) > 2 and (
            (few > _LEAST_PAIRS and plan.count_obvious(limits) < _LEAST_OBVIOUS)
            or limits.find_reached(2 * few * _LEAST_WEIGHED)
        ):
            plan = attrs.evolve(plan, pairs=plan.pairs // 2)
        return plan

    def count_obvious(self, limits: Limits) -> float:
        """How many obvious adversaries limits leave enough calls for: the first, on the smallest samples."""
        if not (self.learner.one_call_a_game and limits.given):
            return inf
        return _OBVIOUS_SHARE * self._count_exploring_calls(limits) / self.make_target(self.pairs).few

    def _count_exploring_calls(self, limits: Limits) -> float:
        """The calls that are left for an exploration, if some are kept for a confirmation."""
        left = limits.estimate_calls_left()
        return left - min(left / 2, self.confirming_calls)

    def run(
        self,
        workers: Workers,
        watch: Callable[[SearchProgress], None] | None,
        limits: Limits,
        releases: ReleaseWatch | None = None,
    ) -> SearchResult:
        """Search until a limit or a refutation. releases: collects what explorations released."""
        explorations: list[Exploration] = []
        confirmations = 0
        confirmed: tuple[Plan, Verdict] | None = None
        unconfirmed = 0.0  # evidence in nats of an adversary whose confirmation was cut off
        interrupted = False
        start: SolvedStart | None = None
        try:
            start = find_solved_start(self.learner, self.protocol, self.claim)
            if start is not None:
                rate = start.rate(self.claim)
                confirmations, plan, verdict = self.confirm(start.script, False, rate, 0, limits)
                confirmed = (plan, verdict) if verdict.refuted else None
            explore = self._explore_endlessly if self.endless else self._explore_runs
            with closing(explore(workers, watch, explorations, limits)) as runs:
                for explored in runs if confirmed is None else ():
                    if explored.adversary is not None:
                        script, faults, rate = self.choose_score(explored)
                        games = sum(each.games for each in explorations) if self.endless else 0
                        before, unconfirmed = unconfirmed, self._weigh_unconfirmed(explored, unconfirmed)
                        confirmations, plan, verdict = self.confirm(
                            script, faults, rate, confirmations, limits, games
                        )
                        confirmed = (plan, verdict) if verdict.refuted else None
                        if not verdict.stopped:
                            unconfirmed = before
                    interrupted = explored.interrupted
                    if not any(each.examples for each in explorations):
                        break  # the learner fails in, or declines, all games
                    if confirmed is not None or interrupted or limits.reached:
                        break
        except KeyboardInterrupt:
            acknowledge_interrupt()
            interrupted = True
        confirming_plan, confirming_verdict = confirmed or (None, None)
        if releases is not None:
            for each in explorations:
                releases.join(each.releases)
        examples, rejected, games, failed = (
            sum(getattr(each, name) for each in explorations)
            for name in ("examples", "rejected", "games", "failed")
        )
        detectable = None if confirmed else self._detectable_loss(explorations)
        interrupted = interrupted or (confirming_verdict is not None and confirming_verdict.interrupted)
        undecided = "" if confirmed else _explain_undecided(unconfirmed, detectable, interrupted)
        return SearchResult(
            learner=self.learner,
            protocol=self.protocol,
            claim=self.claim,
            error=self.error,
            seed=self.seed,
            refuted=confirmed is not None,
            adversary=None if confirmed is None else confirmed[0].adversary,  # type: ignore[arg-type]
            plan=confirming_plan,
            verdict=confirming_verdict,
            examples=examples + (start is not None),
            rejected=rejected,
            games=games,
            confirmations=confirmations,
            best=max((each.best for each in explorations), default=0.0),
            failed=failed,
            failure=next((each.failure for each in explorations if each.failure), ""),
            detectable=detectable,
            interrupted=interrupted,
            undecided=undecided,
            stopped="" if confirmed else limits.reached,
            untested=() if interrupted else tuple(self.space.untested(self.learner, self.protocol)),
        )

    def _weigh_unconfirmed(self, explored: Exploration, before: float) -> float:
        """The evidence in nats of an adversary that is to be confirmed, if it is more than chance gives."""
        nats = 0.0 if explored.evidence is None else explored.evidence.nats
        return max(before, nats) if nats >= THRESHOLD else before

    def _detectable_loss(self, explorations: list[Exploration]) -> float | None:
        """That of the exploration with the least power; None without rungs."""
        # Half of the wealth is bet against a curve.
        threshold = exploration.EVIDENCE_THRESHOLD + (0.0 if self.claim.curve is None else log(2.0))
        losses = [
            detectable_loss(
                each.rungs, self.claim, pairs=self.make_target(self.pairs).few, threshold=threshold
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
        unused, report = 0, partial(self._report, watch, explorations)
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

    def _explore_endlessly(
        self,
        workers: Workers,
        watch: Callable[[SearchProgress], None] | None,
        explorations: list[Exploration],
        limits: Limits,
    ) -> Generator[Exploration, None, None]:
        """Add to the explorations: adversaries that are drawn, then a race of all of them, until a limit."""
        race = Race(self.make_target(self.pairs, "race"), limits, self.confirming_calls)
        report, number = partial(self._report, watch, explorations), 0
        favourites = tuple(self.space.obvious(self.learner, self.protocol))
        while not limits.reached:
            explored = self.explore(
                (number, _ENTRANTS if number else _FIRST_ENTRANTS), watch=report, limits=limits
            )
            explorations.append(explored)
            race.enter(explored.played, () if number else favourites)
            yield explored
            number += 1
            games, left = race.games, _RACING * number * explored.games
            while left > 0 and not limits.reached:
                begin = race.games
                with ignore_overflow():
                    race.run(left)
                explorations.append(Exploration(games=race.games - begin, best=race.best))
                left -= race.games - begin
                if race.winner is None:
                    break
                explorations[-1].adversary, explorations[-1].evidence = race.winner
                yield explorations[-1]
            explorations[-1].rungs = race.rungs
            if not explored.games and race.games == games:
                limits.reached = limits.reached or limits.find_reached(2 * self.pairs) or CALLS

    def _report(
        self,
        watch: Callable[[SearchProgress], None] | None,
        explorations: list[Exploration],
        examples: int = 0,
        best: float = 0.0,
    ) -> None:
        """Show the progress, with that of the present run."""
        if watch is not None:
            examples += sum(each.examples for each in explorations)
            best = max([best, *(each.best for each in explorations)])
            watch(SearchProgress(examples=examples, of=max(self.examples, examples), best=best))

    def explore(
        self,
        task: tuple[int, int],
        *,
        watch: Callable[[int, float], None] | None = None,
        limits: Limits | None = None,
    ) -> Exploration:
        """One exploration. task: its number, and its number of examples. limits: of the search, if given."""
        number, examples = task
        target = self.make_target(self.pairs, "run", number)
        limits = Limits() if limits is None else limits
        calls = limits.calls_left - min(limits.calls_left / 2, self.confirming_calls)
        obvious = () if number else tuple(self.space.obvious(self.learner, self.protocol))
        few = self.count_obvious(limits)
        if few < len(obvious):
            obvious = obvious[: max(_LEAST_WEIGHED, int(few))]
        has_leads = self.learner.one_call_a_game and not number
        search = HypothesisRun(
            target,
            self.protocol,
            watch,
            self.data,
            obvious,
            calls,
            limits,
            reserve=self.confirming_calls,
            climbing=not self.endless,
            leads=partial(self.space.leads, self.learner, self.protocol) if has_leads else tuple,
        )
        with ignore_overflow():
            explored = search.run(examples)
        # What a share of the calls is too few for is for the race.
        if not (self.endless and explored.stopped == CALLS):
            limits.reached = limits.reached or explored.stopped
        return explored


def _explain_undecided(unconfirmed: float, detectable: float | None, interrupted: bool) -> str:
    """Why a search without a refutation decides nothing, as a clause; empty if it found nothing."""
    if unconfirmed:
        return (
            f"the games of one adversary are {unconfirmed:.3g} nats of evidence against the claim, and the "
            "limits left too few fresh games to confirm it"
        )
    if interrupted:
        return "the search was interrupted"
    return POWERLESS if detectable is None else ""
