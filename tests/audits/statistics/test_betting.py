"""The betting test: its wealth, its bets, its bound, its power, and how often it is wrong."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.statistical import Rejected, check_errors, expect_rejection, statistical

from arena.errors import InvalidArgument
from audits.statistics.bets import Bets, kelly_stakes, single_returns
from audits.statistics.betting import Betting, _pairs_between_choices, ceiling, ceilings
from audits.statistics.score_pairs import PairCounts

E = math.e


def betting(**options: Any) -> Betting:
    return Betting(**{"delta": 0.0, "confidence": 0.95, "epsilon_max": 3.0, **options})


def perfect_separation(pairs: int) -> PairCounts:
    return PairCounts.of(np.array([0.0]), np.array([1.0]), np.array([pairs]))


def constant(pairs: int, score: float = 0.0) -> PairCounts:
    return PairCounts.of(np.full(pairs, score), np.full(pairs, score))


# --- the wealth ---------------------------------------------------------------------------------------------


def find_bets(test: Betting, bettor: int = 0) -> Bets | None:
    """The bets on events of the bettor of this index."""
    bets = dict(test._bets).get(bettor)
    assert bets is None or isinstance(bets, Bets)
    return bets


def find_part(bets: Bets | None, index: int) -> tuple[int, int] | None:
    """The column of the bet that serves an ε of the grid, and the index of the ε that it is against."""
    if bets is None or not bets.span.start <= index < bets.span.stop:
        return None
    ends = bets.span.start + np.cumsum(bets.parts) - 1
    part = int(np.searchsorted(ends, index))
    return part, int(ends[part])


class Gambler:
    """The wealth by its definition: one pair at a time, one λ, an event in one direction or in each."""

    def __init__(self, test: Betting, bettor: int, *, delta: float, index: int) -> None:
        self.test, self.bettor, self.delta, self.index = test, bettor, delta, index
        self.wealth = 1.0

    def play(self, pairs: Sequence[tuple[float, float]]) -> None:
        bets = find_bets(self.test, self.bettor)
        part = find_part(bets, self.index)
        if bets is None or part is None:
            return
        scale = math.exp(self.test.hypotheses.epsilons[part[1]])
        events = [bets.events[int(event)] for event in bets.couples[bets.couple[part[0]]]]
        factors = np.exp(bets.log_factors[:, part[0]])
        # In cell 6 the game of world 0 is in the first event and that of world 1 in the second: all is lost.
        stake = 1 - factors[6]
        directions = next(
            directions
            for directions in ((0,), (1,), (0, 1))
            if all(
                factors[cell] == pytest.approx(self.multiply(stake, scale, directions, *kinds), abs=1e-12)
                for cell, kinds in ((4, ((1, 0), (0, 0))), (2, ((0, 0), (0, 1))))
            )
        )
        for pair in pairs:
            first, second = ([(v >= event.threshold) == event.upper for v in pair] for event in events)
            factor = self.multiply(stake, scale, directions, first, second)
            assert factor > 0
            self.wealth *= factor

    def multiply(
        self,
        stake: float,
        scale: float,
        directions: Sequence[int],
        first: Sequence[float],
        second: Sequence[float],
    ) -> float:
        """The factor of the wealth by a pair; scale: e^ε; first, second: the events, by world."""
        won = (first[1] - scale * first[0], second[0] - scale * second[1])
        total = sum(won[direction] - self.delta for direction in directions)
        return 1 + stake * total / (len(directions) * (scale + self.delta))


few = st.sampled_from([-math.inf, 0.0, 1.0, 2.0, math.inf])
pair_lists = st.lists(st.tuples(few, few), max_size=12)


@pytest.mark.thorough
@given(
    blocks=st.lists(pair_lists, max_size=5), delta=st.sampled_from([0.0, 1e-5, 0.3]), log_ratios=st.booleans()
)
def test_wealth_is_that_of_gamblers_who_bet_pair_by_pair(
    blocks: list[list[tuple[float, float]]], delta: float, log_ratios: bool
) -> None:
    test = betting(delta=delta, epsilon_claim=0.375, epsilon_max=1.0, log_ratios=log_ratios)
    claim = int(np.searchsorted(test.hypotheses.epsilons, 0.375))
    indices = [0, claim - 1, claim, len(test.hypotheses.epsilons) - 1]
    assert (test.hypotheses.epsilons[claim], test.hypotheses.epsilons[-1]) == (0.375, 1.0)
    gamblers = [
        [Gambler(test, bettor, delta=delta, index=i) for bettor in ((0, 1) if log_ratios else (0,))]
        for i in indices
    ]
    highest = [1.0] * len(indices)
    for pairs in blocks:
        for group in gamblers:
            for gambler in group:
                gambler.play(pairs)
        test.update(PairCounts.of(*np.array(pairs, dtype=float).reshape(-1, 2).T))
        averages = [sum(gambler.wealth for gambler in group) / len(group) for group in gamblers]
        highest = [max(h, a) for h, a in zip(highest, averages, strict=True)]
        assert np.exp(test.log_wealth[indices]) == pytest.approx(averages)
    assert np.exp(test._peak[indices]) == pytest.approx(highest)


def test_nothing_is_bet_on_the_first_block() -> None:
    test = betting(epsilon_claim=0.0)
    test.update(perfect_separation(10**6))
    assert not test.log_wealth.any()
    assert (test.epsilon_lower, test.log_evidence, test.refuted) == (0.0, 0.0, False)


def test_bets_come_from_earlier_blocks_alone() -> None:
    """Whatever the second block holds, it meets the same bets."""
    bets = []
    for second in (perfect_separation(40), constant(40)):
        test = betting()
        test.update(perfect_separation(40))
        bets.append(find_bets(test))
        test.update(second)
    assert bets[0] is not None
    assert bets[1] is not None
    assert np.array_equal(bets[0].log_factors, bets[1].log_factors)


# --- the verdict --------------------------------------------------------------------------------------------


def test_the_wealth_that_rejects_is_one_over_a() -> None:
    test = betting(confidence=0.99, epsilon_claim=0.0)
    assert test.threshold == pytest.approx(math.log(100))
    test._peak[:] = np.nextafter(test.threshold, 0)
    assert not test.refuted
    test._peak[:] = test.threshold
    assert test.refuted


def test_the_bound_ends_at_the_first_eps_that_stands() -> None:
    test = betting(epsilon_claim=1.005)
    stands = int(np.searchsorted(test.hypotheses.epsilons, 0.7))
    test._peak[:] = test.threshold
    test._peak[stands] = 0.25
    bound = test.hypotheses.epsilons[stands - 1]
    assert (test.epsilon_lower, test.refuted, test.log_evidence) == (bound, False, 0.25)
    test._peak[stands] = test.threshold
    test._peak[test.hypotheses.epsilons > 1.005] = 0.0
    assert (test.epsilon_lower, test.refuted, test.log_evidence) == (1.005, True, test.threshold)
    test._peak[0] = 0.0
    assert (test.epsilon_lower, test.refuted) == (0.0, False)


def test_a_rejection_stands_whatever_follows() -> None:
    test = betting(epsilon_claim=0.5)
    for _ in range(10):
        test.update(perfect_separation(100))
    bound = test.epsilon_lower
    assert test.refuted
    for _ in range(100):
        test.update(constant(1_000))
        test.update(PairCounts.of(np.ones(1_000), np.zeros(1_000)))
    assert test.refuted
    assert test.epsilon_lower >= bound > 0.5


@pytest.mark.parametrize("claim", [0.0, 0.29, 1 / 3, 25.0, math.inf])
def test_the_claim_is_on_the_grid_to_the_last_bit(claim: float) -> None:
    test = betting(epsilon_claim=claim)
    assert claim in test.hypotheses.epsilons
    assert np.all(np.diff(test.hypotheses.epsilons) > 0)
    for _ in range(3):
        test.update(perfect_separation(1_000))
    assert test.refuted == (claim < 3)


def test_without_a_claim_nothing_is_refuted() -> None:
    test = betting()
    for _ in range(3):
        test.update(perfect_separation(1_000))
    assert test.epsilon_lower == 3.0
    assert (test.refuted, test.log_evidence) == (False, 0.0)


@pytest.mark.parametrize("score", [0.0, math.inf, -math.inf])
@pytest.mark.parametrize("size", [1, 50])
def test_constant_scores_show_nothing(score: float, size: int) -> None:
    test = betting(epsilon_claim=0.0)
    for _ in range(20):
        test.update(constant(size, score))
    assert (test.epsilon_lower, test.log_evidence, test.pairs) == (0.0, 0.0, 20 * size)


@pytest.mark.thorough
@pytest.mark.parametrize("scores", [(0.0, 1.0), (-math.inf, math.inf)])
def test_blocks_of_one_pair_and_of_none(scores: tuple[float, float]) -> None:
    test = betting()
    assert test.epsilon_lower == 0.0
    for _ in range(400):
        test.update(PairCounts.of(*np.array([scores]).T))
        test.update(constant(0))
    assert test.pairs == 400
    assert test.epsilon_lower > 2.5


def stream(rng: np.random.Generator, blocks: int = 4) -> list[np.ndarray]:
    """Blocks of scores in which world 1 is more often high, and world 0 more often very low."""
    return [np.round(rng.laplace([[0.0], [1.0]], 1.0, (2, 500))) for _ in range(blocks)]


def wealth_of(blocks: Sequence[np.ndarray], **options: Any) -> np.ndarray:
    test = betting(**options)
    for block in blocks:
        test.update(PairCounts.of(*block))
    return test.log_wealth


def test_only_the_order_of_scores_matters_not_the_world_nor_the_sense(rng: np.random.Generator) -> None:
    blocks = stream(rng)
    wealth = wealth_of(blocks)
    assert np.array_equal(wealth, wealth_of([np.exp(block) for block in blocks]))
    assert wealth == pytest.approx(wealth_of([block[::-1] for block in blocks]))
    assert wealth == pytest.approx(wealth_of([-block for block in blocks]))


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"delta": 1.5}, "delta must be at most 1"),
        ({"delta": math.nan}, "delta must be at least 0"),
        ({"confidence": 0.0}, "confidence must be more than 0"),
        ({"confidence": 1.0}, "confidence must be less than 1"),
        ({"epsilon_claim": -0.1}, "epsilon_claim must be at least 0"),
        ({"epsilon_max": math.inf}, "epsilon_max must be at most 100"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, float], rule: str) -> None:
    with pytest.raises(InvalidArgument, match=rule):
        betting(**options)


# --- the bets -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pairs", [1, 100, 10**6, 10**9])
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.1])
def test_stakes_are_the_best_ones(pairs: float, delta: float, rng: np.random.Generator) -> None:
    """Within a millionth of the growth that bisection finds."""
    rare = pairs * 10.0 ** -rng.uniform(0, 9, 300)
    hits = np.concatenate([np.zeros(50), rare, pairs - rare, pairs * rng.random(300)])
    loss = (hits + 0.5) / (pairs + 1)
    gain = rng.permutation(loss)
    cells = [gain * (1 - loss), loss * (1 - gain), gain * loss, (1 - gain) * (1 - loss)]
    chances = np.stack(cells)[:, :, None]
    returns = single_returns(np.array([0.0, 0.01, 0.3, 1.0, 3.0, 8.0, 20.0]), delta)[:, None, :]
    most = 1 - 0.5 / (pairs + 1)
    stake, growth = kelly_stakes(chances, returns, most)
    low, high = np.zeros_like(stake), np.full_like(stake, most)
    for _ in range(100):
        middle = (low + high) / 2
        rising = (chances * returns / (1 + middle * returns)).sum(axis=0) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    best = (chances * np.log1p(low * returns)).sum(axis=0)
    paying = (chances * returns).sum(axis=0) > 0
    assert paying.any()
    assert np.all(growth[paying] >= (1 - 1e-6) * best[paying])
    assert np.all((stake >= 0) & (stake <= most))
    assert not stake[~paying].any()
    assert np.all(growth[~paying] <= 0)


@pytest.mark.parametrize("pairs", [1, 100, 10**9])
def test_no_stake_risks_more_than_half_an_unseen_game(pairs: int) -> None:
    """However often the worlds were told apart, the next pair may be the other way round."""
    test = betting()
    test.update(perfect_separation(pairs))
    test.update(PairCounts.of(np.ones(1), np.zeros(1)))
    assert test._log_wealth.min() >= math.log(0.5 / (pairs + 1)) - 1e-6
    if pairs > 1:
        assert test._log_wealth.min() < math.log(0.5 / (pairs + 1)) + 1


def test_bets_are_chosen_seldom() -> None:
    ends = np.cumsum(np.full(100_000, 4_096))
    choices = list(_pairs_between_choices(ends))
    assert sum(choices) == ends[-1]
    assert len(choices) < 80
    assert all(late <= 1.2 * early + 4_097 for early, late in pairwise(np.cumsum(choices)))


def test_nothing_overflows_and_memory_is_flat() -> None:
    """Also at ε = 100, and with a thousand million pairs."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        test = Betting(delta=1e-9, confidence=0.999, epsilon_claim=1e4, epsilon_max=100.0)
        for pairs in (1, 10, 10**3, 10**6, 10**9, 10**9):
            test.update(perfect_separation(pairs))
        assert np.all(np.isfinite(test.log_wealth))
        assert math.log(1e9 / 7.6) - 0.5 < test.epsilon_lower < math.log(2e9 / 7.6)
        size = len(pickle.dumps(test))
        for _ in range(500):
            test.update(PairCounts.of(np.ones(100), np.zeros(100)))
        assert np.all(np.isfinite(test.log_wealth))
        assert len(pickle.dumps(test)) < size + 20_000


