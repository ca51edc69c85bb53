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

from arena import Claim, InvalidArgument, Learner, PlayerError, ProtocolViolation, Sample
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
from audits.registry.match import get_given_curve
from audits.runs.learner_failures import check_learner_first, refuse_failures, warn_of_failures
from audits.runs.plan import LEARNED, SCORE, Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict
from audits.runs.workers import Workers, map_in_order

ERROR = 1e-6
EXAMPLES = 1_000
_RUN_EXAMPLES = 250  # then a run with a fresh seed, in case this one is stuck in a local optimum
_READABLE = 0.8  # a simple score is used if it gives this part of the evidence
_CONFIRM_GAMES = 20_000
_MAX_CONFIRM_GAMES = 2_000_000
_CONFIRM_FACTOR = 3  # times the games that the evidence so far suggests
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
    examples: int = EXAMPLES,
    pairs: int | None = None,
    confirm_games: int | None = None,
    data: Sample | None = None,
    seed: int = 0,
    jobs: int | Workers = 1,
    watch: Callable[[SearchProgress], None] | None = None,
) -> SearchResult:
    """Search for an adversary that refutes the learner's claim.

    protocol: default: the first that the learner names and a search can play.
    claim: under test; default: the learner's own. Worlds differ in what the learner's own claim protects.
    error: the probability, at most, of refuting a true claim.
    examples: adversaries to draw before giving up, not counting those tried while shrinking.
    pairs: games in each world to weigh one adversary; default: enough to show a clear leak at the claim's ε.
    confirm_games: games in each world for a confirmation, at most; default: what the evidence suggests.
    data: of the user, whose examples are tried, too; all of them are public to the search.
    jobs: processes, or `Workers`, which do not change the result.
    watch: called after every adversary, or with several jobs after every run of 250.

    A keyboard interrupt ends the search; the result so far is marked `interrupted`. Warns if the learner
    fails in some games.

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
            f"points of the data must have the shape of those of {learner.own_name}, {learner.point_shape}",
            value=data.points.shape[1:],
            remedy="Choose other columns, or set the dimension of the learner.",
        )
    adversaries(learner, protocol)  # raises InvalidArgument if the learner protects nothing there
    # Enough pairs to show a clear leak at ε: each is worth at most log(1 + exp(−ε)) nats.
    enough = 2 * ceil(24.0 / log1p(exp(-claim.epsilon)))
    plan = _SearchPlan(
        learner=learner,
        protocol=protocol,
        claim=claim,
        error=error,
        examples=examples,
        space=SPACES[protocol],
        pairs=min(max(SPACES[protocol].pairs, enough), 4_096) if pairs is None else pairs,
        confirm_games=confirm_games,
        data=data,
        seed=seed,
    )
    check_learner_first(learner)
    result = plan.run(Workers.from_jobs(jobs).choose_for(plan), watch)
    tried = result.examples + result.rejected
    if not (result.examples or result.interrupted):
        raise refuse_failures(learner, result.failure, f"against all of {tried:,} adversaries")
    if result.failed and not result.refuted:
        warn_of_failures(learner, result.failure, result.failed, tried, "in games against {} adversaries")
    return result


def share_of_error(error: float, number: int) -> float:
    """The error of confirmation `number` = 1, 2, …; all of them add up to at most `error`."""
    return error / (number * (number + 1))


@attrs.frozen(kw_only=True)
class _SearchPlan:
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

    def run(self, workers: Workers, watch: Callable[[SearchProgress], None] | None) -> SearchResult:
        explorations: list[Exploration] = []
        confirmations = 0
        confirmed: tuple[Plan, Verdict] | None = None
        interrupted = False
        start: SolvedStart | None = None
        try:
            start = find_solved_start(self.learner, self.protocol, self.claim)
            if start is not None:
                confirmations, confirmed = self._confirm(start.script, False, start.rate(self.claim), 0)
            with closing(self._explore_runs(workers, watch, explorations)) as runs:
                for explored in runs if confirmed is None else ():
                    if explored.adversary is not None:
                        script, faults, rate = self._choose_score(explored)
                        confirmations, confirmed = self._confirm(script, faults, rate, confirmations)
                    interrupted = explored.interrupted
                    if not any(each.examples for each in explorations):
                        break  # the learner fails in, or declines, all games
                    if confirmed is not None or interrupted:
                        break
        except KeyboardInterrupt:
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
            interrupted=interrupted,
        )

    def _detectable_loss(self, explorations: list[Exploration]) -> float | None:
        """That of the exploration with the least power; None without rungs."""
        # Half of the wealth is bet against a curve.
        threshold = exploration.EVIDENCE_THRESHOLD + (0.0 if self.claim.curve is None else log(2.0))
        losses = [
            detectable_loss(each.rungs, self.claim, pairs=self.pairs, threshold=threshold)
            for each in explorations
            if each.rungs
        ]
        return None if not losses or None in losses else max(losses)  # type: ignore[type-var]

    def _explore_runs(
        self,
        workers: Workers,
        watch: Callable[[SearchProgress], None] | None,
        explorations: list[Exploration],
    ) -> Generator[Exploration, None, None]:
        """Add to the explorations in order. Examples that runs leave by ending early are for further runs."""
        starts = range(0, self.examples, _RUN_EXAMPLES)
        sizes = [min(_RUN_EXAMPLES, self.examples - start) for start in starts]
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
            run = partial(self._run, watch=report) if is_shown else self._run
            for explored in map_in_order(run, tasks, workers, unit="run"):
                explorations.append(explored)
                report()
                if explored.adversary is not None:
                    unused += max(0, sizes[len(explorations) - 1] - explored.examples - explored.rejected)
                yield explored
            if len(explorations) == len(sizes) and unused:
                sizes.append(min(_RUN_EXAMPLES, unused))
                unused -= sizes[-1]

    def _run(
        self, task: tuple[int, int], *, watch: Callable[[int, float], None] | None = None
    ) -> Exploration:
        """One exploration. task: its number, and its number of examples."""
        number, examples = task
        target = self._make_target(self.pairs, "run", number)
        with _ignore_overflow():
            return HypothesisRun(target, self.protocol, watch, self.data).run(examples)

    def _make_target(self, pairs: int, *purpose: object) -> SearchTarget:
        seed = exploring_seed(self.seed, *purpose)
        return SearchTarget(learner=self.learner, claim=self.claim, pairs=pairs, seed=seed)

    def _choose_score(self, explored: Exploration) -> tuple[Script, bool, float]:
        """The adversary, with a simple score if one is good; whether it sees failures; nats per pair."""
        script, evidence = explored.adversary, explored.evidence
        assert script is not None
        assert evidence is not None
        # At least as many games as it took to see the leak.
        target = self._make_target(max(4 * self.pairs, evidence.games), "hand over")
        halves, faults = play_halves(target, script, pairs=target.pairs, stage="hand over")
        scores = list(dict.fromkeys([*simple_scores(halves[0]), *simple_scores(halves[1])]))
        single = [weigh_halves(halves, self.claim, scores=[score]).nats for score in scores]
        largest = max([weigh_halves(halves, self.claim).nats, *single])
        rate = largest / sum(half.pairs for half in halves)
        for score, nats in zip(scores, single, strict=True):
            if nats >= _READABLE * largest > 0:
                sums = sum(half.counts @ score.column(half)[half.which] for half in halves)
                sign = -1 if sums[1] < sums[0] else 1  # world 1 has the larger scores
                own = script.score or score
                return attrs.evolve(script, score=attrs.evolve(own, sign=sign)), faults, rate
        return attrs.evolve(script, score=None), faults, rate

    def _confirm(
        self, script: Script, faults: bool, rate: float, number: int
    ) -> tuple[int, tuple[Plan, Verdict] | None]:
        """The number of attempts so far, and the success; a plan that learners fail is tried with faults."""
        while True:
            number += 1
            plan = self._plan(script, faults, rate, number)
            try:
                with _ignore_overflow():
                    verdict = run(plan)
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
        games = self.confirm_games
        if games is None:
            # Eight times the games that an adversary needs which separates the worlds perfectly.
            games = ceil(8 * log(2 / self.error) / log1p(exp(-self.claim.epsilon)))
            games = min(max(_CONFIRM_GAMES, games), _MAX_CONFIRM_GAMES)
            enough = ceil(_CONFIRM_FACTOR * log(1 / error) / max(rate, 1e-12))
            games = min(max(games, enough), _MAX_CONFIRM_GAMES)
        return Plan(
            learner=self.learner,
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
