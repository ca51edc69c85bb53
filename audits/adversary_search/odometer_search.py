"""The search for a play in which an odometer reports too small a loss: its claim depends on the view.

Orders of queries are played by successive halving, and the best is confirmed on fresh games by bets that
weigh each view by the loss that it holds (docs/proofs/ex_post.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import Any, ClassVar

import attrs
import numpy as np

from arena import Learner, NothingTested, PlayerError
from arena.engine import add_games, count_games, watch_releases
from arena.referees.session import ReportsLoss
from arena.referees.session_replies import LOSS, OF_DELTA
from arena.settings import at_least, check_value, less_than, more_than, whole
from audits.adversary_search.evidence import DECLINED, confirming_seed, exploring_seed
from audits.adversary_search.script import SPACES, Script
from audits.adversary_search.script_strategies import adversaries, choose_protocol
from audits.data.drawn_values import draw_values
from audits.distinguishers.few_games import learn_from_few
from audits.distinguishers.learned_distinguisher import learn_distinguisher, learn_reply_ratios
from audits.distinguishers.view_features import ViewCounts, join_views
from audits.reports.formatting import nats
from audits.reports.plots import BoundRow, Picture
from audits.reports.report import Conclusion, Document, Facts, Listing, Report
from audits.runs.blocks import check_players, play_block
from audits.runs.example_games import write_example_games
from audits.runs.learner_failures import check_learner_first
from audits.runs.limits import (
    CALLS,
    SECONDS,
    Limits,
    TimeIsOver,
    announce_cost,
    check_enough,
    count_checking_calls,
    explain_stop,
    makes_few_calls,
    time_game,
)
from audits.runs.plan import LEARNED, Plan, describe
from audits.runs.same_releases import refuse_same_releases
from audits.statistics.ex_post import ExPostBetting, ExPostPairs, choose_bets, join_pairs

ERROR = 1e-6
EXAMPLES, GAMES = 60, 20_000
_FIRST_PAIRS, _LAST_PAIRS = 128, 2_048  # of an adversary while exploring
_FIRST_BLOCK, _LARGEST_BLOCK = 64, 1_024  # pairs, of a confirmation
_HOPELESS_PAIRS, _HOPELESS = 4_096, 1.0  # pairs after which evidence of fewer nats is not worth more games
_MOST_CONFIRMED = 3  # adversaries
_FEW_VIEWS = 64  # distinct ones, up to which their frequencies are learned
# Where queries are limited: the least number of pairs of an adversary at first, and of the first block of a
# confirmation.
_LIMITED_PAIRS = 16
_FEW_LEARNED = 64  # pairs below which simple distinguishers are learned
_EXPLORING = 0.5  # share of a limit for exploring; the rest is for confirmations
_LEVELS_COST = 4  # times the cost of the first games, of those of all levels together
_CHECKED_ROUNDS = 4  # queries in a game of the checks of a learner, about
_LEAST_CALLS = 800  # queries that a limit must leave besides checks


@attrs.frozen(kw_only=True, repr=False)
class OdometerResult(Report):
    """The result of a search against an odometer.

    error: the probability, at most, that a true odometer is refuted. adversary: the play that refutes it, or
    the best one. shortfall: the certified number of nats by which its reports are too small. games: in each
    world, of the confirmation. evidence: in nats. examples: adversaries that were played.
    stopped: the limit that ended the search, or left less to it, "max_calls" or "max_seconds", if one did.
    """

    kind: ClassVar[str] = "odometer"

    learner: Learner
    error: float
    seed: int
    refuted: bool
    adversary: Script
    shortfall: float
    games: int
    evidence: float
    examples: int
    stopped: str = ""

    @property
    def headline(self) -> str:
        name = self.learner.own_name
        if self.refuted:
            return f"{name}: refuted, it reports at least {nats(self.shortfall)} nats too little"
        return f"{name}: nothing found in {self.examples:,} adversaries"

    def document(self) -> Document:
        rows = [
            ("odometer", self.learner.own_name),
            ("claim under test", "P₁(view) ≤ exp(ε(view)) P₀(view), for the ε that it reports"),
            ("tried", f"{self.examples:,} adversaries"),
            ("evidence", f"{self.evidence:.3g} nats on {self.games:,} fresh games in each world"),
            ("seed", str(self.seed)),
            *(("warning", text) for text in self.learner.shortcomings),
        ]
        if self.refuted:
            text = f"the reports are too small by at least {nats(self.shortfall)} nats in some views."
        else:
            text = "no adversary showed that a report is too small. This does not prove privacy."
            text = f"{explain_stop(self.stopped)} {text[0].upper()}{text[1:]}" if self.stopped else text
        chance = f"A true odometer is refuted with a probability of at most {self.error:g}."
        word = "Refuted" if self.refuted else "Nothing found"
        games = write_example_games(self.learner, self.adversary, self.adversary.referee, seed=self.seed)
        parts = [Facts(rows), Conclusion(word, text, chance, self.refuted), Listing(games, "A game:")]
        reading = f"A true odometer is refuted with a probability of at most {self.error:g}"
        name = f"{self.learner.own_name}: loss that it does not report"
        row = BoundRow(name="at least", certified=self.shortfall if self.refuted else 0.0)
        return Document(parts=parts, picture=Picture.of_bounds([row], name, reading))

    def _describe(self) -> dict[str, Any]:
        entries = super()._describe()
        if not self.stopped:
            del entries["stopped"]
        return entries

    def _list_records(self) -> list[dict[str, Any]]:
        return [
            {
                "mechanism": self.learner.own_name,
                "method": self.kind,
                "shortfall": self.shortfall if self.refuted else 0.0,
                "evidence": self.evidence,
                "confidence": 1 - self.error,
                "games": self.games,
                "refuted": self.refuted,
            }
        ]


def search_odometer(
    learner: Learner,
    *,
    error: float = ERROR,
    examples: int = EXAMPLES,
    games: int = GAMES,
    seed: int = 0,
    max_calls: int | None = None,
    max_seconds: float | None = None,
    announce: Callable[[str], None] | None = None,
) -> OdometerResult:
    """Search for queries after which an odometer reports too small a loss, and confirm it on fresh games.

    error: the probability, at most, of refuting a true odometer. examples: adversaries to try. games: in each
    world to confirm one, at most. max_calls, max_seconds: limits, see `audits.runs.limits`; each query of a
    session is a call. With a limit, adversaries that ask little come first, in fewer games. announce: as of
    `audits.search`.

    Raises: InvalidArgument; NothingTested; ProtocolViolation if a reported loss falls; NotConforming.
    """
    check_value("error", error, more_than(0), less_than(1))
    check_value("examples", examples, whole, at_least(1))
    protocol = choose_protocol(learner, None)
    with Limits(max_calls, max_seconds) as limits:
        return _OdometerSearch(learner, protocol, error, games, seed, limits).run(examples, announce)


@attrs.define
class _OdometerSearch:
    """A search, whose limits count each query of a session as a call."""

    learner: Learner
    protocol: str
    error: float
    games: int
    seed: int
    limits: Limits
    tried: int = 0
    curtailed: str = ""  # the limit for which fewer games were played than usual

    def run(self, examples: int, announce: Callable[[str], None] | None) -> OdometerResult:
        """The result. Raises: as `search_odometer`."""
        check_enough(self.learner, self.limits.max_calls, _LEAST_CALLS)
        first = next(SPACES[self.protocol].obvious(self.learner, self.protocol), None)
        best: list[Script] = []
        results: list[tuple[ExPostBetting, Script]] = []
        try:
            with self.limits.end_in_time():
                if first is not None:
                    self._announce(first, examples, announce)
                with _count_queries(_CHECKED_ROUNDS):
                    check_learner_first(self.learner)
                with watch_releases() as releases:
                    best = self._halve_scripts(self._list_scripts(examples))
                for number, script in enumerate(best[:_MOST_CONFIRMED], start=1):
                    share = self.error / (number * (number + 1))
                    results.append((ExPostBetting(confidence=1.0 - share), script))
                    self._confirm(results[-1][0], script, number)
                    if results[-1][0].refuted or self.limits.reached:
                        break
                if results and not (results[-1][0].refuted or self.limits.reached):
                    refuse_same_releases(self.learner, releases)
        except TimeIsOver:
            self.limits.reached = SECONDS
        if not results and self.limits.reached and not self.tried:
            raise NothingTested(
                f"{self.learner.own_name}: {explain_stop(self.limits.reached)} No adversary was played "
                "before. Allow more."
            )
        if not results and not self.limits.reached:
            raise NothingTested(f"{self.learner.own_name} fails in, or declines, all games. Correct it.")
        betting, adversary = max(results, key=lambda result: result[0].log_evidence, default=(None, first))
        refuted = betting is not None and betting.refuted
        assert adversary is not None
        return OdometerResult(
            learner=self.learner,
            error=self.error,
            seed=self.seed,
            refuted=refuted,
            adversary=adversary,
            shortfall=0.0 if betting is None else betting.shortfall,
            games=0 if betting is None else betting.pairs,
            evidence=0.0 if betting is None else betting.log_evidence,
            examples=self.tried,
            stopped="" if refuted else self.limits.reached or self.curtailed,
        )

    def _announce(self, script: Script, examples: int, announce: Callable[[str], None] | None) -> None:
        """Say what the search costs, if that is much."""
        if not self.learner.one_call_a_game:
            return
        few = makes_few_calls(self.learner, inf)
        with _count_queries(script.rounds):
            seconds = time_game(self.learner, script, script.referee, few=few) / max(1, script.rounds)
        pairs = _LEVELS_COST * _FIRST_PAIRS * examples + _MOST_CONFIRMED * self.games
        checks = count_checking_calls(self.learner, few=few)
        announce_cost(self.learner, 2 * pairs * script.rounds, seconds, self.limits, announce, checks=checks)

    def _list_scripts(self, examples: int) -> list[Script]:
        """The adversaries to play: obvious ones, then others; of those, the limits may allow the shortest."""
        obvious = list(SPACES[self.protocol].obvious(self.learner, self.protocol))[: max(1, examples // 2)]
        left = examples - len(obvious)
        drawn = []
        if left:
            drawn = draw_values(adversaries(self.learner, self.protocol), "adversaries", left, key=hash)
        return list(dict.fromkeys([*obvious, *drawn]))

    def _fit(self, scripts: list[Script]) -> tuple[list[Script], int]:
        """The adversaries that limits allow, and the pairs of each at first."""
        pairs = _FIRST_PAIRS
        calls = _EXPLORING * self.limits.estimate_calls_left() if self.limits.given else inf
        each = 2 * _LEVELS_COST * np.array([max(1, script.rounds) for script in scripts])
        while pairs > _LIMITED_PAIRS and pairs * each.sum() > calls:
            pairs //= 2
        if pairs * each.sum() <= calls:
            return scripts, pairs
        order = np.argsort(each, kind="stable")
        kept = order[: max(1, int((pairs * np.cumsum(each[order]) <= calls).sum()))]
        return [scripts[place] for place in sorted(kept)], pairs

    def _halve_scripts(self, scripts: list[Script]) -> list[Script]:
        """The adversaries with the largest evidence, best first: ever fewer play ever more games."""
        left, pairs = self._fit(scripts)
        last = _LAST_PAIRS * pairs // _FIRST_PAIRS
        if len(left) < len(scripts) or pairs < _FIRST_PAIRS:
            self.curtailed = CALLS if self.limits.max_calls is not None else SECONDS
        views: dict[Script, list[ViewCounts]] = {script: [] for script in left}
        growth: dict[Script, float] = {}
        while True:
            for script in left:
                try:
                    for half in range(2):
                        seed = exploring_seed(self.seed, describe(script), pairs, half)
                        views[script].append(self._play(script, pairs // 2, seed))
                except _LimitReached:
                    return sorted(growth, key=lambda script: -growth[script])
                except (PlayerError, *DECLINED) as error:
                    if isinstance(error, PlayerError) and error.player != "learner":
                        raise
                    growth[script] = -inf
                    continue
                finally:
                    self.tried = max(self.tried, len(growth))
                growth[script] = _cross_fit(views[script][0::2], views[script][1::2])
            self.tried = max(self.tried, len(growth))
            left = sorted((script for script in left if growth[script] > -inf), key=lambda s: -growth[s])
            if pairs >= last or not left:
                return left
            left = left[: max(_MOST_CONFIRMED, len(left) // 3)]
            growth = {script: growth[script] for script in left}
            pairs *= 4

    def _play(self, script: Script, pairs: int, seed: int) -> ViewCounts:
        """A block of games. Raises: _LimitReached before games for which the limits do not suffice."""
        reached = self.limits.find_reached(2 * pairs * max(1, script.rounds))
        if reached:
            self.limits.reached = reached
            raise _LimitReached
        with _count_queries(script.rounds):
            block = play_block(_make_plan(self.learner, script, pairs, seed), 0)
        assert isinstance(block, ViewCounts)
        return block

    def _confirm(self, betting: ExPostBetting, script: Script, number: int) -> None:
        """Bet on fresh games until the claim is refuted, or there is little hope or nothing left."""
        few = makes_few_calls(self.learner, inf)
        rounds = max(1, script.rounds)
        size = min(_FIRST_BLOCK, _LIMITED_PAIRS) if self.limits.given else _FIRST_BLOCK
        checks = rounds * count_checking_calls(self.learner, few=few) if self.limits.given else 0
        if reached := self.limits.find_reached(checks + 2 * size * rounds):
            self.limits.reached = reached
            return
        with _count_queries(rounds):
            check_players(_make_plan(self.learner, script, size, confirming_seed(self.seed, number)), few=few)
        seen, learned_from, learned = list[ViewCounts](), 0, None
        while betting.pairs < self.games and not betting.refuted:
            seed = confirming_seed(self.seed, number * 1_000 + len(seen))
            try:
                block = self._play(script, min(size, self.games), seed)
            except _LimitReached:
                return
            betting.update(_read_pairs(block, learned))
            seen.append(block)
            if betting.pairs >= 2 * learned_from:
                # The score may be any function of earlier games, and so may the bets on it.
                learned, learned_from = _learn(seen), betting.pairs
                betting.learn([_read_pairs(views, learned) for views in seen])
            size = min(2 * size, _LARGEST_BLOCK)
            if self.limits.given:
                size = max(1, min(size, int(self.limits.estimate_calls_left() / (2 * rounds))))
            if betting.pairs >= _HOPELESS_PAIRS and betting.log_evidence < _HOPELESS:
                return


class _LimitReached(Exception):
    """The limits do not suffice for the next games."""


@contextmanager
def _count_queries(rounds: int) -> Iterator[None]:
    """Count each game within it as `rounds` calls, one for each query."""
    with count_games() as count:
        yield
    add_games(count.games * (max(1, rounds) - 1))


def reports_loss(learner: Learner) -> bool:
    """Whether its claim is what an odometer reports."""
    return isinstance(learner, ReportsLoss) and learner.odometer is not None


def _cross_fit(first: list[ViewCounts], second: list[ViewCounts]) -> float:
    """The log wealth that bets chosen on either half win on the other, in nats."""
    total = 0.0
    for seen, fresh in ((first, second), (second, first)):
        learned = _learn(seen)
        bets = choose_bets(join_pairs([_read_pairs(views, learned) for views in seen]))
        for views in fresh:
            block = _read_pairs(views, learned)
            total += sum(float(bet.log_growth(block)[0]) for bet in bets)
    return total


def _learn(blocks: list[ViewCounts]) -> Any:
    views = join_views(blocks)
    if views.pairs < _FEW_LEARNED:
        return learn_from_few(views)
    return learn_distinguisher([views]) if len(views.rows) <= _FEW_VIEWS else learn_reply_ratios(views)


def _read_pairs(views: ViewCounts, learned: Any) -> ExPostPairs:
    """The scores and losses of a block of views; score 0 before anything is learned."""
    scores = np.zeros(len(views.rows)) if learned is None else learned(views)
    losses, deltas = views.columns((LOSS, OF_DELTA)).T
    which = views.which.T
    return ExPostPairs(scores[which], losses[which], deltas[which], views.counts)


def _make_plan(learner: Learner, script: Script, games: int, seed: int) -> Plan:
    return Plan(
        learner=learner,
        adversary=attrs.evolve(script, score=None),
        referee=script.referee,
        epsilon=1.0,  # whose test is not used
        delta=0.0,
        games=games,
        block=games,
        first_block=games,
        seed=seed,
        distinguisher=LEARNED,
    )
