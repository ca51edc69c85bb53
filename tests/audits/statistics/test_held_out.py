"""The held-out bound: what counts, what it says, and how often it says too much."""

from __future__ import annotations

import contextlib
import math
import pickle
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.statistical import check_errors, expect_rejection, most_errors, statistical

from arena.errors import InvalidArgument
from audits.statistics.estimators.held_out import HeldOutEstimator
from audits.statistics.score_pairs import EVERYTHING, Event, PairCounts
from tests.audits.statistics.test_betting import E, Law, response

SEEDS = 1_400
RATE = 1e-7
LEVEL = 0.2


def bits(zeros_ones: tuple[int, int], ones_zeros: tuple[int, int]) -> PairCounts:
    """Binary scores: (how often 0, how often 1) in world 0, and (how often 1, how often 0) in world 1."""
    return PairCounts.of(np.repeat([0.0, 1.0], zeros_ones), np.repeat([1.0, 0.0], ones_zeros))


# --- what it says -------------------------------------------------------------------------------------------


def test_the_bound_is_the_classical_one_on_the_games_held_out() -> None:
    test = HeldOutEstimator(delta=0.01, confidence=0.95, choose_pairs=100)
    test.update(bits((70, 30), (80, 20)))
    test.update(bits((35, 15), (40, 10)))
    test.update(bits((35, 15), (30, 20)))
    bound = test.bound
    assert bound is not None
    # The first block shows `score < 1` 3.5 times as often in world 0, `score >= 1` 2.7 times in world 1.
    assert (bound.event, bound.world, bound.pairs, bound.hits) == (Event(1.0, upper=False), 0, 100, (70, 30))
    # The definition: at the limit, so many hits or more (or so many or fewer) have probability a/2.
    assert stats.binom.sf(69, 100, bound.p_lower) == pytest.approx(0.025)
    assert stats.binom.cdf(30, 100, bound.q_upper) == pytest.approx(0.025)
    assert bound.epsilon_lower == math.log((bound.p_lower - 0.01) / bound.q_upper) == test.epsilon_lower


@pytest.mark.parametrize("flip", [False, True])
@pytest.mark.parametrize("swap", [False, True])
def test_event_and_direction_follow_the_scores(flip: bool, swap: bool) -> None:
    """One-sided leak: only one event in one direction is rare in the other world."""
    worlds = [np.zeros(500), np.repeat([0.0, 1.0], 250)]
    worlds = [1 - scores if flip else scores for scores in worlds]
    test = HeldOutEstimator(delta=0.0, confidence=0.99, choose_pairs=500)
    for _ in range(2):
        test.update(PairCounts.of(*(worlds[::-1] if swap else worlds)))
    bound = test.bound
    assert bound is not None
    assert (bound.event.upper, bound.world) == (not flip, 0 if swap else 1)
    assert bound.hits == ((250, 0) if swap else (0, 250))
    assert bound.p_lower == pytest.approx(stats.beta.ppf(0.005, 250, 251))
    assert bound.q_upper == pytest.approx(1 - 0.005 ** (1 / 500))


def test_perfect_separation_gives_the_bound_of_theory() -> None:
    test = HeldOutEstimator(delta=1e-5, confidence=0.999, choose_pairs=5_000)
    for _ in range(10):
        test.update(bits((5_000, 0), (5_000, 0)))
    limit = 0.0005 ** (1 / 45_000)
    assert test.epsilon_lower == pytest.approx(math.log((limit - 1e-5) / (1 - limit)))


# --- what counts --------------------------------------------------------------------------------------------


def test_whole_blocks_choose_until_there_are_enough_pairs() -> None:
    test = HeldOutEstimator(delta=0.0, confidence=0.9, choose_pairs=250)
    held_out = []
    for _ in range(5):
        test.update(bits((60, 40), (60, 40)))
        held_out.append(None if test.bound is None else test.bound.pairs)
    # As long as blocks still choose, the last one is what there is to count.
    assert held_out == [None, 100, 100, 100, 200]


