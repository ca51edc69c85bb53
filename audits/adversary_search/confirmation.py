"""What a search tests, and how it confirms what an exploration found: on games that none has used."""

from __future__ import annotations

from functools import partial
from math import ceil, exp, inf, log, log1p

import attrs
import numpy as np

from arena import Claim, Learner, PlayerError, ProtocolViolation, Sample
from arena.settings import at_least, whole
from audits.adversary_search.evidence import (
    DECLINED,
    SearchTarget,
    confirming_seed,
    exploring_seed,
    play_halves,
    weigh_halves,
)
from audits.adversary_search.exploration import Exploration
from audits.adversary_search.race import THRESHOLD
from audits.adversary_search.score import simple_scores
from audits.adversary_search.script import Script, SearchSpace
from audits.registry.match import get_given_curve
from audits.runs.audit_estimators import find_explained
from audits.runs.blocks import try_common_random_numbers
from audits.runs.limits import Limits, count_checking_calls, makes_few_calls
from audits.runs.plan import LEARNED, SCORE, Plan
from audits.runs.run import run
from audits.runs.verdict import Verdict

_READABLE = 0.8  # a simple score is used if it gives this part of the evidence
_CONFIRM_GAMES = 20_000
_MAX_CONFIRM_GAMES = 2_000_000
_CONFIRM_FACTOR = 3  # times the games that the evidence so far suggests
_FAULT_GAMES = 2_000  # with faults every game is played by itself
ignore_overflow = partial(np.errstate, over="ignore", invalid="ignore")  # of the largest points there are


def choose_pairs(claim: Claim, space: SearchSpace) -> int:
    """Pairs of games that show a clear leak at ε: each is worth at most log(1 + exp(−ε)) nats."""
    return min(max(space.budget.pairs, 2 * ceil(24.0 / log1p(exp(-claim.epsilon)))), 4_096)


def share_of_error(error: float, number: int) -> float:
    """The error of confirmation `number` = 1, 2, …; all of them add up to at most `error`."""
    return error / (number * (number + 1))


@attrs.frozen(kw_only=True)
class SearchPlan:
    """What is searched. space: of the protocol, which so becomes known to workers, wherever it is defined.
    relation_chosen: whether somebody chose the neighbouring relation of the claim, or no other explains
    it."""

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
    bits: bool = False
    relation_chosen: bool = True

    @property
    def least_games(self) -> int:
        """Eight times the games that an adversary needs which separates the worlds perfectly."""
        return self._count_perfect_games(self.claim.epsilon, 8)

    def _count_perfect_games(self, epsilon: float, times: int) -> int:
        """`times` the games in each world that refute ε if the worlds are separated perfectly."""
        return ceil(times * log(2 / self.error) / log1p(exp(-epsilon)))

    @property
    def confirming_calls(self) -> int:
        """Calls that a clear leak takes to be confirmed, with all checks."""
        return self.least_games + count_checking_calls(self.learner, few=makes_few_calls(self.learner, inf))

    def make_target(self, pairs: int, *purpose: object) -> SearchTarget:
        seed = exploring_seed(self.seed, *purpose)
        return SearchTarget(learner=self.learner, claim=self.claim, pairs=pairs, seed=seed, bits=self.bits)

    def choose_score(self, explored: Exploration) -> tuple[Script, bool, float]:
        """The adversary, with a simple score if one is good; whether it sees failures; nats per pair."""
        script, evidence = explored.adversary, explored.evidence
        assert script is not None
        assert evidence is not None
        if evidence.nats < THRESHOLD:  # too little to tell which score is good
            return attrs.evolve(script, score=None), evidence.faults, evidence.z**2 / (2 * evidence.games)
        if evidence.halves is not None:
            halves, faults = evidence.halves, evidence.faults
        else:  # at least as many games as it took to see the leak
            target = self.make_target(max(4 * self.pairs, evidence.games), "hand over")
            halves, faults = play_halves(target, script, pairs=target.pairs, stage="hand over")
        more = partial(self.space.list_scores, bits=self.bits)
        listed = [[*simple_scores(half), *more(half)] for half in halves]
        scores = list(dict.fromkeys([*listed[0], *listed[1]]))
        single = [weigh_halves(halves, self.claim, scores=[score]).nats for score in scores]
        largest = max([weigh_halves(halves, self.claim, more=more).nats, *single])
        rate = largest / sum(half.pairs for half in halves)
        for score, nats in zip(scores, single, strict=True):
            if nats >= _READABLE * largest > 0 and not score.reads_failures:
                sums = sum(half.counts @ score.column(half)[half.which] for half in halves)
                sign = -1 if sums[1] < sums[0] else 1  # world 1 has the larger scores
                own = script.score or score
                return attrs.evolve(script, score=attrs.evolve(own, sign=sign)), faults, rate
        return attrs.evolve(script, score=None), faults, rate

    def confirm(
        self, script: Script, faults: bool, rate: float, number: int, limits: Limits, explored: int = 0
    ) -> tuple[int, Plan, Verdict]:
        """The number of attempts so far, and the last one; a plan that learners fail is tried with faults.
        explored: games in each world that an attempt may cost, as they were spent to explore."""
        while True:
            number += 1
            plan = self._plan(script, faults, rate, number, explored)
            try:
                with ignore_overflow():
                    verdict = run(plan, limits=limits, relation_chosen=self.relation_chosen)
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
                return number, plan, verdict

    def _plan(self, script: Script, faults: bool, rate: float, number: int, explored: int) -> Plan:
        error = share_of_error(self.error, number)
        enough = ceil(_CONFIRM_FACTOR * log(1 / error) / max(rate, 1e-12))
        calls = self.learner.one_call_a_game
        games = self.confirm_games
        if games is None or calls:
            least, most = max(_CONFIRM_GAMES, self.least_games), _MAX_CONFIRM_GAMES
            if calls:  # all confirmations together cost as much as what they confirm
                least, pairs = self.least_games, self.space.budget.calls * self.examples // 2
                most = max(least, int(share_of_error(1.0, number) * pairs), explored)
                if not self.relation_chosen:  # a clear leak passes what another relation explains, too
                    explained = find_explained(self.claim.epsilon, self.claim.delta, self.claim.curve)
                    least = max(least, min(self._count_perfect_games(explained, 4), most))
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
