"""Bounds from guesses at a fixed number of games: what they say, how often too much, and how sharp."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.statistical import check_errors, expect_rejection, most_errors, statistical

from arena.errors import InvalidArgument
from audits.statistics.guess_counts import GuessCounter, GuessRules, count_choosing, count_coins
from audits.statistics.score_pairs import PairCounts
from tests.audits.statistics.test_betting import E, Law, response

AUDITS, FEWER = 1_400, 200
RATE = 1e-7
LEVEL = 0.2


def bound(scores: np.ndarray, *, kind: type[GuessCounter] = GuessCounter, **settings: Any) -> float:
    """The bound from scores (2, n), of which the first tenth chooses."""
    pairs = scores.shape[1]
    counter = kind(**{"delta": 0.0, "confidence": 0.95, "seed": 0, **settings}, games=pairs)
    for part in np.split(scores, [count_choosing(pairs)], axis=1):
        counter.update(PairCounts.of(*part))
    return counter.epsilon_lower or 0.0


# --- what it says -------------------------------------------------------------------------------------------


def test_perfect_separation_gives_the_bound_of_the_definition() -> None:
    """Three rules are always right; the one that guesses every game has the largest share of the error."""
    counter = GuessCounter(delta=0.0, confidence=0.9, games=1_000, seed=3)
    for pairs in (100, 900):
        counter.update(PairCounts.of(np.zeros(pairs), np.ones(pairs)))
    assert counter.rules is not None
    ends = map(tuple, counter.rules.guesses[:, [0, -1]].tolist())
    shares = dict(zip(ends, counter.rules.shares, strict=True))
    limit = 1 / (1 + math.exp(-(counter.epsilon_lower or 0)))
    coins = count_coins(900)
    assert stats.binom.sf(coins - 1, coins, limit) == pytest.approx(0.1 * shares[-1, 1])
    assert counter.epsilon_lower == counter.ceiling


def test_delta_excuses_right_guesses() -> None:
    """The event occurs in 0.02 of the games of one world: δ = 0.01 explains half of them, and 1e-9 none."""
    scores = np.stack([np.zeros(1_000), (np.arange(1_000) % 50 == 0).astype(float)])
    none, few, many = (bound(scores, delta=delta) for delta in (0.0, 1e-9, 0.01))
    assert none == pytest.approx(few, abs=0.02)
    assert none > 0.9 > many == 0.0


@pytest.mark.parametrize("flip", [1, -1])
@pytest.mark.parametrize("swap", [1, -1])
def test_either_end_and_either_direction_is_found(flip: int, swap: int) -> None:
    """One event in a quarter of the games of one world, and never in the other."""
    scores = np.stack([np.zeros(1_000), np.arange(1_000) % 4 == 0]) * float(flip)
    assert bound(scores[::swap]) > 3


def test_rules_do_not_look_at_the_worlds(rng: np.random.Generator) -> None:
    scores = rng.normal(size=(2, 200)).round(1)
    exchanged = np.where(rng.random(200) < 0.5, scores, scores[::-1])
    rules, same = (GuessRules.of(PairCounts.of(*each)) for each in (scores, exchanged))
    assert (rules.guesses == same.guesses).all()
    assert (rules.edges == same.edges).all()
    assert rules.shares.sum() == pytest.approx(1)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("score", [0.0, math.inf, -math.inf])
def test_constant_scores_show_nothing_and_infinite_ones_are_scores(score: float, paired: bool) -> None:
    assert bound(np.full((2, 100), score), paired=paired) == 0.0
    assert bound(np.stack([np.full(100, -math.inf), np.full(100, math.inf)]), paired=paired) > 3


def test_too_few_games_or_blocks_show_nothing() -> None:
    counter = GuessCounter(delta=0.0, confidence=0.9, games=1, seed=0)
    assert counter.epsilon_lower is None
    counter.update(PairCounts.of(np.zeros(1), np.ones(1)))
    assert counter.epsilon_lower is None
    counter.update(PairCounts.of(np.zeros(1), np.ones(1)))
    assert counter.epsilon_lower == 0.0


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"delta": -0.1}, "delta must be at least 0"),
        ({"confidence": 1.0}, "confidence must be less than 1"),
        ({"games": 0}, "games must be at least 1"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, float], rule: str) -> None:
    with pytest.raises(InvalidArgument, match=rule):
        GuessCounter(**{"delta": 0.0, "confidence": 0.9, "games": 10, **options}, seed=0)  # type: ignore[arg-type]


# --- how often it says too much -----------------------------------------------------------------------------


class Forgetful(GuessCounter):
    """Forgets δ."""

    def __init__(self, *, delta: float, **options: Any) -> None:
        super().__init__(delta=0.0, **options)


class Reusing(GuessCounter):
    """Gives each rule the whole error."""

    def update(self, block: PairCounts) -> None:
        super().update(block)
        if self.rules is not None:
            self.rules.shares[:] = 1.0


LAWS = {
    "identical worlds": Law(0.0, 0.0, lambda rng, shape: rng.normal(size=(2, *shape))),
    "randomised response": Law(1.0, 0.0, response(1 / (1 + E), E / (1 + E))),
    "response with delta": Law(1.0, 0.2, response(0.8 / (1 + E), 1 - 0.8 / (1 + E))),
    "leak at rate delta": Law(0.0, 0.3, response(0.0, 0.3)),
    "a rare event": Law(1.0, 0.0, response(0.02, 0.02 * E)),
    "an event of one end": Law(math.log(3), 0.0, response(0.2, 0.6)),
    "Laplace": Law(1.0, 0.0, lambda rng, shape: rng.laplace([[[0.0]], [[1.0]]], 1.0, (2, *shape))),
    "coupled response": Law(1.0, 0.0, response(1 / (1 + E), E / (1 + E), coupled=True)),
    "coupled Laplace": Law(
        1.0, 0.0, lambda rng, shape: rng.laplace(size=shape) + np.array([0.0, 1.0])[:, None, None]
    ),
}


def errors(
    law: str,
    rng: np.random.Generator,
    *,
    pairs: int,
    audits: int = AUDITS,
    epsilon: float | None = None,
    **more: Any,
) -> int:
    """In how many audits the bound exceeds ε, by default the truth; counted until they are too many."""
    found, played = 0, LAWS[law]
    truth = played.epsilon if epsilon is None else epsilon
    for audit, scores in enumerate(played.draw(rng, (audits, pairs)).transpose(1, 0, 2)):
        settings = {
            "delta": played.delta,
            "confidence": 1 - LEVEL,
            "paired": "coupled" in law,
            "seed": audit,
        }
        found += bound(scores, **{**settings, **more}) > truth + 1e-9
        if found > most_errors(audits, LEVEL, RATE):
            break
    return found


@pytest.mark.thorough
@statistical(rate=RATE)
@pytest.mark.parametrize("pairs", [12, 300])
@pytest.mark.parametrize("law", LAWS)
def test_the_bound_errs_no_more_often_than_it_says(law: str, pairs: int, rng: np.random.Generator) -> None:
    """At 1,400 audits and level 0.2 more than 0.257 are rejected."""
    check_errors(errors(law, rng, pairs=pairs), AUDITS, level=LEVEL, rate=RATE)


@pytest.mark.thorough
@statistical(rate=RATE)
@pytest.mark.parametrize("law", ["randomised response", "Laplace", "coupled response", "coupled Laplace"])
def test_a_claim_a_third_below_the_truth_is_refuted(law: str, rng: np.random.Generator) -> None:
    """From 1,000 games, in nearly all of 200 audits: an honest test of a true claim would err in a fifth."""
    with expect_rejection("errors in"):
        check_errors(errors(law, rng, pairs=1_000, audits=FEWER, epsilon=0.67), FEWER, level=LEVEL, rate=RATE)


@pytest.mark.thorough
@statistical(rate=RATE)
@pytest.mark.parametrize(
    ("kind", "law"),
    [
        (Forgetful, "leak at rate delta"),
        pytest.param(Reusing, "identical worlds", marks=pytest.mark.thorough),
    ],
)
def test_bounds_that_forget_delta_or_spend_the_error_on_each_rule_are_caught(
    kind: type[GuessCounter], law: str, rng: np.random.Generator
) -> None:
    with expect_rejection("errors in"):
        check_errors(errors(law, rng, pairs=400, kind=kind), AUDITS, level=LEVEL, rate=RATE)


# --- how sharp it is ----------------------------------------------------------------------------------------


def test_a_thousand_games_show_a_small_loss(rng: np.random.Generator) -> None:
    """N(0, 1) and N(0.268, 1): ε = 1 at δ = 1e-5. No single event known beforehand certifies more than 0.122
    by Clopper-Pearson at the numbers to expect."""
    bounds = [bound(rng.normal([[0.0], [0.268]], 1.0, (2, 1_000)), delta=1e-5) for _ in range(60)]
    assert 0.15 < np.median(bounds) < 0.3


def test_common_random_numbers_save_games(rng: np.random.Generator) -> None:
    """The Laplace mechanism at ε = 0.1."""
    noise = 10 * rng.laplace(size=(2, 3_000))
    together = bound(np.stack([noise[0], noise[0] + 1]), paired=True)
    apart = bound(np.stack([noise[0], noise[1] + 1]))
    assert 0.06 < together < 0.1
    assert apart < 0.06