def test_blocks_choose_all_but_one_if_they_must() -> None:
    test = HeldOutEstimator(delta=0.0, confidence=0.9, choose_pairs=10**9)
    for block in [bits((90, 10), (90, 10))] * 3 + [bits((80, 20), (85, 15))]:
        test.update(block)
    assert test.bound is not None
    assert test.bound.hits == (20, 85)


def test_looking_changes_nothing() -> None:
    watched, unwatched = (HeldOutEstimator(delta=0.0, confidence=0.9, choose_pairs=150) for _ in range(2))
    for block in [bits((50, 50), (90, 10)), bits((90, 10), (50, 50)), bits((70, 30), (70, 30))]:
        watched.update(block)
        unwatched.update(block)
        assert watched.epsilon_lower is None or watched.epsilon_lower >= 0
    assert watched.bound == unwatched.bound


def test_the_guess_at_what_follows_tells_how_rare_an_event_to_choose() -> None:
    """A threefold ratio on a third of the games, or a hundredth that the other world never shows."""
    world0 = np.repeat([0.0, 1.0], [9_000, 1_000])
    world1 = np.repeat([0.0, 1.0, 2.0], [6_900, 3_000, 100])
    chosen = []
    for pairs in (300, 1_000_000):
        test = HeldOutEstimator(delta=0.0, confidence=0.95, choose_pairs=1, held_out_pairs=pairs)
        for _ in range(2):
            test.update(PairCounts.of(world0, world1))
        assert test.bound is not None
        chosen.append(test.bound.event.threshold)
    assert chosen == [1.0, 2.0]


@pytest.mark.parametrize("score", [0.0, math.inf, -math.inf])
def test_constant_scores_show_nothing_and_infinite_ones_are_scores(score: float) -> None:
    constant, apart = (HeldOutEstimator(delta=0.0, confidence=0.9, choose_pairs=1) for _ in range(2))
    for _ in range(3):
        constant.update(PairCounts.of(np.full(100, score), np.full(100, score)))
        apart.update(PairCounts.of(np.full(100, -math.inf), np.full(100, math.inf)))
    assert constant.epsilon_lower == 0.0
    assert constant.bound is not None
    assert constant.bound.event == EVERYTHING
    assert (apart.epsilon_lower or 0) > 3


def test_one_block_and_no_games_show_nothing() -> None:
    test = HeldOutEstimator(delta=0.0, confidence=0.9, choose_pairs=1)
    for pairs in (0, 1, 0):
        test.update(bits((pairs, 0), (0, pairs)))
        assert test.epsilon_lower is None
    test.update(bits((1, 0), (0, 1)))
    assert test.epsilon_lower == 0.0


def test_memory_is_flat(rng: np.random.Generator) -> None:
    test = HeldOutEstimator(delta=0.0, confidence=0.9, choose_pairs=1_000)
    sizes = []
    for _ in range(20):
        test.update(PairCounts.of(rng.normal(0, 1, 1_000), rng.normal(1, 1, 1_000)))
        sizes.append(len(pickle.dumps(test)))
    assert max(sizes[1:]) < 1_000


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"delta": -0.1}, "delta must be at least 0"),
        ({"confidence": 1.0}, "confidence must be less than 1"),
        ({"choose_pairs": 0}, "choose_pairs must be at least 1"),
        ({"held_out_pairs": 0}, "held_out_pairs must be at least 1"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, float], rule: str) -> None:
    with pytest.raises(InvalidArgument, match=rule):
        HeldOutEstimator(**{"delta": 0.0, "confidence": 0.9, "choose_pairs": 1, **options})  # type: ignore[arg-type]


# --- how often it says too much -----------------------------------------------------------------------------


class Forgetful(HeldOutEstimator):
    """Forgets δ."""

    def __init__(self, *, delta: float, **options: Any) -> None:
        super().__init__(delta=0.0, **options)


class Generous(HeldOutEstimator):
    """Spends the allowed rate of errors twice."""

    def __init__(self, *, confidence: float, **options: Any) -> None:
        super().__init__(confidence=1 - 2 * (1 - confidence), **options)


