"""Evidence against a claim in a few games of one adversary.

The event and the stake that would win most on one half of the games are bet on the other half, and the other
way round. Under a true claim evidence of x nats has probability at most exp(−x): docs/proofs/search.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from hashlib import sha256
from math import expm1, inf, log, sqrt

import attrs
import numpy as np

from arena import BudgetExceeded, Claim, InvalidArgument, Learner, PlayerError
from arena.engine import iterate_in_time
from arena.randomness import block_seed, generator
from audits.adversary_search.score import OWN_SCORE, Score, simple_scores
from audits.adversary_search.script import SPACES, Script
from audits.distinguishers.learned_distinguisher import (
    learn_distinguisher,
    learn_entry_ratios,
    learn_reply_ratios,
    list_replies,
    regress_on_entry_ratios,
)
from audits.distinguishers.view_classifiers import Distinguisher
from audits.distinguishers.view_features import ViewCounts, is_single, join_views
from audits.runs.blocks import play_block, try_common_random_numbers, uses_common_random_numbers
from audits.runs.plan import LEARNED, SCORE, Plan, describe
from audits.statistics.betting import Betting, list_curve_points
from audits.statistics.score_pairs import PairCounts

_MAX_THRESHOLDS = 24  # of one score
_MANY_VALUES = 512  # distinct values, from which on rare events have enough games
_TAILS = 0.5 ** np.arange(5, 9)  # shares of games in rare events, of sessions and of adversaries' scores
_MAX_SCORES = 160
_MAX_ENTRIES = 256  # of a release, whose log ratios are learned
_MAX_VIEWS = 1_024  # distinct views above which their frequencies are not learned
_FEWEST_LEARNED = 64  # pairs from which log ratios of replies are learned
_MIN_Z = 0.5  # z-score below which bets are not computed
# Stages: a factor of the number of games, and the z-score that is needed to go on to the next stage.
_STAGES = (("first", 1.0, 1.5), ("more", 8.0, 2.5), ("most", 64.0, inf))
# Where games are calls, far fewer come first, and a stage adds to the games of those before it.
_CALL_STAGES = (
    ("few", 1 / 8, 0.5),
    ("some", 0.5, 1.0),
    ("first", 2.0, 1.5),
    ("more", 8.0, 2.0),
    ("most", 32.0, inf),
)
_CONCLUSIVE, _ENOUGH = 32.0, 12.0  # nats; where games are calls
_FIRST_ROUNDS = 2**17  # rounds of an adversary's first games in each world; long games are played less often
_MIN_PAIRS = 64
_WITHIN_REACH = 2.0  # nats that so many games can win against the largest ε they are weighed against
# Pairs for which it pays to try common random numbers, and to learn from views that are all different.
_MANY_PAIRS = 1_024
_FAULT_FACTOR = 8  # fewer games where they are played one by one
DECLINED = (InvalidArgument, BudgetExceeded)  # the learner accepts no such sample, point or number of rounds


@attrs.frozen(kw_only=True)
class SearchTarget:
    """What adversaries are weighed against. claim: under test, with finite ε. pairs: games in each world to
    begin with. seed: with the adversary, whose class and field names enter, it determines all coins. bits:
    whether last bits of numbers count, which tell of floating point only."""

    learner: Learner
    claim: Claim
    pairs: int
    seed: int
    bits: bool = False

    @property
    def few(self) -> int:
        """The pairs with which an adversary is weighed first."""
        return max(2, int(self.pairs * self.stages[0][1]))

    @property
    def stages(self) -> tuple[tuple[str, float, float], ...]:
        """Name, factor of `pairs`, and the z-score that is needed to go on to the next stage."""
        return _CALL_STAGES if self.learner.one_call_a_game else _STAGES


@attrs.frozen(kw_only=True)
class Evidence:
    """The evidence in the games of one adversary.

    nats: the log wealth won against the claim, at least 0. z: by how many standard deviations the claim fails
    at the chosen event. score: the simple score that was bet on, if any. games: played in each world. faults:
    whether the adversary saw failures of the learner. changed: with common random numbers, the share of games
    whose view the other world changes; else None. fresh: played last. halves: the games, if they are calls.
    """

    nats: float
    z: float
    score: Score | None
    games: int
    faults: bool
    changed: float | None = None
    fresh: int = attrs.field(default=0, eq=False, repr=False)
    halves: Halves | None = attrs.field(default=None, eq=False, repr=False)


Halves = tuple[ViewCounts, ViewCounts]


def weigh_adversary(
    target: SearchTarget, script: Script, may_play: Callable[[int], bool] = lambda pairs: True
) -> Evidence:
    """Play an adversary and weigh the games; play more games while the evidence is promising.

    may_play: whether so many pairs may be added to the first ones. Raises: as `arena.play`; the learner's
    errors only if it fails in, or declines, every game in both worlds."""
    games, evidence = 0, None
    calls = target.learner.one_call_a_game
    for stage, factor, promising in target.stages:
        pairs = max(2, int(limit_pairs(script, target.pairs, _FIRST_ROUNDS) * factor))
        if evidence is not None and not may_play(pairs):
            break
        evidence = weigh_games(target, script, pairs=pairs, stage=stage, before=evidence if calls else None)
        games += evidence.fresh
        if evidence.z < promising or evidence.nats > (_ENOUGH if calls else _CONCLUSIVE):
            break
    assert evidence is not None
    return attrs.evolve(evidence, games=games, fresh=games, halves=evidence.halves if calls else None)


def weigh_games(
    target: SearchTarget, script: Script, *, pairs: int, stage: str, before: Evidence | None = None
) -> Evidence:
    """The evidence in `pairs` pairs of games, which are the same for the same stage, and in those before."""
    halves, faults = play_halves(target, script, pairs=pairs, stage=stage)
    fresh = sum(half.pairs for half in halves)
    if before is not None and before.halves is not None and before.faults == faults:
        first, second = (join_views(both) for both in zip(before.halves, halves, strict=True))
        halves = first, second
    changed = None
    if not faults and uses_common_random_numbers(_make_plan(target, script, 2, stage)):
        differ = sum(int(half.counts[half.which[:, 0] != half.which[:, 1]].sum()) for half in halves)
        changed = differ / sum(half.pairs for half in halves)
    more = partial(SPACES[script.protocol].list_scores, bits=target.bits)
    evidence = weigh_halves(halves, target.claim, faults=faults, changed=changed, more=more)
    within_reach = -log(expm1(_WITHIN_REACH / evidence.games))
    if evidence.changed != 0 and target.claim.epsilon > within_reach > 0:
        # Too few games to exceed the claim, so that they show by how much a smaller one fails.
        smaller = attrs.evolve(target.claim, epsilon=within_reach, curve=None)
        easier = weigh_halves(halves, smaller, faults=faults, changed=changed, more=more)
        evidence = attrs.evolve(evidence, z=max(evidence.z, easier.z), score=easier.score)
    return attrs.evolve(evidence, fresh=fresh, halves=halves)


def limit_pairs(script: Script, pairs: int, rounds: int) -> int:
    """At most `pairs` pairs of games, with at most so many `rounds` in each world but at least 64 pairs."""
    return min(pairs, max(_MIN_PAIRS, rounds // max(1, script.rounds)))


def play_halves(target: SearchTarget, script: Script, *, pairs: int, stage: str) -> tuple[Halves, bool]:
    """Two halves of `pairs` pairs of games as views, and whether the learner's failures are part of them."""
    plan = _make_plan(target, script, 2 * max(1, pairs // 2), stage)
    try:
        if pairs >= _MANY_PAIRS:
            plan = attrs.evolve(plan, learner=try_common_random_numbers(plan.learner, script, script.referee))
        return _play_block_in_halves(plan), False
    except (PlayerError, *DECLINED) as error:
        if isinstance(error, PlayerError) and error.player != "learner":
            raise
        factor = 1 if target.learner.one_call_a_game else _FAULT_FACTOR
        games = 2 * max(1, pairs // (2 * factor))
        fewer = attrs.evolve(plan, faults=True, games=games, block=games, first_block=games)
        halves = _play_block_in_halves(fewer)
        # Failing alike in both worlds reveals nothing; failing in one world reveals the world.
        fails_always = all(half.columns(("failed",)).all() for half in halves)
        views = join_views(halves)
        is_alike = "failed" not in views.names or (views.rows == views.rows[:1]).all()
        if fails_always and is_alike:
            raise
        return halves, True


def _make_plan(target: SearchTarget, script: Script, games: int, stage: str) -> Plan:
    return Plan(
        learner=target.learner,
        adversary=script,
        referee=script.referee,
        epsilon=target.claim.epsilon,
        delta=target.claim.delta,
        games=games,
        block=games,
        first_block=games,
        seed=exploring_seed(target.seed, stage, describe(script)),
        distinguisher=SCORE if script.returns_score else LEARNED,
    )


def _play_block_in_halves(plan: Plan) -> Halves:
    """Play one block and split it, which costs half as much as playing two blocks."""
    block = play_block(plan, 0)
    if isinstance(block, PairCounts):
        scores = np.nan_to_num(block.levels)  # infinite in games that the learner failed
        block = ViewCounts(scores[:, None], block.which, block.counts, (OWN_SCORE,))
    first, second = _halve_pairs(block, generator(block_seed(plan.seed, 1)))
    return first.drop_unused_rows(), second.drop_unused_rows()


def exploring_seed(seed: int, *purpose: object) -> int:
    """A seed for games of an exploration; always even."""
    return 2 * _hash_parts(seed, *purpose)


def confirming_seed(seed: int, number: int) -> int:
    """The seed of confirmation `number`; always odd, so that none of its games was used before."""
    return 2 * _hash_parts(seed, "confirm", number) + 1


def _hash_parts(*parts: object) -> int:
    return int.from_bytes(sha256(repr(parts).encode()).digest()[:7], "big")


def weigh_halves(
    halves: Halves,
    claim: Claim,
    *,
    faults: bool = False,
    scores: Sequence[Score] | None = None,
    changed: float | None = None,
    more: Callable[[ViewCounts], Iterable[Score]] = lambda views: (),
) -> Evidence:
    """The evidence in two halves of games. scores: to bet on; default: all simple ones, `more` and a learned
    one. changed: the share of coupled games that the other world changes, if they are coupled."""
    games = sum(half.pairs for half in halves)
    if changed == 0:
        return Evidence(nats=0.0, z=-inf, score=None, games=games, faults=faults, changed=0.0)
    forward, backward = (
        _CrossFit.of(*pair, claim, _list_scores(pair[0], more) if scores is None else scores, scores is None)
        for pair in (halves, halves[::-1])
    )
    z = (forward.z + backward.z) / sqrt(2.0)
    nats = 0.0
    if z > _MIN_Z:
        nats = float(np.logaddexp(forward.log_wealth(claim), backward.log_wealth(claim)) - log(2.0))
    return Evidence(
        nats=max(nats, 0.0), z=z, score=forward.score, games=games, faults=faults, changed=changed
    )


def _list_scores(views: ViewCounts, more: Callable[[ViewCounts], Iterable[Score]]) -> list[Score]:
    others = [*more(views)]
    return [*simple_scores(views)[: _MAX_SCORES - len(others)], *others]


@attrs.frozen(eq=False)
class _CrossFit:
    """The best event of one half, its simple score, and its z-score on the other. inside: for both halves,
    whether the games of each pair are in the event (2, k), and how often each pair occurs (k,)."""

    z: float
    score: Score | None
    inside: tuple[tuple[np.ndarray, np.ndarray], ...] = ()

    @classmethod
    def of(
        cls, half: ViewCounts, other: ViewCounts, claim: Claim, scores: Sequence[Score], learning: bool
    ) -> _CrossFit:
        folds = _halve_pairs(half, generator(block_seed(0, 0)))  # always in the same way
        which = np.concatenate([fold.which for fold in folds])
        half = attrs.evolve(half, which=which, counts=np.concatenate([fold.counts for fold in folds]))
        candidates: list[Score | None] = [*scores[:_MAX_SCORES]]
        learned: tuple[np.ndarray, np.ndarray] | None = None
        learn = _choose_learning(half) if learning else None
        if learn is not None:
            candidates.append(None)
            # Each fold is scored by the other: a view looks better on its own training data than it is.
            fold_scores = [learn(folds[1 - k])(fold)[fold.which].T for k, fold in enumerate(folds)]
            of_other = learn(half)(other)[other.which].T
            learned = np.concatenate(fold_scores, axis=1), of_other

        def compute(score: Score | None, views: ViewCounts) -> np.ndarray:
            """(2, k): row b for the games of world b. One score at a time, since there may be many games."""
            if score is not None:
                return score.column(views)[views.which].T
            assert learned is not None
            return learned[views is other]

        thresholds, counted = [np.zeros(0)], []
        has_tails = any(map(is_single, half.names))  # several replies together are a rare event more often
        for score in iterate_in_time(candidates):
            values = compute(score, half)
            thresholds.append(_choose_thresholds(values, has_tails or score == Score(OWN_SCORE)))
            counted.append(_count_events(values, thresholds[-1], half.counts))
        every = np.concatenate(thresholds)
        if not len(every):
            return cls(0.0, None)
        hits, both = (np.concatenate(part, axis=-1) for part in zip(*counted, strict=True))
        joined = _z_scores(hits, both, half.pairs, claim)
        owners = np.repeat(np.arange(len(candidates)), [len(each) for each in thresholds[1:]])
        for place, score in enumerate(candidates):
            joined[owners == place] = _discount_fit(joined[owners == place], score)
        event, direction, condition = np.unravel_index(int(joined.argmax()), joined.shape)
        best = candidates[owners[event]]
        inside = [(compute(best, views) >= every[event], views.counts) for views in (half, other)]
        fresh, counts = inside[1]
        hits, both = fresh @ counts, (fresh[0] & fresh[1]) @ counts
        z_fresh = _z_scores(hits[:, None], both[None], other.pairs, claim)[0, direction, condition]
        return cls(float(z_fresh), best, tuple(inside))

    def log_wealth(self, claim: Claim) -> float:
        """The log wealth that bets chosen on the one half win on the other."""
        # The grid holds only ε = 0 and the claim's ε, which costs next to nothing.
        tests = [Betting(delta=claim.delta, confidence=0.5, epsilon_claim=claim.epsilon, epsilon_max=0.0)]
        if claim.curve is not None:
            tests.append(Betting(delta=claim.delta, confidence=0.5, curve=claim.curve, claim_only=True))
        for (world_0, world_1), counts in self.inside:
            block = PairCounts.of(world_0, world_1, counts)
            for betting in tests:
                betting.update(block)
        wealth = [betting.log_wealth_now for betting in tests]
        return float(np.logaddexp.reduce(wealth) - log(len(wealth)))


def _choose_learning(half: ViewCounts) -> Callable[[ViewCounts], Distinguisher] | None:
    """What learns to score views from others: frequencies, if few views are distinct; of replies of sessions
    and of texts, and of releases of several entries, their log ratios, from many games with weights; else
    nothing."""
    if 1 < len(half.rows) <= min(_MAX_VIEWS, half.pairs):
        return lambda views: learn_distinguisher([views])
    if half.pairs >= _FEWEST_LEARNED and len(list_replies(half)) > 1:
        return learn_reply_ratios
    if half.pairs >= _FEWEST_LEARNED and 1 < len(half.names) <= _MAX_ENTRIES:
        return learn_entry_ratios if 2 * half.pairs < _MANY_PAIRS else regress_on_entry_ratios
    return None


def _choose_thresholds(values: np.ndarray, with_tails: bool) -> np.ndarray:
    values = np.unique(values)[1:]
    if len(values) > _MAX_THRESHOLDS:
        places = np.linspace(0, len(values) - 1, _MAX_THRESHOLDS).astype(int)
        if with_tails or len(values) >= _MANY_VALUES:
            tails = np.outer([1, -1], _TAILS * len(values)).astype(int)
            places = np.unique(np.append(places, tails % len(values)))
        values = values[places]
    return values


def _halve_pairs(views: ViewCounts, rng: np.random.Generator) -> Halves:
    """The pairs split at random into two equal parts, which keep all rows."""
    first = rng.multivariate_hypergeometric(views.counts, views.pairs // 2)

    def part(counts: np.ndarray) -> ViewCounts:
        return attrs.evolve(views, which=views.which[counts > 0], counts=counts[counts > 0])

    return part(first), part(views.counts - first)


def _count_events(
    values: np.ndarray, thresholds: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How many pairs (k,) of values (2, k) reach thresholds: by world (2, e), and in both worlds (e,)."""
    levels = np.searchsorted(thresholds, values, side="right")

    def count(level: np.ndarray) -> np.ndarray:
        times = np.bincount(level, weights=counts, minlength=len(thresholds) + 1)
        return np.cumsum(times[::-1])[::-1][1:]

    return np.stack([count(level) for level in levels]), count(levels.min(axis=0))


def _discount_fit(z: np.ndarray, score: Score | None) -> np.ndarray:
    """z-scores less what F fitted weights of a sum add to the square, about F."""
    if score is None or not score.weights:
        return z
    return np.sign(z) * np.sqrt(np.maximum(z**2 - (z > 0) * len(score.weights), 0.0))


@lru_cache(maxsize=64)
def _list_conditions(claim: Claim) -> tuple[np.ndarray, np.ndarray]:
    """ε and δ (M,) each: those of the claim, then those of the points of its curve that say something."""
    own = np.array([claim.epsilon]), np.array([claim.delta])
    if claim.curve is None:
        return own
    epsilons, deltas = list_curve_points(claim.curve)
    return np.append(own[0], epsilons[deltas < 1]), np.append(own[1], deltas[deltas < 1])


def _z_scores(hits: np.ndarray, both: np.ndarray, pairs: int, claim: Claim) -> np.ndarray:
    """By how many standard deviations P_gain(E) − e^ε P_loss(E) − δ is above 0; every count gets half a game.
    Shapes: hits (2, e) by world, both (e,); result (e, 4, M): E in world 1, E in world 0, then not E, at the
    conditions of the claim."""
    counts_by_world = np.stack([hits, pairs - hits])  # (2, 2, e): of the event and of its complement
    overlap = np.stack([both, pairs - hits.sum(axis=0) + both])[:, None] / (pairs + 1)
    loss = (counts_by_world + 0.5) / (pairs + 1)
    gain = loss[:, ::-1]
    epsilons, deltas = _list_conditions(claim)
    factor = np.exp(epsilons)[:, None, None, None]
    mean = gain - factor * loss - deltas[:, None, None, None]
    variance = gain * (1 - gain) + factor**2 * loss * (1 - loss) - 2 * factor * (overlap - gain * loss)
    z = mean / np.sqrt(np.maximum(variance, 0.5 / pairs) / pairs)
    # Events come before directions, so that among equal z-scores the event of the simplest score is chosen.
    return z.reshape(len(factor), 4, -1).transpose(2, 1, 0)
