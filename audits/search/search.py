"""The search for an attack: explore, shrink, and confirm on games that no exploration has seen.

Exploration may look at as many adversaries as it likes: nothing that it sees counts. The k-th adversary
that it hands over is confirmed at error/(k (k + 1)), and these add up to at most the error of the whole
search.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from functools import partial
from math import ceil, exp, isfinite, log, log1p
from typing import Any

import attrs

from arena import REFEREES, Claim, InvalidArgument, Learner, PlayerError, ProtocolViolation
from audits.reports.json_form import to_data
from audits.runs.plan import LEARNED, SCORE, Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict
from audits.runs.workers import Workers, map_in_order
from audits.search.evidence import DECLINED, Contest, confirming_seed, exploring_seed, play_halves, weighed
from audits.search.explore import Explored, explore, referee_for
from audits.search.score import Score, simple_scores
from audits.search.script import STEPS, Script
from audits.search.strategies import adversaries

ERROR = 1e-6
EXAMPLES = 1_000
_A_RUN = 250  # examples; then from a fresh seed, for one that is caught in a corner
_READABLE = 0.8  # of the evidence
_CONFIRM_GAMES = 20_000
_MOST_CONFIRM_GAMES = 2_000_000
_ALONE_GAMES = 2_000  # with faults every game is played alone


@attrs.frozen(kw_only=True)
class Progress:
    """How far a search is: adversaries tried, of how many at most, and the best evidence yet, in nats."""

    examples: int
    of: int
    best: float


@attrs.frozen(kw_only=True)
class SearchResult:
    """What a search came to.

    claim: under test. error: the chance, at most, that a true claim is refuted by the whole search.
    refuted: the claim is false, with confidence 1 - error.
    adversary: the smallest adversary found that shows it, None if nothing was confirmed.
    plan, verdict: of its confirmation; `plan.confidence` is at least 1 - error.
    examples: adversaries weighed. rejected: those that the learner declined to play. games: played in each
        world to explore. confirmations: how many were tried. best: the most evidence explored, in nats.
    """

    learner: Learner
    protocol: str
    claim: Claim
    error: float
    seed: int
    refuted: bool
    adversary: Script | None
    plan: Plan | None
    verdict: Verdict | None
    examples: int
    rejected: int
    games: int
    confirmations: int
    best: float
    interrupted: bool = False

    def as_json(self) -> dict[str, Any]:
        """One flat object, but for the verdict; it depends on the arguments of the search alone."""
        verdict = None if self.verdict is None else to_data(self.verdict)
        if verdict is not None:
            del verdict["seconds"], verdict["games_per_second"]
        return {
            "learner": self.learner.name,
            "protocol": self.protocol,
            "claim": {
                "epsilon": self.claim.epsilon,
                "delta": self.claim.delta,
                "protects": list(self.claim.protects),
                "neighbours": self.claim.neighbours,
            },
            "error": self.error,
            "seed": self.seed,
            "refuted": self.refuted,
            "adversary": None if self.adversary is None else told(self.adversary),
            "verdict": verdict,
            "examples": self.examples,
            "rejected": self.rejected,
            "games": self.games,
            "confirmations": self.confirmations,
            "best": self.best,
            "interrupted": self.interrupted,
        }


def search(
    learner: Learner,
    *,
    protocol: str | None = None,
    claim: Claim | None = None,
    error: float = ERROR,
    examples: int = EXAMPLES,
    pairs: int | None = None,
    confirm_games: int | None = None,
    seed: int = 0,
    jobs: int | Workers = 1,
    watch: Callable[[Progress], None] | None = None,
) -> SearchResult:
    """Look for an adversary that refutes the learner's claim.

    protocol: Figure1, Release, Voting or SpecialRound; default: the first of these that the learner plays.
    claim: under test; default: the learner's own. What may differ is what the learner's own claim protects.
    error: a true claim is refuted with at most this chance.
    examples: adversaries to draw before giving up; those that shrinking looks at come on top.
    pairs: games in each world to weigh one by; default: what shows a clear leak at the claim's ε (nats).
    confirm_games: games in each world for a confirmation, at most.
    seed: of every coin. jobs: processes, or `Workers`, which do not change the outcome.
    watch: called after every adversary, or with several jobs after every run of 250.

    A keyboard interrupt ends the search with what it has, marked `interrupted`.

    Raises: InvalidArgument for arguments that make no search; WorkersFailed of the workers; whatever a
    referee raises in a game but for games that the learner declines.
    """
    protocol = _protocol(learner, protocol)
    claim = learner.claim if claim is None else claim
    _check(claim, error=error, examples=examples, seed=seed, pairs=pairs, games=confirm_games)
    adversaries(learner, protocol)  # refuses a learner that protects nothing there
    sought = _Search(
        learner=learner,
        protocol=protocol,
        claim=claim,
        error=error,
        examples=examples,
        pairs=Contest.enough_pairs(claim.epsilon) if pairs is None else pairs,
        confirm_games=_games(claim.epsilon, error) if confirm_games is None else confirm_games,
        seed=seed,
    )
    return sought.result(Workers.from_jobs(jobs), watch)


def share_of_error(error: float, number: int) -> float:
    """What confirmation `number` = 1, 2, … may spend: all of them together, at most `error`."""
    return error / (number * (number + 1))


def told(script: Script) -> list[str]:
    """A script in lines for people."""
    lines = []
    if script.world_0 is not None:
        other = script.world_1
        lines.append(f"training: {script.world_0.describe()}")
        if other is not None:
            lines[0] = f"training in world 0: {script.world_0.describe()}"
            lines.append(f"training in world 1: {other.describe()}")
    lines += [str(step) for step in script.steps]
    return [*lines, f"score: {script.score}" if script.score is not None else "score: learned"]


@attrs.frozen(kw_only=True)
class _Search:
    learner: Learner
    protocol: str
    claim: Claim
    error: float
    examples: int
    pairs: int
    confirm_games: int
    seed: int

    def result(self, workers: Workers, watch: Callable[[Progress], None] | None) -> SearchResult:
        ended: list[Explored] = []
        tried = 0
        confirmed: tuple[Plan, Verdict] | None = None
        interrupted = False
        try:
            with closing(self._explored(workers, watch)) as runs:
                for explored in runs:
                    ended.append(explored)
                    if watch is not None:
                        watch(self._progress(ended))
                    if explored.found is not None:
                        tried, confirmed = self._confirmed(self._handed_over(explored), tried)
                    interrupted = explored.interrupted
                    if confirmed is not None or interrupted:
                        break
        except KeyboardInterrupt:
            interrupted = True
        plan, verdict = confirmed or (None, None)
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
            examples=sum(one.examples for one in ended),
            rejected=sum(one.rejected for one in ended),
            games=sum(one.games for one in ended),
            confirmations=tried,
            best=max((one.best for one in ended), default=0.0),
            interrupted=interrupted,
        )

    def _progress(self, ended: list[Explored]) -> Progress:
        examples = sum(one.examples for one in ended)
        best = max(one.best for one in ended)
        return Progress(examples=examples, of=max(self.examples, examples), best=best)

    # --- exploring --------------------------------------------------------------------------------

    def _explored(
        self, workers: Workers, watch: Callable[[Progress], None] | None
    ) -> Generator[Explored, None, None]:
        """The runs in order, however many are played at a time; and then more of them with the examples that
        are left where a run was over early, since what it found was not confirmed."""
        sizes = [min(_A_RUN, self.examples - start) for start in range(0, self.examples, _A_RUN)]
        before, best, left, start = 0, 0.0, 0, 0
        while start < len(sizes):
            # No more than are played at a time: those that are left when one is found are played for nothing.
            at_a_time = workers.jobs or (1 if workers.alone else len(sizes))
            numbers = range(start, min(start + at_a_time, len(sizes)))
            for explored in self._wave(sizes, numbers, workers, self._watched(watch, before, best)):
                before, best = before + explored.examples, max(best, explored.best)
                if explored.found is not None:
                    left += max(0, sizes[start] - explored.examples - explored.rejected)
                start += 1
                yield explored
            if start == len(sizes) and left:
                sizes.append(min(_A_RUN, left))
                left -= sizes[-1]

    def _wave(
        self,
        sizes: list[int],
        numbers: range,
        workers: Workers,
        watch: Callable[[int, float], None] | None,
    ) -> Generator[Explored, None, None]:
        tasks = [(number, sizes[number]) for number in numbers]
        run = partial(self._run, watch=watch) if len(tasks) == 1 and workers.local else self._run
        yield from map_in_order(run, tasks, workers, unit="run")

    def _run(self, task: tuple[int, int], *, watch: Callable[[int, float], None] | None = None) -> Explored:
        """One run. task: its number, and how many examples it has."""
        return explore(
            self.learner,
            self.protocol,
            self.claim,
            examples=task[1],
            pairs=self.pairs,
            seed=self.seed,
            number=task[0],
            watch=watch,
        )

    def _watched(
        self, watch: Callable[[Progress], None] | None, before: int, best: float
    ) -> Callable[[int, float], None] | None:
        if watch is None:
            return None
        return lambda now, found: watch(
            Progress(examples=before + now, of=max(self.examples, before + now), best=max(best, found))
        )

    # --- confirming -------------------------------------------------------------------------------

    def _handed_over(self, explored: Explored) -> tuple[Script, bool]:
        """What was found with a score that can be read, if one says nearly as much as a learned distinguisher; and
        whether the learner's failures are part of its view."""
        script, evidence = explored.found, explored.evidence
        assert script is not None
        assert evidence is not None
        contest = Contest(
            learner=self.learner,
            claim=self.claim,
            pairs=max(4 * self.pairs, evidence.games),  # what takes many games to see takes many to score
            seed=exploring_seed(self.seed, "hand over"),
        )
        halves, faults = play_halves(
            contest, script, referee_for(script), pairs=contest.pairs, stage="hand over"
        )
        scores = list(dict.fromkeys([*simple_scores(halves[0]), *simple_scores(halves[1])]))
        single = [weighed(halves, self.claim, scores=[score]).nats for score in scores]
        most = max([weighed(halves, self.claim).nats, *single])
        for score, nats in zip(scores, single, strict=True):
            if nats >= _READABLE * most > 0:
                sign = _sign(score, halves)
                return attrs.evolve(script, score=attrs.evolve(score, sign=sign)), faults
        return script, faults

    def _confirmed(self, handed: tuple[Script, bool], tried: int) -> tuple[int, tuple[Plan, Verdict] | None]:
        """Confirm, and if the games turn out other than the score can bear, in the way that bears them. Every
        attempt has an error and games of its own. How many were tried, and the one that succeeded."""
        script, faults = handed
        while True:
            tried += 1
            plan = self._plan(script, faults, tried)
            try:
                verdict = run(plan)
            except (PlayerError, *DECLINED) as error:
                if faults or (isinstance(error, PlayerError) and error.player != "learner"):
                    raise
                faults = True  # it failed only now
            except ProtocolViolation:
                if script.score is None:
                    raise
                script = attrs.evolve(script, score=None)  # a value was no number
            else:
                if verdict.interrupted and not verdict.refuted:
                    raise KeyboardInterrupt
                return tried, (plan, verdict) if verdict.refuted else None

    def _plan(self, script: Script, faults: bool, number: int) -> Plan:
        return Plan(
            learner=self.learner,
            adversary=script,
            referee=referee_for(script),
            epsilon=self.claim.epsilon,
            delta=self.claim.delta,
            confidence=1.0 - share_of_error(self.error, number),
            games=min(self.confirm_games, _ALONE_GAMES) if faults else self.confirm_games,
            until_refuted=True,
            seed=confirming_seed(self.seed, number),
            distinguisher=LEARNED if script.score is None else SCORE,
            faults=faults,
        )


