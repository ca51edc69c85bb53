"""One seeded run of Hypothesis: draw adversaries, climb the evidence, shrink the first that speaks."""

from __future__ import annotations

from collections.abc import Callable

import attrs
from hypothesis import HealthCheck, Phase, Verbosity, given, reject, seed, settings, target
from hypothesis.errors import Unsatisfiable

from arena import REFEREES, Claim, Learner, Referee, SpecialRound
from audits.search.evidence import DECLINED, Evidence, SearchTarget, exploring_seed, weigh_adversary
from audits.search.script import Script
from audits.search.script_strategies import adversaries

EVIDENCE_THRESHOLD = (
    10.0  # nats: by chance alone exp(-10), so almost every confirmation of what passes it succeeds
)
MOST_GAME_ROUNDS = 2**18  # of one adversary's first games, both worlds
_MOST_SHRINKS = 400


@attrs.frozen(kw_only=True)
class Exploration:
    """What one run came to.

    found: the adversary that passed the bar, shrunk, or None. evidence: its own.
    examples: adversaries weigh_halves. rejected: those that the learner would not play. games: in each world.
    best: the most evidence, in nats. interrupted: from the keyboard, before its end.
    """

    found: Script | None
    evidence: Evidence | None
    examples: int
    rejected: int
    games: int
    best: float
    interrupted: bool = False


class _Speaks(Exception):
    """The games of an example pass the bar: what Hypothesis takes for a failure, and shrinks."""


class _Enough(BaseException):
    """Shrinking has had its share. Hypothesis lets it through; its own limit is a clock's."""


def explore(
    learner: Learner,
    protocol: str,
    claim: Claim,
    *,
    examples: int,
    pairs: int,
    seed: int,
    number: int,
    watch: Callable[[int, float], None] | None = None,
) -> Exploration:
    """Run number `number` of a search: at most `examples` adversaries, drawn, then the first that passes
    `BAR` made as small as it goes. The outcome depends on the arguments alone.

    watch: called after every adversary with how many there were and the best evidence, in nats.

    Raises: whatever a referee raises in a game but for games that the learner declines.
    """
    contest = SearchTarget(
        learner=learner, claim=claim, pairs=pairs, seed=exploring_seed(seed, "run", number)
    )
    return _Run(contest, protocol, watch).done(examples)


def referee_for(script: Script) -> Referee:
    """The referee before which a script plays."""
    if script.protocol == "SpecialRound":
        return SpecialRound(T=script.rounds)
    return REFEREES[script.protocol]()


class _Run:
    def __init__(
        self, contest: SearchTarget, protocol: str, watch: Callable[[int, float], None] | None
    ) -> None:
        self._contest = contest
        self._protocol = protocol
        self._watch = watch
        self._known: dict[Script, Evidence | None] = {}
        self._found: Script | None = None
        self._shrinks = 0
        self._games = 0
        self._best = 0.0

    def done(self, examples: int) -> Exploration:
        interrupted = False
        most_rounds = max(1, MOST_GAME_ROUNDS // (2 * self._contest.pairs))
        limits = {"most_rounds": most_rounds} if most_rounds < 64 else {}
        drawn = adversaries(self._contest.learner, self._protocol, **limits)
        try:
            self._hypothesis(examples)(given(drawn)(self._attempt))()
        except (_Speaks, _Enough, Unsatisfiable):
            pass  # the last of them: the learner would play none
        except KeyboardInterrupt:
            interrupted = True
        weighed = [evidence for evidence in self._known.values() if evidence is not None]
        return Exploration(
            found=self._found,
            evidence=None if self._found is None else self._known[self._found],
            examples=len(weighed),
            rejected=len(self._known) - len(weighed),
            games=self._games,
            best=self._best,
            interrupted=interrupted,
        )

    def _hypothesis(self, examples: int) -> Callable[[Callable[[], None]], Callable[[], None]]:
        limits = settings(
            max_examples=examples,
            phases=(Phase.generate, Phase.target, Phase.shrink),
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
            verbosity=Verbosity.quiet,
            print_blob=False,
        )
        return lambda test: seed(self._contest.seed)(limits(test))

    def _attempt(self, script: Script) -> None:
        evidence = self._weighed(script)
        if evidence is None:
            reject()
        if self._found is None:
            target(evidence.climb)
        if evidence.nats >= EVIDENCE_THRESHOLD:
            self._found = script  # while shrinking, only what is smaller than the last one comes here
            raise _Speaks

    def _weighed(self, script: Script) -> Evidence | None:
        """None where the learner would not play."""
        if script not in self._known:
            if self._found is not None:
                self._shrinks += 1
            if self._shrinks > _MOST_SHRINKS:
                raise _Enough
            self._known[script] = self._fresh(script)
            if self._watch is not None:
                self._watch(len(self._known), self._best)
        return self._known[script]

    def _fresh(self, script: Script) -> Evidence | None:
        try:
            evidence = weigh_adversary(self._contest, script, referee_for(script))
        except DECLINED:
            return None
        self._games += evidence.games
        self._best = max(self._best, evidence.nats)
        return evidence