class Reusing(HeldOutEstimator):
    """Counts the games on which it chose."""

    def update(self, block: PairCounts) -> None:
        super().update(block)
        super().update(block)


LAWS = {
    "identical worlds": Law(0.0, 0.0, lambda rng, shape: rng.normal(size=(2, *shape))),
    "randomised response": Law(1.0, 0.0, response(1 / (1 + E), E / (1 + E))),
    "response with delta": Law(1.0, 0.2, response(0.8 / (1 + E), 1 - 0.8 / (1 + E))),
    "leak at rate delta": Law(0.0, 0.3, response(0.0, 0.3)),
    "Laplace": Law(1.0, 0.0, lambda rng, shape: rng.laplace([[[0.0]], [[1.0]]], 1.0, (2, *shape))),
}


def errors(
    law: Law,
    rng: np.random.Generator,
    *,
    pairs: int,
    kind: type[HeldOutEstimator] = HeldOutEstimator,
    blocks: int = 2,
) -> int:
    """In how many of `SEEDS` audits the bound exceeds the truth; counted until they are too many."""
    found = 0
    for scores in law.draw(rng, (SEEDS, pairs)).transpose(1, 0, 2):
        test = kind(delta=law.delta, confidence=1 - LEVEL, choose_pairs=1)
        for block in np.split(scores, blocks, axis=1):
            test.update(PairCounts.of(*block))
        found += (test.epsilon_lower or 0.0) > law.epsilon
        if found > most_errors(SEEDS, LEVEL, RATE):
            break
    return found


def check_bounds(found: int, *, level: float = LEVEL) -> None:
    """At 1,400 audits and level 0.2 more than 0.257 are rejected; a test that errs at rate 0.3 is missed with
    probability 3e-4."""
    check_errors(found, SEEDS, level=level, rate=RATE)


@pytest.mark.thorough
@statistical(rate=RATE)
@pytest.mark.parametrize("pairs", [4, 200])
@pytest.mark.parametrize("law", LAWS)
def test_the_bound_errs_no_more_often_than_it_says(law: str, pairs: int, rng: np.random.Generator) -> None:
    check_bounds(errors(LAWS[law], rng, pairs=pairs))


@pytest.mark.thorough
@statistical(rate=RATE)
@pytest.mark.parametrize(
    ("kind", "law", "blocks"),
    [
        (Forgetful, "response with delta", 2),
        (Forgetful, "leak at rate delta", 2),
        pytest.param(Reusing, "identical worlds", 1, marks=pytest.mark.thorough),
    ],
)
def test_bounds_that_forget_delta_or_reuse_games_are_caught(
    kind: type[HeldOutEstimator], law: str, blocks: int, rng: np.random.Generator
) -> None:
    """They err at rates of about 0.7, 1 and 0.6."""
    with expect_rejection("errors in"):
        check_bounds(errors(LAWS[law], rng, pairs=400, kind=kind, blocks=blocks))


@pytest.mark.thorough
@statistical(rate=2 * RATE)
@pytest.mark.parametrize("kind", [HeldOutEstimator, Generous])
def test_each_limit_errs_at_half_the_rate(kind: type[HeldOutEstimator], rng: np.random.Generator) -> None:
    """World 0 always scores 0, world 1 scores 1 at rate δ, so that ε = 0 and only one limit can be wrong.

    The honest bound errs at rate 0.095, the other one at 0.19; above 0.137 is rejected.
    """
    found, pairs, delta = 0, 20_000, 0.3
    for first, second in rng.binomial(pairs, delta, (SEEDS, 2)):
        test = kind(delta=delta, confidence=1 - LEVEL, choose_pairs=1)
        for ones in (first, second):
            test.update(PairCounts.of(np.zeros(2), np.array([0.0, 1.0]), np.array([pairs - ones, ones])))
        found += (test.epsilon_lower or 0.0) > 0
    with expect_rejection("errors in") if kind is Generous else contextlib.nullcontext():
        check_bounds(found, level=LEVEL / 2)
