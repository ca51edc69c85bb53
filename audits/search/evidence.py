"""How strongly a few games of an adversary speak against a claim.

The games come in two halves. The event and the stake that would win most on one half are played on the
other, and the other way round. Either is a bet as `audits.statistics.betting` makes it, so under a claim that holds the
wealth has mean at most 1: evidence of x nats has a chance of at most exp(-x), however the event was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from math import ceil, exp, inf, log, log1p, sqrt
from typing import Any

import attrs
import numpy as np

from arena import Adversary, BudgetExceeded, Claim, InvalidArgument, Learner, PlayerError, Referee
from arena.randomness import block_seed, generator
from audits.distinguishers.learned import learn
from audits.distinguishers.view_features import ViewCounts
from audits.runs.blocks import play_block
from audits.runs.plan import LEARNED, Plan, describe
from audits.search.score import Score, simple_scores
from audits.statistics.betting import Betting
from audits.statistics.score_pairs import PairCounts

_THRESHOLDS = 24  # a feature
_MOST_FEATURES = 160
_MOST_VIEWS = 1_024  # beyond so many different views, counting them teaches nothing
_MILDER = (1.0, 0.5, 0.25, 0.0)  # of ε: claims that are refuted on the way to the one under test
_ENOUGH = 4.0  # standard deviations
_LEAST = 0.5  # standard deviations, below which bets are not worth working out
# How many times the games, and by how many standard deviations the claim has to fail for more to be played.
_STAGES = {"first": (1, 1.5), "more": (8, 2.5), "most": (64, inf)}
_BEYOND_DOUBT = 32.0  # nats
_FAULT_SHARE = 8  # games that are played alone are fewer
DECLINED = (InvalidArgument, BudgetExceeded)  # it takes no such sample or point, or not so many rounds


@attrs.frozen(kw_only=True)
class Contest:
    """Whom adversaries are weighed against.

    claim: under test; finite ε in nats. pairs: games in each world that are played of each adversary.
    seed: with the adversary it settles every coin.
    """

    learner: Learner
    claim: Claim
    pairs: int
    seed: int

    @staticmethod
    def enough_pairs(epsilon: float) -> int:
        """As many pairs as show a clear leak at `epsilon`: at best each is worth log(1 + exp(-ε)) nats."""
        return min(max(256, 2 * ceil(24.0 / log1p(exp(-epsilon)))), 4_096)


@attrs.frozen(kw_only=True)
class Evidence:
    """What games said.

    nats: the log of the wealth won against the claim, at least 0.
    climb: what a search climbs: `nats`, and below them how far the games tell the worlds apart at all.
    doubts: by how many standard deviations, at the event that was chosen, the claim fails.
    score: the simple score that was bet on, or None if it was a learned one or nothing was bet.
    games: played in each world. faults: the adversary saw that the learner fails.
    """

    nats: float
    climb: float
    doubts: float
    score: Score | None
    games: int
    faults: bool


Halves = tuple[ViewCounts, ViewCounts]


def weigh(contest: Contest, adversary: Adversary, referee: Referee) -> Evidence:
    """Play an adversary and weigh the games; where the first are promising, on more games.

    Raises: whatever `arena.play` raises but the learner's own errors: they become part of the view. A game
    that the learner declines in both worlds raises what it is declined with.
    """
    found: Evidence | None = None
    for stage, (more, promising) in _STAGES.items():
        halves, faults = play_halves(contest, adversary, referee, pairs=more * contest.pairs, stage=stage)
        before = 0 if found is None else found.games
        found = weighed(halves, contest.claim, faults=faults)
        found = attrs.evolve(found, games=found.games + before)
        if found.doubts < promising or found.nats > _BEYOND_DOUBT:
            break
    assert found is not None
    return found


def play_halves(
    contest: Contest, adversary: Adversary, referee: Referee, *, pairs: int, stage: str
) -> tuple[Halves, bool]:
    """Two halves of `pairs` pairs of games as views, and whether the learner's failures are among what
    they show. The coins depend on the contest's seed, the adversary and the stage."""
    plan = Plan(
        learner=contest.learner,
        adversary=adversary,
        referee=referee,
        epsilon=contest.claim.epsilon,
        delta=contest.claim.delta,
        games=2 * max(1, pairs // 2),
        block=2 * max(1, pairs // 2),
        seed=exploring_seed(contest.seed, stage, describe(adversary, modules=True)),
        distinguisher=LEARNED,
    )
    try:
        return _halves(plan), False
    except (PlayerError, *DECLINED) as error:
        if isinstance(error, PlayerError) and error.player != "learner":
            raise
        fewer = max(1, pairs // (2 * _FAULT_SHARE))
        halves = _halves(attrs.evolve(plan, faults=True, games=2 * fewer, block=2 * fewer))
        # To decline a game in both worlds tells nobody anything; to decline it in one gives it away.
        if isinstance(error, DECLINED) and all(half.columns(("failed",)).all() for half in halves):
            raise
        return halves, True


def _halves(plan: Plan) -> Halves:
    """One block dealt out, which costs half of what two blocks do."""
    block = play_block(plan, 0)
    assert isinstance(block, ViewCounts)
    first, second = _dealt(block, generator(block_seed(plan.seed, 1)))
    return _alone(first), _alone(second)


def exploring_seed(seed: int, *purpose: object) -> int:
    """A seed for games that a search explores with: even."""
    return 2 * _hashed(seed, *purpose)


def confirming_seed(seed: int, number: int) -> int:
    """The seed of confirmation `number`: odd, so that none of its games was seen before."""
    return 2 * _hashed(seed, "confirm", number) + 1


def _hashed(*parts: object) -> int:
    return int.from_bytes(sha256(repr(parts).encode()).digest()[:7], "big")


# --- weighing ---------------------------------------------------------------------------------------------


def weighed(
    halves: Halves, claim: Claim, *, faults: bool = False, scores: Sequence[Score] | None = None
) -> Evidence:
    """The evidence in two halves of games.

    scores: the simple scores to bet on, without a learned one; None: all that there are, and a learned one.
    """
    there, back = (
        _Crossed.of(*pair, claim, simple_scores(pair[0]) if scores is None else scores, scores is None)
        for pair in (halves, halves[::-1])
    )
    z = (there.doubts + back.doubts) / sqrt(2.0)
    nats = 0.0
    if z[0] > _LEAST:
        nats = float(np.logaddexp(there.wealth(claim), back.wealth(claim)) - log(2.0))
    milder = float(np.clip(z[1:], 0.0, _ENOUGH).sum() / _ENOUGH)
    return Evidence(
        nats=max(nats, 0.0),
        climb=milder + max(nats, 0.0),
        doubts=float(z[0]),
        score=there.score,
        games=sum(half.pairs for half in halves),
        faults=faults,
    )


@attrs.frozen(eq=False)
class _Crossed:
    """The best event of one half, and how it does on the other.

    doubts: on the other half, (levels,), by how many standard deviations each milder claim fails at the event
    that was best against it. score: the simple score of the event against the claim itself.
    seen, fresh: (2, k) and (2, l), in which pairs the game of either world is in that event, in the half it
    was chosen on and in the other; and how often these pairs occurred.
    """

    doubts: np.ndarray
    score: Score | None
    seen: np.ndarray
    seen_counts: np.ndarray
    fresh: np.ndarray
    fresh_counts: np.ndarray

    @classmethod
    def of(
        cls, chosen_on: ViewCounts, other: ViewCounts, claim: Claim, scores: Sequence[Score], learning: bool
    ) -> _Crossed:
        folds = _folds(chosen_on)
        chosen_on = attrs.evolve(
            chosen_on,
            which=np.concatenate([fold.which for fold in folds]),
            counts=np.concatenate([fold.counts for fold in folds]),
        )
        sides = [_Side.of_score(score, chosen_on, other) for score in scores[:_MOST_FEATURES]]
        if learning and 1 < len(chosen_on.rows) <= min(_MOST_VIEWS, chosen_on.pairs):
            sides.append(_Side.learned(folds, chosen_on, other))
        return cls._best(sides, chosen_on.counts, other.counts, claim)

    @classmethod
    def _best(cls, sides: list[_Side], counts: np.ndarray, others: np.ndarray, claim: Claim) -> _Crossed:
        events = [side.events() for side in sides]
        thresholds = np.concatenate([*events, np.zeros(0)])
        if not len(thresholds):
            nothing = np.zeros((2, 0), bool), np.zeros(0, np.int64)
            return cls(np.zeros(len(_MILDER)), None, *nothing, *nothing)
        owner = np.repeat(np.arange(len(sides)), [len(event) for event in events])
        inside = [side.inside(event) for side, event in zip(sides, events, strict=True)]
        found = _doubts(np.concatenate(inside, axis=2), counts, claim)
        best = found.reshape(len(_MILDER), -1).argmax(axis=1)
        event, way = np.divmod(best, 4)
        fresh = np.concatenate([sides[owner[e]].inside_other(thresholds[e]) for e in event], axis=2)
        levels = np.arange(len(_MILDER))
        side = sides[owner[event[0]]]
        return cls(
            _doubts(fresh, others, claim)[levels, levels, way],
            side.score,
            side.inside(thresholds[event[0]])[:, :, 0],
            counts,
            fresh[:, :, 0],
            others,
        )

    def wealth(self, claim: Claim) -> float:
        """The log wealth that the bets chosen on the one half win on the other."""
        # Only ε = 0 and the claim's own are bet against, which costs next to nothing.
        betting = Betting(delta=claim.delta, confidence=0.5, epsilon_claim=claim.epsilon, epsilon_max=0.0)
        for inside, counts in ((self.seen, self.seen_counts), (self.fresh, self.fresh_counts)):
            betting.update(PairCounts.of(inside[0], inside[1], counts))
        return float(betting.log_wealth[-1])


@attrs.frozen(eq=False)
class _Side:
    """A score's values for the pairs of both halves.

    Shapes: here (2, k), row b the games of world b; there (2, l).
    """

    score: Score | None
    here: np.ndarray
    there: np.ndarray

    @classmethod
    def of_score(cls, score: Score, chosen_on: ViewCounts, other: ViewCounts) -> _Side:
        return cls(score, *(score.column(half)[half.which].T for half in (chosen_on, other)))

    @classmethod
    def learned(cls, folds: Halves, chosen_on: ViewCounts, other: ViewCounts) -> _Side:
        """Views by how often they were seen in either world; those of either fold of the half by what the
        other fold teaches, since a view that taught looks better than it is."""
        scores = [learn([folds[1 - k]])(fold)[fold.which].T for k, fold in enumerate(folds)]
        return cls(None, np.concatenate(scores, axis=1), learn([chosen_on])(other)[other.which].T)

    def events(self) -> np.ndarray:
        """(e,): thresholds that cut the values in two."""
        values = np.unique(self.here)[1:]
        if len(values) > _THRESHOLDS:
            values = values[np.linspace(0, len(values) - 1, _THRESHOLDS).astype(int)]
        return values

    def inside(self, thresholds: Any) -> np.ndarray:
        """(2, k, e): where the values are at or above the thresholds."""
        return self.here[:, :, None] >= thresholds

    def inside_other(self, thresholds: Any) -> np.ndarray:
        """(2, l, e): the same in the other half."""
        return self.there[:, :, None] >= thresholds


def _folds(half: ViewCounts) -> Halves:
    """The pairs of a half dealt out to two folds, by coins that are always the same."""
    return _dealt(half, generator(block_seed(0, 0)))


def _dealt(views: ViewCounts, rng: np.random.Generator) -> Halves:
    """The pairs dealt out in two equal parts, which keep all rows."""
    dealt = rng.multivariate_hypergeometric(views.counts, views.pairs // 2)

    def part(counts: np.ndarray) -> ViewCounts:
        return attrs.evolve(views, which=views.which[counts > 0], counts=counts[counts > 0])

    return part(dealt), part(views.counts - dealt)


def _alone(views: ViewCounts) -> ViewCounts:
    """The same pairs without rows that none of them has."""
    seen, place = np.unique(views.which, return_inverse=True)
    return attrs.evolve(views, rows=views.rows[seen], which=place.reshape(views.which.shape))


def _doubts(inside: np.ndarray, counts: np.ndarray, claim: Claim) -> np.ndarray:
    """By how many standard deviations P_gain(E) - e^ε P_loss(E) - δ is above 0, with half a game added to
    every count.

    Shapes: inside (2, k, e), counts (k,); result (levels, e, 4): E gaining in world 1, in world 0; not E.
    """
    pairs = counts.sum()
    weights = counts.astype(float)
    hits = np.stack([weights @ world for world in inside])  # (2, e)
    both = weights @ (inside[0] & inside[1])
    every = np.stack([hits, pairs - hits])
    overlap = np.stack([both, pairs - hits.sum(axis=0) + both])[:, None] / (pairs + 1)
    loss = (every + 0.5) / (pairs + 1)
    gain = loss[:, ::-1]
    factor = np.exp(claim.epsilon * np.array(_MILDER))[:, None, None, None]
    mean = gain - factor * loss - claim.delta
    variance = gain * (1 - gain) + factor**2 * loss * (1 - loss) - 2 * factor * (overlap - gain * loss)
    doubts = mean / np.sqrt(np.maximum(variance, 0.5 / pairs) / pairs)
    # An event before its likes: of those that do as well, the one of the score that is read first is chosen.
    return np.moveaxis(doubts.reshape(len(_MILDER), 4, -1), 1, 2)
