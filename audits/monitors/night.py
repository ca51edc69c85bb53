"""One night of one claim: a search for an adversary, and bets on fresh games of the best that is known.

Everything that bets depend on is chosen before the games that are bet on: docs/proofs/monitoring.md.
"""

from __future__ import annotations

import os
import time
from math import log
from typing import Any

import attrs
import numpy as np

from arena import ArenaError, InvalidArgument, PlayerError, ProtocolViolation
from arena.errors import describe_error
from audits.adversary_search import SPACES, Script
from audits.adversary_search.adversary_search import AdversarySearch
from audits.adversary_search.confirmation import SearchPlan, choose_pairs
from audits.adversary_search.evidence import (
    DECLINED,
    Halves,
    SearchTarget,
    exploring_seed,
    play_halves,
    weigh_halves,
)
from audits.adversary_search.exploration import Exploration
from audits.adversary_search.score import OWN_SCORE, Score
from audits.adversary_search.script_strategies import choose_protocol
from audits.adversary_search.search_report import describe_score
from audits.adversary_search.solved_start import find_solved_start
from audits.monitors.claims import Target
from audits.monitors.kept_adversary import pack_scores, read_adversary, unpack_scores, write_adversary
from audits.monitors.store import Kept
from audits.monitors.used_files import record_files
from audits.registry.match import get_given_curve
from audits.runs.audit_estimators import AuditEstimators
from audits.runs.blocks import choose_distinguisher, try_common_random_numbers
from audits.runs.learner_failures import check_learner_first, fails_sometimes, refuse_failures
from audits.runs.limits import Limits, time_game
from audits.runs.plan import LEARNED, SCORE, Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict
from audits.statistics.score_pairs import PairCounts
from audits.testing.outcome import Refutation

_EXAMPLES = 250  # adversaries that one night tries
_SEARCHING, _SEARCHING_AGAIN = 0.4, 0.15  # of the time, and as many games, the second with a known adversary
_COMPARING = 0.05  # share of the games by which each of two or three adversaries is compared
_FEWEST_COMPARED, _MAX_COMPARED = 64, 16_384  # pairs of these games
_CLEARLY_BETTER = 2.0  # z-score by which another adversary must exceed the known one
_MAX_GAMES = 10_000_000  # in each world in one night
_MAX_COUNTEREXAMPLE = 20_000  # characters
_NO_GAMES = "the search and the checks took all the time of the night: allow more"


@attrs.frozen(kw_only=True)
class NightPlan:
    """What one night plays.

    seed: of all its games. needed: the evidence in nats that it must win for the claim to be refuted.
    kept: what earlier nights hand on. seconds: of the night. games: in each world that are bet on, at most;
    the search plays in proportion. At least one of these is given. file: for the players that refute the
    claim.
    """

    target: Target
    seed: int
    needed: float
    kept: Kept | None
    seconds: float | None
    games: int | None
    file: str


@attrs.frozen(kw_only=True)
class NightResult:
    """What one night found. games, log_wealth, explored, adversary, seconds: as of `Night`.

    files: digests of the files that were read. bet: whether games were bet on. If there is a `failure`, too,
    it says why their evidence is lost.
    """

    games: int = 0
    log_wealth: float = 0.0
    explored: int = 0
    adversary: str = ""
    seconds: float = 0.0
    kept: Kept | None = None
    bet: bool = False
    refuted: bool = False
    counterexample: str = ""
    interrupted: bool = False
    failure: str = ""
    files: dict[str, str] = attrs.field(factory=dict)


def play_night(plan: NightPlan) -> NightResult:
    """Play one night. What the user's code raises is its failure; an interrupt keeps the games so far."""
    start = time.perf_counter()
    with record_files() as recorder:
        result, explored = _play_night(plan)
    files = recorder.digest(plan.target.folder, os.path.dirname(os.path.dirname(plan.file)))
    return attrs.evolve(result, explored=explored, seconds=time.perf_counter() - start, files=files)


def _play_night(plan: NightPlan) -> tuple[NightResult, int]:
    try:
        with Limits(None, plan.seconds) as limits:
            night = _Night(plan, limits)
            result = night.play()
            explored = night.explored
    except ArenaError as error:
        result, explored = NightResult(failure=str(error)), 0
    except KeyboardInterrupt:
        result, explored = NightResult(interrupted=True), 0
    except Exception as error:
        result, explored = NightResult(failure=describe_error(error)), 0
    return result, explored


@attrs.frozen(kw_only=True)
class _Opponent:
    """An adversary to bet with. z: by how many standard deviations it breaks the claim in a few games.
    scores: pairs of scores of games from which bets are chosen. known: from earlier nights."""

    adversary: Any
    faults: bool
    z: float
    distinguisher: str
    scores: list[PairCounts]
    known: bool = False


