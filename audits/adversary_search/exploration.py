"""One seeded exploration with Hypothesis: draw adversaries, and shrink the first whose evidence passes."""

from __future__ import annotations

from collections.abc import Callable

import attrs
from hypothesis import HealthCheck, Phase, Verbosity, given, reject, seed, settings
from hypothesis.errors import Unsatisfiable

from arena import ArenaError, PlayerError, Sample
from audits.adversary_search.evidence import DECLINED, Evidence, SearchTarget, weigh_adversary
from audits.adversary_search.halving import Climb, Rung, climb_rungs
from audits.adversary_search.script import Script
from audits.adversary_search.script_strategies import adversaries
from audits.runs.first_games import describe_failure, find_failure

# Nats. Chance exceeds it with probability exp(-10), so most confirmations succeed.
EVIDENCE_THRESHOLD = 10.0
MAX_GAME_ROUNDS = 2**18  # rounds of an adversary's first games, both worlds together
_MAX_SHRINKS = 400
_MAX_FAILED = 32  # adversaries after which a learner that has failed against all of them is given up


@attrs.frozen(kw_only=True)
class Exploration:
    """The result of one exploration.

    adversary: the adversary that passed the threshold, shrunk, or None. evidence: its evidence. rungs: those
    that were played after nothing had passed it. Other fields are as in `SearchResult`.
    """

    adversary: Script | None
    evidence: Evidence | None
    examples: int
    rejected: int
    games: int
    best: float
    failed: int = 0
    failure: str = ""
    rungs: tuple[Rung, ...] = ()
    interrupted: bool = False


class _ThresholdPassed(Exception):
    """The evidence passes the threshold. Hypothesis takes this for a failure and shrinks the adversary."""


class _ShrinksExhausted(BaseException):  # which Hypothesis, whose own limit depends on time, lets pass
    """The limit on shrinking is reached."""


class _LearnerFailed(BaseException):
    """The learner fails in all games."""


@attrs.define(eq=False)
class HypothesisRun:
    """Draws adversaries for a protocol against a target, and shrinks the first that passes.

    watch: called after every adversary with their number and the best evidence in nats. data: the user's.
    """

    _target: SearchTarget
    _protocol: str
    _watch: Callable[[int, float], None] | None = None
    _data: Sample | None = None
    _evidence: dict[Script, Evidence | None] = attrs.field(factory=dict)  # None: declined by the learner
    _smallest: Script | None = None
    _shrinks: int = 0
    _games: int = 0
    _best: float = 0.0
    _failed: int = 0
    _failure: str = ""

    def run(self, examples: int) -> Exploration:
        """Draw at most `examples` adversaries. The result depends on the arguments only.

        Raises: whatever a referee raises in a game, except for games that the learner declines.
        """
        interrupted = False
        climb = Climb()
        max_rounds = max(1, MAX_GAME_ROUNDS // (2 * self._target.pairs))
        limits = {"max_rounds": max_rounds} if max_rounds < 64 else {}
        scripts = adversaries(self._target.learner, self._protocol, data=self._data, **limits)
        limit = settings(
            max_examples=examples,
            phases=(
                Phase.generate,
                Phase.shrink,
            ),  # `target` retries adversaries of equal evidence for minutes
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
            print_blob=False,
        )
        try:
            seed(self._target.seed)(limit(given(scripts)(self._try_adversary)))()
        except (_ThresholdPassed, _ShrinksExhausted, _LearnerFailed, Unsatisfiable):
            pass  # Unsatisfiable: the learner declined every adversary
        except KeyboardInterrupt:
            interrupted = True
        played = {script: evidence for script, evidence in self._evidence.items() if evidence is not None}
        if self._smallest is None and not interrupted:
            try:
                climb = climb_rungs(self._target, played, threshold=EVIDENCE_THRESHOLD)
            except KeyboardInterrupt:
                interrupted = True
        return Exploration(
            adversary=climb.adversary if self._smallest is None else self._smallest,
            evidence=climb.evidence if self._smallest is None else self._evidence[self._smallest],
            examples=len(played),
            rejected=len(self._evidence) - len(played),
            games=self._games + climb.games,
            best=max(self._best, climb.best),
            rungs=climb.rungs,
            failed=self._failed,
            failure=self._failure,
            interrupted=interrupted,
        )

    def _try_adversary(self, script: Script) -> None:
        evidence = self._weigh(script)
        if evidence is None:
            if self._failed >= _MAX_FAILED and not any(self._evidence.values()):
                raise _LearnerFailed
            reject()
        if evidence.nats >= EVIDENCE_THRESHOLD:
            self._smallest = script  # while shrinking, Hypothesis tries only smaller scripts
            raise _ThresholdPassed

    def _weigh(self, script: Script) -> Evidence | None:
        if script in self._evidence:
            return self._evidence[script]
        if self._smallest is not None:
            self._shrinks += 1
        if self._shrinks > _MAX_SHRINKS:
            raise _ShrinksExhausted
        evidence: Evidence | None = None
        try:
            evidence = weigh_adversary(self._target, script, script.referee)
            self._games += evidence.games
            self._best = max(self._best, evidence.nats)
            if evidence.faults:
                self._note_failure(find_failure(self._target.learner, script, script.referee))
        except (PlayerError, *DECLINED) as error:
            if isinstance(error, PlayerError) and error.player != "learner":
                raise
            self._note_failure(error)
        self._evidence[script] = evidence
        if self._watch is not None:
            self._watch(len(self._evidence), self._best)
        return evidence

    def _note_failure(self, error: ArenaError | None) -> None:
        """Keep the first failure or refusal of the learner, and count the failures."""
        self._failed += isinstance(error, PlayerError)
        if error is not None and not self._failure:
            self._failure = describe_failure(error, self._target.learner)