def _sign(score: Score, halves: Any) -> int:
    """1 if it tends to be higher in world 1, else -1."""
    world_0, world_1 = (sum(half.counts @ score.column(half)[half.which] for half in halves)).tolist()
    return -1 if world_1 < world_0 else 1


def _games(epsilon: float, error: float) -> int:
    """Eight times what it takes an adversary that tells the worlds apart every time."""
    enough = ceil(8 * log(2 / error) / log1p(exp(-epsilon)))
    return min(max(_CONFIRM_GAMES, enough), _MOST_CONFIRM_GAMES)


def _protocol(learner: Learner, wanted: str | None) -> str:
    if wanted is None:
        playable = [name for name in STEPS if name in learner.protocols]
        if not playable:
            raise InvalidArgument(
                f"{learner.name} plays no protocol of two worlds",
                value=", ".join(learner.protocols),
                remedy=f"A search needs one of {', '.join(STEPS)}.",
            )
        return playable[0]
    if wanted not in STEPS:
        there = "has one world" if wanted in REFEREES else "is no protocol"
        raise InvalidArgument(
            f"{wanted} {there}, so no search can be made of it", remedy=f"There are: {', '.join(STEPS)}."
        )
    if wanted not in learner.protocols:
        raise InvalidArgument(
            f"learner {learner.name} does not play {wanted}",
            remedy=f"It plays {', '.join(learner.protocols) or 'no protocol that it names'}.",
        )
    return wanted


def _check(claim: Claim, *, error: float, **whole: Any) -> None:
    if not isfinite(claim.epsilon) or claim.epsilon <= 0 or claim.delta >= 1:
        raise InvalidArgument(
            "the claim under test has a finite ε of more than 0 nats and a δ below 1",
            value=(claim.epsilon, claim.delta),
            remedy="A learner that claims nothing needs a claim of yours.",
        )
    if not 0 < error < 1:
        raise InvalidArgument("an error is a probability strictly between 0 and 1", value=error)
    for name, value in whole.items():
        least = 0 if name == "seed" else 2 if name == "pairs" else 1
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise InvalidArgument(f"{name} must be a whole number of at least {least}", value=value)