class NightEstimators(AuditEstimators):
    """The test of a night: the wealth against the claim alone, which has to reach `needed` nats.

    Against a claim with a curve, half of the wealth is bet on (ε, δ) and half on the curve. earlier: blocks
    of scores of earlier games, from which the first bets are chosen.
    """

    def __init__(self, plan: Plan, needed: float, earlier: list[PairCounts]) -> None:
        super().__init__(plan)
        self._needed, self.highest = needed, 0.0
        for test in self._tests:
            test.threshold = needed + log(len(self._tests))
            if earlier:
                test.start_again(earlier)

    @property
    def log_wealth(self) -> float:
        wealth = [test.log_wealth_now for test in self._tests]
        return float(np.logaddexp.reduce(wealth)) - log(len(wealth))

    @property
    def refuted(self) -> bool:
        return self.highest >= self._needed

    def _bet(self, block: PairCounts) -> None:
        super()._bet(block)
        self.highest = max(self.highest, self.log_wealth)


class _Night:
    """The state of a night that is played. explored: games in each world that nothing was bet on."""

    def __init__(self, plan: NightPlan, limits: Limits) -> None:
        self._plan, self._limits = plan, limits
        self._target, self._learner = plan.target, plan.target.learner
        self._claim = plan.target.claim
        self.explored = 0

    def play(self) -> NightResult:
        """Choose an opponent, and bet on its games."""
        check_learner_first(self._learner)
        opponent = self._prepare_given() if self._target.adversary is not None else self._search()
        self.explored = self._limits.calls // 2
        return self._bet(opponent)

    # --- before the bets ------------------------------------------------------------------------------------

    def _prepare_given(self) -> _Opponent:
        """The given adversary."""
        adversary, referee = self._target.adversary, self._target.referee
        assert adversary is not None
        assert referee is not None
        kept, faults = self._plan.kept, False
        try:
            distinguisher = choose_distinguisher(self._learner, adversary, referee)
        except PlayerError as error:
            if not fails_sometimes(self._learner, adversary, referee, error):
                raise
            faults = True
        if faults or (kept is not None and kept.faults):
            faults, distinguisher = True, choose_distinguisher(self._learner, adversary, referee, faults=True)
        scores = unpack_scores(kept) if distinguisher == SCORE else []
        return _Opponent(
            adversary=adversary, faults=faults, z=0.0, distinguisher=distinguisher, scores=scores, known=True
        )

    def _search(self) -> _Opponent:
        """The best adversary of a fresh search and of earlier nights."""
        protocol = choose_protocol(self._learner, self._target.protocol)
        space = SPACES[protocol]
        search = AdversarySearch(
            learner=self._learner,
            protocol=protocol,
            space=space,
            claim=self._claim,
            error=0.5,
            examples=_EXAMPLES,
            pairs=choose_pairs(self._claim, space),
            confirm_games=None,
            data=self._target.data,
            seed=self._plan.seed,
        )
        kept = self._read_kept(protocol)
        first = kept or next(space.obvious(self._learner, protocol), None)
        games = self._count_games(first, first.referee) if first is not None else _MAX_GAMES
        share = _SEARCHING if kept is None else _SEARCHING_AGAIN
        calls = max(2, int(2 * share * games))
        seconds = None if self._plan.seconds is None else share * self._plan.seconds
        with Limits(calls, seconds) as limits:
            explored = search.explore((0, _EXAMPLES), limits=limits)
        if explored.interrupted:
            raise KeyboardInterrupt
        solved = find_solved_start(self._learner, protocol, self._claim)
        scripts = [explored.adversary or explored.leader, None if solved is None else solved.script]
        pairs = max(_FEWEST_COMPARED, min(_MAX_COMPARED, int(_COMPARING * games)))
        found = [self._compare(script, search, pairs) for script in scripts if script is not None]
        if kept is not None:
            known = attrs.evolve(self._compare(kept, search, pairs), known=True)
            earlier = unpack_scores(self._plan.kept)
            found.append(attrs.evolve(known, z=known.z + _CLEARLY_BETTER, scores=earlier or known.scores))
        if not found:
            raise refuse_failures(self._learner, explored.failure, "against all adversaries")
        return max(found, key=lambda opponent: opponent.z)

    def _read_kept(self, protocol: str) -> Script | None:
        """The adversary of earlier nights, if it is one of this protocol."""
        kept = None if self._plan.kept is None else read_adversary(self._plan.kept.source)
        return kept if isinstance(kept, Script) and kept.protocol == protocol else None

    def _count_games(self, adversary: Any, referee: Any) -> int:
        """The games in each world to bet on in one night, at most."""
        games = _MAX_GAMES if self._plan.games is None else self._plan.games
        if self._plan.seconds is not None:
            seconds = time_game(self._learner, adversary, referee)
            games = min(games, int(self._plan.seconds / (2 * max(seconds, 1e-9))))
        return max(games, 1)

    def _compare(self, script: Script, search: SearchPlan, pairs: int) -> _Opponent:
        """An adversary with the score that tells the worlds apart best in so many pairs of games."""
        target = SearchTarget(
            learner=self._learner,
            claim=self._claim,
            pairs=pairs,
            seed=exploring_seed(self._plan.seed, "compare"),
        )
        halves, faults = play_halves(target, script, pairs=pairs, stage="compare")
        evidence = weigh_halves(halves, self._claim, faults=faults, more=search.space.scores)
        simple = evidence.score
        if not script.returns_score:
            explored = Exploration(adversary=script, evidence=attrs.evolve(evidence, halves=halves))
            script, _, _ = search.choose_score(explored)
            if script.score is None and simple is not None:
                script = attrs.evolve(script, score=simple)
        return _Opponent(
            adversary=script,
            faults=faults or (self._plan.kept is not None and self._plan.kept.faults),
            z=evidence.z,
            distinguisher=LEARNED if script.score is None else SCORE,
            scores=_score_halves(halves, script),
        )

    # --- the bets -------------------------------------------------------------------------------------------

    def _bet(self, opponent: _Opponent) -> NightResult:
        adversary, learner = opponent.adversary, self._learner
        referee = self._target.referee or adversary.referee
        if not opponent.faults:
            learner = try_common_random_numbers(learner, adversary, referee)
        plan = Plan(
            learner=learner,
            adversary=adversary,
            referee=referee,
            epsilon=self._claim.epsilon,
            delta=self._claim.delta,
            curve=get_given_curve(self._learner, self._claim),
            confidence=_get_confidence(self._plan.needed),
            games=self._count_games(adversary, referee),
            until_refuted=True,
            seed=exploring_seed(self._plan.seed, "bet") + 1,  # odd, so that no other games have it
            distinguisher=opponent.distinguisher,
            faults=opponent.faults,
        ).fit_blocks(None, self._plan.seconds)
        estimators = NightEstimators(plan, self._plan.needed, opponent.scores)
        describe = _describe_opponent(adversary)
        kept = self._keep(opponent, estimators)
        try:
            verdict = run(plan, limits=self._limits, estimators=estimators)
        except ArenaError as error:
            # The mechanism failed for the first time, or released what is no number.
            if isinstance(error, ProtocolViolation) and isinstance(adversary, Script):
                kept = attrs.evolve(kept, source=write_adversary(attrs.evolve(adversary, score=None)))
            faults = isinstance(error, (PlayerError, *DECLINED))
            kept = attrs.evolve(kept, faults=kept.faults or faults, scores="")
            return NightResult(failure=str(error), bet=True, kept=kept, adversary=describe)
        if not estimators.games:
            failure = "" if verdict.interrupted else _NO_GAMES
            return NightResult(failure=failure, adversary=describe, interrupted=verdict.interrupted)
        return NightResult(
            games=estimators.games,
            log_wealth=estimators.log_wealth,
            adversary=describe,
            kept=self._keep(opponent, estimators),
            bet=True,
            refuted=estimators.refuted,
            counterexample=self._describe_refutation(plan, verdict) if estimators.refuted else "",
            interrupted=verdict.interrupted,
        )

    def _describe_refutation(self, plan: Plan, verdict: Verdict) -> str:
        """What refutes the claim, and how to play it again, by a file that is written for it."""
        players = verdict.players
        if isinstance(plan.adversary, Script):
            players = attrs.evolve(players, adversary_set="found by a search")
        # Earlier nights bet on the claim alone, which they may have refuted together with this one.
        verdict = attrs.evolve(verdict, refuted=True, epsilon_lower=self._claim.epsilon, players=players)
        refutation = Refutation(plan=plan, verdict=verdict)
        try:
            return refutation.describe(refutation.save(self._plan.file))[:_MAX_COUNTEREXAMPLE]
        except InvalidArgument:  # the file cannot be written here
            return refutation.describe()[:_MAX_COUNTEREXAMPLE]

    def _keep(self, opponent: _Opponent, estimators: AuditEstimators) -> Kept:
        """What the next night begins with."""
        given = self._target.adversary is not None
        blocks = [block for block in estimators.first_blocks if isinstance(block, PairCounts)]
        scores = pack_scores([*opponent.scores, *blocks]) if opponent.distinguisher == SCORE else ""
        source = "" if given else write_adversary(opponent.adversary)
        return Kept(source=source, faults=opponent.faults, scores=scores if source or given else "")


def _get_confidence(needed: float) -> float:
    """The confidence of the plan's own figures, which decide nothing here."""
    return float(min(max(1 - np.exp(-needed), 0.5), 1 - 1e-12))


def _score_halves(halves: Halves, script: Script) -> list[PairCounts]:
    """The score pairs of games of an adversary, played with its score or, if that is simple, without."""
    blocks = []
    for half in halves:
        if half.names == (OWN_SCORE,):
            blocks.append(half.count_scores(half.rows[:, 0]))
        elif isinstance(script.score, Score):
            blocks.append(half.count_scores(script.score.column(half)))
    return blocks


def _describe_opponent(adversary: Any) -> str:
    """An adversary in one line."""
    if not isinstance(adversary, Script):
        return str(adversary.name)
    return f"found by a search, told apart by {describe_score(adversary)}"