# --- the ceiling --------------------------------------------------------------------------------------------


@pytest.mark.thorough
@settings(max_examples=30)
@given(sizes=st.lists(st.integers(0, 3_000), max_size=40), delta=st.sampled_from([0.0, 1e-5, 0.1]))
def test_the_ceiling_is_what_perfect_separation_gets(sizes: list[int], delta: float) -> None:
    test = betting(delta=delta, epsilon_max=12.0)
    for pairs in sizes:
        test.update(perfect_separation(pairs))
    found = ceiling(sizes, delta=delta, confidence=0.95, epsilon_max=12.0)
    assert abs(found - test.epsilon_lower) <= 0.01 + 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("sizes", "points", "step"),
    [([4_096] * 120, 0, 0.0), *(([100] * 30 + [50], points, 0.011) for points in (0, 7, 40))],
)
def test_the_course_of_the_ceiling_is_that_of_the_blocks(sizes: list[int], points: int, step: float) -> None:
    """With usual blocks no ceiling is a step of the grid below what is certified."""
    test, bounds = betting(delta=1e-5, epsilon_max=12.0), {}
    for pairs in sizes:
        test.update(perfect_separation(pairs))
        bounds[test.pairs] = test.epsilon_lower
    course = ceilings(sizes, delta=1e-5, confidence=0.95, epsilon_max=12.0, points=points)
    assert len(course) >= min(points, len(sizes))
    assert course[-1][0] == sum(sizes)
    for pairs, bound in course:
        assert bound == pytest.approx(bounds[pairs], abs=step, rel=0)


