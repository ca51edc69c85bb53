"""The search for a play in which an odometer reports too small a loss: its claim depends on the view.

Orders of queries are played by successive halving, and the best is confirmed on fresh games by bets that
weigh each view by the loss that it holds (docs/proofs/ex_post.md).
"""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar

import attrs
import numpy as np

from arena import Learner, NothingTested, PlayerError
from arena.engine import watch_releases
from arena.referees.session import ReportsLoss
from arena.referees.session_replies import LOSS, OF_DELTA
from arena.settings import at_least, check_value, less_than, more_than, whole
from audits.adversary_search.evidence import DECLINED, confirming_seed, exploring_seed
from audits.adversary_search.script import SPACES, Script
from audits.adversary_search.script_strategies import adversaries, choose_protocol
from audits.data.drawn_values import draw_values
from audits.distinguishers.learned_distinguisher import learn_distinguisher, learn_reply_ratios
from audits.distinguishers.view_features import ViewCounts, join_views
from audits.reports.formatting import nats
from audits.reports.plots import BoundRow, Picture
from audits.reports.report import Conclusion, Document, Facts, Listing, Report
from audits.runs.blocks import check_players, play_block
from audits.runs.example_games import write_example_games
from audits.runs.learner_failures import check_learner_first
from audits.runs.plan import LEARNED, Plan, describe
from audits.runs.same_releases import refuse_same_releases
from audits.statistics.ex_post import ExPostBetting, ExPostPairs, choose_bets, join_pairs

ERROR = 1e-6
EXAMPLES, GAMES = 60, 20_000
_FIRST_PAIRS, _LAST_PAIRS = 128, 2_048  # of an adversary while exploring
_FIRST_BLOCK, _LARGEST_BLOCK = 64, 1_024  # pairs, of a confirmation
_HOPELESS_PAIRS, _HOPELESS = 4_096, 1.0  # after which so many nats are not worth more games
_MOST_CONFIRMED = 3  # adversaries
_FEW_VIEWS = 64  # distinct ones, up to which their frequencies are learned


@attrs.frozen(kw_only=True, repr=False)
class OdometerResult(Report):
    """The result of a search against an odometer.

    error: the probability, at most, that a true odometer is refuted. adversary: the play that refutes it, or
    the best one. shortfall: the certified number of nats by which its reports are too small. games: in each
    world, of the confirmation. evidence: in nats. examples: adversaries that were played.
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
        chance = f"A true odometer is refuted with a probability of at most {self.error:g}."
        word = "Refuted" if self.refuted else "Nothing found"
        games = write_example_games(self.learner, self.adversary, self.adversary.referee, seed=self.seed)
        parts = [Facts(rows), Conclusion(word, text, chance, self.refuted), Listing(games, "A game:")]
        reading = f"A true odometer is refuted with a probability of at most {self.error:g}"
        name = f"{self.learner.own_name}: loss that it does not report"
        row = BoundRow(name="at least", certified=self.shortfall if self.refuted else 0.0)
        return Document(parts=parts, picture=Picture.of_bounds([row], name, reading))

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
    learner: Learner, *, error: float = ERROR, examples: int = EXAMPLES, games: int = GAMES, seed: int = 0
) -> OdometerResult:
    """Search for queries after which an odometer reports too small a loss, and confirm it on fresh games.

    error: the probability, at most, of refuting a true odometer. examples: adversaries to try. games: in each
    world to confirm one, at most. Raises: InvalidArgument; NothingTested; ProtocolViolation if a reported
    loss falls; NotConforming.
    """
    check_value("error", error, more_than(0), less_than(1))
    check_value("examples", examples, whole, at_least(1))
    protocol = choose_protocol(learner, None)
    check_learner_first(learner)
    obvious = list(SPACES[protocol].obvious(learner, protocol))[: max(1, examples // 2)]
    left = examples - len(obvious)
    drawn = draw_values(adversaries(learner, protocol), "adversaries", left, key=hash) if left else []
    scripts = list(dict.fromkeys([*obvious, *drawn]))
    with watch_releases() as releases:
        best = _halve_scripts(learner, scripts, seed)
    if not best:
        raise NothingTested(f"{learner.own_name} fails in, or declines, all games. Correct it.")
    results = []
    for number, script in enumerate(best[:_MOST_CONFIRMED], start=1):
        share = error / (number * (number + 1))
        betting = _confirm(learner, script, share, games, seed, number)
        results.append((betting, script))
        if betting.refuted:
            break
    if not results[-1][0].refuted:
        refuse_same_releases(learner, releases)
    betting, script = max(results, key=lambda result: result[0].log_evidence)
    return OdometerResult(
        learner=learner,
        error=error,
        seed=seed,
        refuted=betting.refuted,
        adversary=script,
        shortfall=betting.shortfall,
        games=betting.pairs,
        evidence=betting.log_evidence,
        examples=len(scripts),
    )


def reports_loss(learner: Learner) -> bool:
    """Whether its claim is what an odometer reports."""
    return isinstance(learner, ReportsLoss) and learner.odometer is not None


def _halve_scripts(learner: Learner, scripts: list[Script], seed: int) -> list[Script]:
    """The adversaries with the largest evidence, best first, by ever more games for ever fewer of them."""
    pairs, left = _FIRST_PAIRS, list(scripts)
    views: dict[Script, list[ViewCounts]] = {script: [] for script in scripts}
    growth: dict[Script, float] = {}
    while True:
        for script in left:
            try:
                for half in range(2):
                    plan = _make_plan(
                        learner, script, pairs // 2, exploring_seed(seed, describe(script), pairs, half)
                    )
                    views[script].append(play_block(plan, 0))  # type: ignore[arg-type]
            except (PlayerError, *DECLINED) as error:
                if isinstance(error, PlayerError) and error.player != "learner":
                    raise
                growth[script] = -inf
                continue
            growth[script] = _cross_fit(views[script][0::2], views[script][1::2])
        left = sorted((script for script in left if growth[script] > -inf), key=lambda s: -growth[s])
        if pairs >= _LAST_PAIRS or not left:
            return left
        left = left[: max(_MOST_CONFIRMED, len(left) // 3)]
        pairs *= 4


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


def _confirm(
    learner: Learner, script: Script, error: float, games: int, seed: int, number: int
) -> ExPostBetting:
    betting, seen, size = ExPostBetting(confidence=1.0 - error), list[ViewCounts](), _FIRST_BLOCK
    check_players(_make_plan(learner, script, _FIRST_BLOCK, confirming_seed(seed, number)))
    learned_from = 0
    learned: Any = None
    while betting.pairs < games and not betting.refuted:
        index = len(seen)
        plan = _make_plan(learner, script, min(size, games), confirming_seed(seed, number * 1_000 + index))
        block = play_block(plan, 0)
        assert isinstance(block, ViewCounts)
        betting.update(_read_pairs(block, learned))
        seen.append(block)
        if betting.pairs >= 2 * learned_from:
            # The score may be any function of earlier games, and so may the bets on it.
            learned, learned_from = _learn(seen), betting.pairs
            betting.learn([_read_pairs(views, learned) for views in seen])
        size = min(2 * size, _LARGEST_BLOCK)
        if betting.pairs >= _HOPELESS_PAIRS and betting.log_evidence < _HOPELESS:
            break
    return betting


def _learn(blocks: list[ViewCounts]) -> Any:
    views = join_views(blocks)
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
