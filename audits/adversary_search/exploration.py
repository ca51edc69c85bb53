"""One seeded exploration: after the obvious adversaries Hypothesis draws others, and shrinks the first whose
evidence passes.

If nothing passes, the best adversaries are played again by successive halving: ever more fresh games for ever
fewer of them. What this can find: docs/proofs/search.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import inf

import attrs
from hypothesis import HealthCheck, Phase, Verbosity, given, reject, seed, settings
from hypothesis.errors import Unsatisfiable

from arena import ArenaError, PlayerError, Sample
from arena.engine import GameCount, ReleaseWatch, count_games, watch_releases
from audits.adversary_search.detectable_loss import Rung
from audits.adversary_search.evidence import (
    DECLINED,
    Evidence,
    SearchTarget,
    limit_pairs,
    weigh_adversary,
    weigh_games,
)
from audits.adversary_search.race import FACTOR, FIRST_SHARE, KEPT, LEVEL_ROUNDS, PROMISING, THRESHOLD
from audits.adversary_search.script import SPACES, Script
from audits.adversary_search.script_strategies import adversaries
from audits.data.drawn_values import call_outside_tests, ignore_modules
from audits.interrupts import acknowledge_interrupt, check_interrupts
from audits.runs.learner_failures import describe_failure, find_failure
from audits.runs.limits import CALLS, SECONDS, Limits, TimeIsOver

# Nats. Chance exceeds it with probability exp(-10), so most confirmations succeed.
EVIDENCE_THRESHOLD = 10.0
MAX_GAME_ROUNDS = 2**18  # rounds of an adversary's first games, both worlds together
_MAX_SHRINKS = 400
_MAX_FAILED = 32  # adversaries after which a learner that has failed against all of them is given up
_MOST = 1_024  # times the games with which the exploration began: the whole budget of the best adversaries
# The obvious adversaries play again with so many times the first games, if that is no more than other
# adversaries play, since few games do not rank them.
_AGAIN, _MOST_AGAIN = 64, 16
_DRAWING = 0.5  # share of an exploration's calls in which others are drawn; the rest is for the best of them
_BATCH = 0.5  # share of the calls left for the adversaries that are played before a race
_ABOUT = 0.7  # of the largest z-score, from which on the simplest of the obvious adversaries is preferred
_MIN_SHRINKING = 2_048  # calls to shrink, at least; more if it took more to find the adversary


@attrs.define(kw_only=True)
class Exploration:
    """The result of one exploration. adversary: that passed the threshold, shrunk. leader: if none did, the
    best in the end. rungs: those played after nothing had passed. played: the adversaries that were played.
    releases: what all games released, if it was always the same.
    Other fields are as in `SearchResult`."""

    adversary: Script | None = None
    leader: Script | None = None
    evidence: Evidence | None = None
    examples: int = 0
    rejected: int = 0
    games: int = 0
    best: float = 0.0
    failed: int = 0
    failure: str = ""
    rungs: tuple[Rung, ...] = ()
    interrupted: bool = False
    stopped: str = ""
    played: Mapping[Script, Evidence] = attrs.field(factory=dict, repr=False)
    releases: ReleaseWatch = attrs.field(factory=ReleaseWatch, repr=False)


class _ThresholdPassed(Exception):
    """The evidence passes the threshold. Hypothesis takes this for a failure and shrinks the adversary."""


class _ShrinksExhausted(BaseException):  # which Hypothesis, whose own limit depends on time, lets pass
    """The limit on shrinking is reached."""


class _LearnerFailed(BaseException):
    """The learner fails in all games."""


class _LimitReached(BaseException):
    """A limit in calls or seconds is reached."""


@attrs.define(eq=False)
class HypothesisRun:
    """Draws adversaries for a protocol against a target, and shrinks the first that passes.

    watch: called after every adversary with their number and the best evidence in nats. data: the user's.
    obvious: adversaries to play first. calls: at most, of games in both worlds. limits: which are over
    when it is time. reserve: calls to leave for what comes after the adversary is found. climbing: whether
    the best play again if nothing passed; otherwise they are `played`. leads: makes more adversaries to play
    first, for which it plays games.
    """

    _target: SearchTarget
    _protocol: str
    _watch: Callable[[int, float], None] | None = None
    _data: Sample | None = None
    _obvious: Sequence[Script] = ()
    _calls: float = inf
    _limits: Limits = attrs.field(factory=Limits)
    _reserve: int = 0
    _climbing: bool = True
    _leads: Callable[[], Iterable[Script]] = tuple
    _evidence: dict[Script, Evidence | None] = attrs.field(factory=dict)  # None: declined by the learner
    _shrinks: int = 0
    _stopped: bool = False
    _most_shrinking: float = inf
    _usual_calls: float = inf
    _result: Exploration = attrs.field(factory=Exploration)
    _count: GameCount = attrs.field(factory=GameCount)

    def run(self, examples: int) -> Exploration:
        """Play at most `examples` adversaries. The result depends on the arguments only, and on when time is
        over. Raises: whatever a referee raises in a game, except for games that the learner declines."""
        if self._target.learner.one_call_a_game:
            self._usual_calls = SPACES[self._protocol].budget.calls * examples
        watch = watch_releases()
        with count_games() as self._count, watch as self._result.releases, self._limits.end_in_time():
            return self._run(examples)

    def _run(self, examples: int) -> Exploration:
        result = self._result
        try:
            self._play_obvious(self._obvious[: examples // 2])
            if result.adversary is None:
                self._climb_obvious()
            if result.adversary is None:
                self._play_obvious([script for script in self._leads() if script not in self._evidence])
            left = examples - len(self._evidence)
            if result.adversary is None and left > 0:
                self._draw(left)
            if result.adversary is not None and self._target.learner.one_call_a_game:
                evidence = self._evidence[result.adversary]
                assert evidence is not None
                self._simplify(result.adversary, 2 * evidence.games, self._count.games)
        except (_LimitReached, _LearnerFailed):
            pass
        except TimeIsOver:
            result.stopped = SECONDS
        except KeyboardInterrupt:
            acknowledge_interrupt()
            result.interrupted = True
        played = {script: evidence for script, evidence in self._evidence.items() if evidence is not None}
        if not self._climbing:
            result.played = played
        elif result.adversary is None and not result.interrupted:
            result.leader = _find_leader({script: evidence.z for script, evidence in played.items()})
            try:
                result.rungs = self._climb_rungs(played)
            except TimeIsOver:
                result.stopped = SECONDS
            except KeyboardInterrupt:
                acknowledge_interrupt()
                result.interrupted = True
        result.evidence = None if result.adversary is None else self._evidence[result.adversary]
        result.examples, result.rejected = len(played), len(self._evidence) - len(played)
        return result

    def _draw(self, examples: int) -> None:
        max_rounds = max(1, MAX_GAME_ROUNDS // (2 * self._target.pairs))
        limits = {"max_rounds": max_rounds} if max_rounds < 64 else {}
        scripts = adversaries(self._target.learner, self._protocol, data=self._data, **limits)
        limit = settings(
            max_examples=examples,
            phases=(Phase.generate, Phase.shrink),  # `target` retries those of equal evidence for minutes
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
            print_blob=False,
        )
        # Unsatisfiable: the learner declined every adversary.
        with suppress(_ThresholdPassed, _ShrinksExhausted, Unsatisfiable), ignore_modules():
            call_outside_tests(
                lambda: seed(self._target.seed)(limit(given(scripts)(self._try_adversary)))(), self._stop
            )

    @property
    def _most_calls(self) -> float:
        """Calls until an adversary is found, at most."""
        if self._climbing:
            return self._calls
        affordable = self._count.games + self._limits.estimate_calls_left()
        return min(self._calls, max(_BATCH * affordable, 2 * self._target.few / _DRAWING))

    def _afford(self, pairs: int, share: float = 1.0) -> None:
        """Refuse games that exceed a limit, or this share of the calls. Raises: _LimitReached."""
        reached = CALLS if self._count.games + 2 * pairs > share * self._most_calls else ""
        reached = reached or self._limits.find_reached(2 * pairs)
        if reached:
            self._result.stopped = reached
            raise _LimitReached

    def _may_promote(self, pairs: int) -> bool:
        most = _DRAWING * min(self._most_calls, self._usual_calls)
        if self._result.adversary is not None:
            most = min(self._calls, self._most_shrinking)
        elif self._limits.find_reached(2 * pairs) == SECONDS:
            self._result.stopped = SECONDS
            raise _LimitReached
        return self._count.games + 2 * pairs <= most

    def _play_obvious(self, scripts: Sequence[Script]) -> None:
        """Play the obvious adversaries as the others. Where games are calls, play a few of each, and then
        always double those of the one with the largest z-score, until one passes a threshold."""
        target, result = self._target, self._result
        if not target.learner.one_call_a_game:
            for script in scripts:
                evidence = self._weigh(script)
                if evidence is not None and evidence.nats >= EVIDENCE_THRESHOLD:
                    result.adversary = script
                    return
            return
        pairs = dict.fromkeys(scripts, max(2, target.few // 2))
        z, doubled = dict.fromkeys(scripts, inf), dict.fromkeys(scripts, -1)
        while z:
            least = _ABOUT * max(z.values())
            script = next(each for each in scripts if z.get(each, -inf) >= least)  # the simplest of the best
            self._afford(pairs[script])
            doubled[script] += 1
            evidence = self._play_more(script, pairs[script], f"obvious {doubled[script]}")
            if evidence is not None and evidence.nats >= THRESHOLD:
                result.adversary = script
                return
            z[script] = -inf if evidence is None else evidence.z
            pairs[script] *= 2 if doubled[script] else 1  # as many as it has played so far
            if (
                z[script] <= doubled[script] * PROMISING
                or doubled[script] == SPACES[self._protocol].budget.doublings
            ):
                del z[script]

    def _simplify(self, script: Script, pairs: int, calls: int) -> None:
        """Prefer simpler ones than the adversary found, whose evidence in so many pairs is conclusive, too.
        calls: that it took to find it; as many may follow."""
        for simpler in SPACES[self._protocol].simplify(self._target.learner, script):
            is_over = self._count.games + 2 * pairs > min(calls + min(calls, _MIN_SHRINKING), self._calls)
            is_over = is_over or bool(self._limits.find_reached(2 * pairs + self._reserve))
            played = self._evidence.get(simpler)
            is_known = simpler in self._evidence and (played is None or played.games >= pairs)
            if is_known or is_over:
                continue
            evidence = self._play_more(simpler, pairs, "simpler")
            if evidence is not None and evidence.nats >= THRESHOLD:
                self._result.adversary = simpler
                return self._simplify(simpler, pairs, calls)

    def _play_more(self, script: Script, pairs: int, stage: str) -> Evidence | None:
        """The evidence of all games of an obvious adversary, with so many more pairs."""
        before = self._evidence.get(script)
        weigh = partial(weigh_games, self._target, script, pairs=pairs, stage=stage, before=before)
        return self._note(script, weigh, racing=True)

    def _climb_obvious(self) -> None:
        """Play the obvious adversaries again with many games, then the best of them, if these are short."""
        pairs = self._target.few * _AGAIN
        left = [
            script
            for script in self._obvious[:_MOST_AGAIN]
            if self._evidence.get(script) and limit_pairs(script, pairs, MAX_GAME_ROUNDS) == pairs
        ]
        if not self._target.learner.one_call_a_game:
            self._climb(left, dict.fromkeys(left, 0.0), pairs, len(left), "obvious rung")

    def _climb_rungs(self, explored: Mapping[Script, Evidence]) -> tuple[Rung, ...]:
        """Play the best of the explored adversaries again, until the evidence of one passes the threshold."""
        target = self._target
        z = {script: evidence.z for script, evidence in explored.items()}
        pairs, size = target.few * FACTOR, max(1, len(explored) // FIRST_SHARE)
        if target.few < target.pairs and self._count_affordable(size, FACTOR * pairs) == size:
            pairs *= FACTOR
        return self._climb(list(explored), z, pairs, size)

    def _climb(
        self, left: list[Script], z: dict[Script, float], pairs: int, size: int, stage: str = "rung"
    ) -> tuple[Rung, ...]:
        """Play the `size` adversaries with the largest z-scores, then half as many with more pairs, …"""
        target = self._target
        rungs: list[Rung] = []
        while left and pairs <= _MOST * target.pairs:
            promising = len(rungs) * PROMISING if rungs else -inf
            left = [script for script in sorted(left, key=lambda script: -z[script]) if z[script] > promising]
            size = self._count_affordable(size, pairs)
            left = left[:size]
            if not left:
                break
            needed = promising if len(left) < size else max(promising, min(z[script] for script in left))
            rungs.append(Rung(pairs=pairs, adversaries=len(left), needed=needed))
            for script in left:
                if self._limits.find_reached(2 * pairs):
                    self._result.stopped = SECONDS
                    return tuple(rungs[:-1])
                number = limit_pairs(script, pairs, LEVEL_ROUNDS)
                evidence = weigh_games(target, script, pairs=number, stage=f"{stage} {pairs}")
                self._result.games += evidence.games
                self._result.best = max(self._result.best, evidence.nats)
                z[script] = evidence.z
                if evidence.nats >= (THRESHOLD if target.learner.one_call_a_game else EVIDENCE_THRESHOLD):
                    self._result.adversary, self._evidence[script] = script, evidence
                    return tuple(rungs)
            self._result.leader = _find_leader({script: z[script] for script in z if script in left})
            pairs, size = pairs * FACTOR, max(1, size // KEPT)
        return tuple(rungs)

    def _count_affordable(self, size: int, pairs: int) -> int:
        """How many of `size` adversaries can play so many pairs."""
        calls = min(self._calls, self._usual_calls) - self._count.games
        return size if calls == inf else min(size, int(calls / (2 * pairs)))

    def _try_adversary(self, script: Script) -> None:
        evidence = self._weigh(script)
        if evidence is None:
            if self._result.failed >= _MAX_FAILED and not any(self._evidence.values()):
                raise _LearnerFailed
            reject()
        if evidence.nats >= EVIDENCE_THRESHOLD:
            if self._result.adversary is None and self._target.learner.one_call_a_game:
                self._most_shrinking = self._count.games + max(_MIN_SHRINKING, self._count.games)
            self._result.adversary = script  # while shrinking, Hypothesis tries only smaller scripts
            raise _ThresholdPassed

    def _weigh(self, script: Script) -> Evidence | None:
        if self._stopped:
            raise KeyboardInterrupt
        if script in self._evidence:
            return self._evidence[script]
        if self._result.adversary is not None:
            self._shrinks += 1
            calls = self._count.games + 2 * self._target.few
            is_time = self._limits.find_reached(self._reserve)
            if self._shrinks > _MAX_SHRINKS or calls > min(self._most_shrinking, self._calls) or is_time:
                raise _ShrinksExhausted
        else:
            self._afford(self._target.few, _DRAWING)
        return self._note(script, partial(weigh_adversary, self._target, script, self._may_promote))

    def _note(
        self, script: Script, weigh: Callable[[], Evidence], *, racing: bool = False
    ) -> Evidence | None:
        """Weigh an adversary, and note the result."""
        evidence: Evidence | None = None
        check_interrupts()
        try:
            evidence = weigh()
            self._result.games += evidence.fresh
            self._result.best = max(self._result.best, evidence.nats)
            if evidence.faults:
                self._note_failure(find_failure(self._target.learner, script, script.referee))
        except (PlayerError, *DECLINED) as error:
            if isinstance(error, PlayerError) and error.player != "learner":
                raise
            self._note_failure(error)
        self._evidence[script] = evidence
        if evidence is not None and evidence.nats < min(EVIDENCE_THRESHOLD, THRESHOLD) and not racing:
            self._evidence[script] = attrs.evolve(evidence, halves=None)  # which may be large
        if self._watch is not None:
            self._watch(len(self._evidence), self._result.best)
        return evidence

    def _stop(self) -> None:
        self._stopped = True

    def _note_failure(self, error: ArenaError | None) -> None:
        """Keep the first failure or refusal of the learner, and count the failures."""
        self._result.failed += isinstance(error, PlayerError)
        if error is not None and not self._result.failure:
            self._result.failure = describe_failure(error, self._target.learner)


def _find_leader(z: Mapping[Script, float]) -> Script | None:
    """The simplest, which is the first, of those whose z-scores are almost the largest."""
    most = max(z.values(), default=0.0)
    return next((script for script, own in z.items() if own >= min(most, _ABOUT * most)), None)