def test_the_ceiling_of_nothing_is_nothing() -> None:
    assert ceiling([], delta=0.0, confidence=0.9) == 0.0
    assert ceiling([10**6], delta=0.0, confidence=0.9) == 0.0


# --- power --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("continuous", [False, True])
def test_perfect_separation_comes_near_the_limit_of_information(
    continuous: bool, rng: np.random.Generator
) -> None:
    """50,000 pairs cannot certify more than about log(50,000 / 7.6) = 8.8; at least 8.0 must be."""
    test = Betting(delta=1e-5, confidence=0.999)
    for pairs in [4_096] * 12 + [848]:
        noise = rng.random((2, pairs)) if continuous else np.zeros((2, pairs))
        test.update(PairCounts.of(noise[0], noise[1] + 2))
    assert 8.0 <= test.epsilon_lower <= 8.8


def in_growing_blocks(most: int) -> list[int]:
    sizes = [256]
    while sum(sizes) < most:
        sizes.append(min(sum(sizes), 4_096))
    return sizes


def response_at_1(rng: np.random.Generator, pairs: int) -> np.ndarray:
    return (rng.random((2, pairs)) < [[1 / (1 + E)], [E / (1 + E)]]).astype(float)


def laplace_at_1(rng: np.random.Generator, pairs: int) -> np.ndarray:
    return rng.laplace([[0.0], [1.0]], 1.0, (2, pairs))


@pytest.mark.thorough
@statistical(rate=1e-6)
@pytest.mark.parametrize(
    ("law", "claim", "pairs"),
    [
        (response_at_1, 0.5, 2_048),
        (response_at_1, 0.9, 24_576),
        (response_at_1, 0.95, 77_824),
        (laplace_at_1, 0.9, 40_960),
    ],
)
def test_a_false_claim_is_refuted_in_time(
    law: Callable[[np.random.Generator, int], np.ndarray], claim: float, pairs: int, rng: np.random.Generator
) -> None:
    """At a = 1e-6, where ε = 1: of 20 audits at most 8 may come too late.

    The median needs 1,024, 12,288, 38,912 and 20,480 pairs. At least 95% refute within twice as many, and
    then 9 of 20 are late with probability 2e-7. A test whose median needs that many is caught with
    probability 0.75.
    """
    late = 0
    for _ in range(20):
        test = Betting(delta=0.0, confidence=1 - 1e-6, epsilon_claim=claim, epsilon_max=claim)
        for size in in_growing_blocks(pairs):
            test.update(PairCounts.of(*law(rng, size)))
            if test.refuted:  # which stands
                break
        late += not test.refuted
    assert late <= 8


@pytest.mark.slow
@statistical(rate=1e-6)
def test_log_likelihood_ratios_need_fewer_games(rng: np.random.Generator) -> None:
    """Of the same games: at 5%, where a claim of 0.5 needs 180 pairs of Laplace(1), about 130 are enough.

    The ratio of both sums over 80 audits is 0.73, with a standard error of 0.034. A test that makes no use of
    ratios gives 1.
    """
    pairs = {False: 0, True: 0}
    for seed in rng.integers(2**32, size=80):
        for log_ratios in pairs:
            games = np.random.default_rng(seed)
            test = betting(epsilon_claim=0.5, epsilon_max=0.5, log_ratios=log_ratios)
            while not test.refuted:
                outputs = laplace_at_1(games, max(10, test.pairs // 20))
                test.update(PairCounts.of(*np.clip(2 * outputs - 1, -1.0, 1.0)))
            pairs[log_ratios] += test.pairs
    assert pairs[True] < 0.91 * pairs[False]


# --- how often it is wrong ----------------------------------------------------------------------------------

SEEDS = 800
RATE = 1e-7
LEVEL = 0.2
CAP = 20.0


class Peeking(Betting):
    """Chooses its bets on the block they meet."""

    def update(self, block: PairCounts) -> None:
        self._remember(block)
        Betting._choose_bets(self)
        self._play_bets(block)


class Forgetful(Betting):
    """Forgets δ."""

    def __init__(self, *, delta: float, **options: Any) -> None:
        super().__init__(delta=0.0, **options)


class Generous(Betting):
    """Spends a once in each direction: it adds the wealths where it should average them."""

    @property
    def log_wealth(self) -> np.ndarray:
        return super().log_wealth + math.log(2.0)


Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


@attrs.frozen
class Law:
    """Scores (2, seeds, pairs) for which ε, the claim, is the smallest that holds at δ."""

    epsilon: float
    delta: float
    draw: Draw


def response(ones0: float, ones1: float, *, coupled: bool = False) -> Draw:
    chances = np.array([ones0, ones1])[:, None, None]
    return lambda rng, shape: (rng.random((1 if coupled else 2, *shape)) < chances).astype(float)


LAWS = {
    "identical worlds": Law(0.0, 0.0, response(0.5, 0.5)),
    "randomised response": Law(1.0, 0.0, response(1 / (1 + E), E / (1 + E))),
    "the same, games of a pair coupled": Law(1.0, 0.0, response(1 / (1 + E), E / (1 + E), coupled=True)),
    "response with delta": Law(1.0, 0.1, response(0.9 / (1 + E), 1 - 0.9 / (1 + E))),
    "Laplace": Law(1.0, 0.0, lambda rng, shape: rng.laplace([[[0.0]], [[1.0]]], 1.0, (2, *shape))),
}
# Audits of these two show nearly every fault; those of the others are slow.
QUICK = ("identical worlds", "randomised response")
BLOCKS = (60, 140, 200)
TINY = (1,) * 4


@attrs.frozen
class Errors:
    """Over audits of a true claim: how many refute it or bound ε above it, and the final wealth, capped.

    wealth: the mean; of audits that ended early, as if those left out had none.
    """

    audits: int
    wrong: int
    wealth: float


def audit(
    law: Law,
    rng: np.random.Generator,
    *,
    kind: type[Betting] = Betting,
    blocks: Sequence[int] = BLOCKS,
    seeds: int = SEEDS,
    ends: Callable[[Errors], object] | None = None,
) -> Errors:
    """ends: a check of the errors. Neither they nor the wealth can fall, so audits end once it rejects."""
    found = Errors(seeds, 0, 0.0)
    for scores in law.draw(rng, (seeds, sum(blocks))).transpose(1, 0, 2):
        test = kind(
            delta=law.delta,
            confidence=1 - LEVEL,
            epsilon_claim=law.epsilon,
            epsilon_max=1.01 * law.epsilon + 0.0011,  # the grid goes a step beyond the claim
        )
        *earlier, last = np.split(scores, np.cumsum(blocks)[:-1], axis=1)
        for block in earlier:
            test.update(PairCounts.of(*block))
        test._choose_bets = lambda: None  # type: ignore[method-assign]  # on games that will not come
        test.update(PairCounts.of(*last))
        wealth = min(math.exp(test.log_wealth[test.hypotheses.epsilons == law.epsilon][0]), CAP)
        wrong = test.refuted or test.epsilon_lower > law.epsilon
        found = Errors(seeds, found.wrong + wrong, found.wealth + wealth / seeds)
        if ends is not None:
            ends(found)
    return found


def check_rate(found: Errors) -> None:
    """At 800 audits and level 0.2 more than 0.276 are rejected; a rate of 0.34 is missed with probability
    7e-5."""
    check_errors(found.wrong, found.audits, level=LEVEL, rate=RATE)


def check_wealth(found: Errors) -> None:
    """Reject if so large a mean, or larger, has probability RATE at most where the expectation is 1 at most.

    By Hoeffding's inequality for variables within [0, CAP], P(mean >= m) <= exp(-n KL(m/CAP, 1/CAP)):
    from 2.0 on at 800 audits, from 2.7 on at 300 and from 1.8 on at 1,200.
    """
    mean, null = found.wealth / CAP, 1 / CAP
    if mean > null:
        distance = mean * math.log(mean / null) + (1 - mean) * math.log((1 - mean) / (1 - null))
        if found.audits * distance > -math.log(RATE):
            raise Rejected(f"the mean wealth of {found.audits} audits is {found.wealth:.3g}, too much for 1")


@pytest.mark.thorough
@statistical(rate=2 * RATE)
@pytest.mark.parametrize(
    ("law", "blocks"),
    [
        *(pytest.param(law, BLOCKS, marks=() if law in QUICK else pytest.mark.slow) for law in LAWS),
        *(pytest.param(law, TINY, marks=pytest.mark.slow) for law in QUICK),
    ],
)
def test_a_true_claim_stands(law: str, blocks: Sequence[int], rng: np.random.Generator) -> None:
    found = audit(LAWS[law], rng, blocks=blocks)
    check_rate(found)
    check_wealth(found)


@pytest.mark.thorough
@statistical(rate=RATE)
@pytest.mark.parametrize("law", ["identical worlds", pytest.param("Laplace", marks=pytest.mark.slow)])
def test_bets_on_the_block_that_chose_them_are_caught(law: str, rng: np.random.Generator) -> None:
    """Their mean wealth is about 2.4 and 6.6."""
    with expect_rejection("the mean wealth"):
        audit(LAWS[law], rng, kind=Peeking, seeds=800, ends=check_wealth)


@pytest.mark.slow
@statistical(rate=RATE)
def test_errors_alone_tell_too(rng: np.random.Generator) -> None:
    """Bets on the block that chose them refute about 0.42 of true claims."""
    with expect_rejection("errors in"):
        audit(LAWS["Laplace"], rng, kind=Peeking, seeds=500, ends=check_rate)


@pytest.mark.thorough
@statistical(rate=RATE)
def test_a_test_that_forgets_delta_is_caught(rng: np.random.Generator) -> None:
    """Its mean wealth is about 3.5."""
    with expect_rejection("the mean wealth"):
        audit(LAWS["response with delta"], rng, kind=Forgetful, seeds=300, ends=check_wealth)


@pytest.mark.slow
@statistical(rate=RATE)
def test_a_test_that_spends_a_twice_is_caught(rng: np.random.Generator) -> None:
    """Its mean wealth is about 1.95, and hardly varies on so few games."""
    with expect_rejection("the mean wealth"):
        audit(LAWS["randomised response"], rng, kind=Generous, blocks=TINY, seeds=1_200, ends=check_wealth)
