"""The band: what it certifies at all thresholds at once, how often it is wrong, and what it counts."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.statistical import check_errors, expect_rejection, statistical

from audits.statistics.estimates import EstimatorContext, clopper_pearson
from audits.statistics.estimators.bands import (
    ALPHAS,
    DELTAS,
    EPSILONS,
    Band,
    CountBounds,
    SimultaneousBand,
    ThresholdCounter,
    separation_band,
    trade_off_of_claim,
)
from audits.statistics.score_pairs import PairCounts
from audits.statistics.simultaneous_limits import simultaneous_limits

RATE = 1e-7


def band(scores0: np.ndarray, scores1: np.ndarray, confidence: float = 0.9) -> Band:
    ranks = ThresholdCounter()
    ranks.add(PairCounts.of(scores0, scores1))
    return Band.of(ranks.counts(), confidence=confidence)


@pytest.fixture
def laplace(rng: np.random.Generator) -> Band:
    return band(*rng.laplace([[0.0], [1.0]], 1.0, (2, 5_000)))


# --- limits -------------------------------------------------------------------------------------------------


def test_counts_that_are_not_known_are_read_at_their_worse_end() -> None:
    least, most = np.array([[40], [60]]), np.array([[45], [70]])
    found = Band.of(CountBounds.between(100, np.array([0.0]), least, most), confidence=0.9)
    limits = simultaneous_limits(100, 0.05)
    assert found.lower[:, 1].tolist() == limits.below(least[:, 0]).tolist()
    assert found.upper[:, 1].tolist() == limits.above(most[:, 0]).tolist()
    assert found.lower[:, 0].tolist() == limits.below(100 - most[:, 0]).tolist()
    assert found.upper[:, 0].tolist() == limits.above(100 - least[:, 0]).tolist()


# --- ε and δ ------------------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [0.0, 0.01, 0.5, 1.0])
def test_epsilon_and_delta_are_the_largest_over_events_and_directions(laplace: Band, delta: float) -> None:
    best = 0.0
    for event in range(len(laplace.events)):
        for world in (0, 1):
            gain = laplace.lower[world, event] - delta
            if gain > 0:
                best = max(best, math.log(gain / laplace.upper[1 - world, event]))
    assert laplace.epsilon(delta) == best
    by_world = laplace.lower - math.exp(6 * delta) * laplace.upper[::-1]
    assert laplace.deltas(np.array([6 * delta]))[0] == pytest.approx(max(0.0, by_world.max()))


@pytest.mark.thorough
def test_epsilon_and_delta_are_two_views_of_one_region(laplace: Band) -> None:
    deltas = np.array([0.0, 0.02, 0.1])
    epsilons = laplace.epsilons(deltas)
    assert laplace.deltas(epsilons) == pytest.approx(deltas, abs=1e-12)


def test_a_huge_epsilon_certifies_nothing(laplace: Band) -> None:
    assert laplace.deltas(np.array([1e6, math.inf])).tolist() == [0.0, 0.0]


@settings(max_examples=50)
@given(pairs=st.lists(st.tuples(*[st.sampled_from([-math.inf, 0.0, 1.0, 2.0, math.inf])] * 2), min_size=1))
def test_worlds_and_the_sense_of_scores_do_not_matter(pairs: list[tuple[float, float]]) -> None:
    zero, one = np.array(pairs).T
    found = band(zero, one)
    for other in (band(one, zero), band(-zero, -one)):
        assert other.epsilons(DELTAS) == pytest.approx(found.epsilons(DELTAS), abs=1e-9)
        assert other.deltas(EPSILONS) == pytest.approx(found.deltas(EPSILONS), abs=1e-9)


def test_equal_scores_certify_nothing() -> None:
    found = band(np.ones(100), np.ones(100))
    assert (found.epsilon(0.0), found.deltas(np.zeros(1))[0]) == (0.0, 0.0)
    assert found.trade_off().upper == pytest.approx(1 - ALPHAS)


def test_infinite_scores_are_events_like_others() -> None:
    found = (band(np.zeros(100), np.repeat([0.0, high], [60, 40])) for high in (1.0, math.inf))
    assert len({each.epsilon(0.0) for each in found}) == 1


def test_perfect_separation_is_the_ceiling() -> None:
    best = band(np.zeros(50), np.ones(50))
    limits = simultaneous_limits(50, 0.05)
    expected = math.log(float(limits.below(np.array(50)) / limits.above(np.array(0))))
    separated = separation_band(games=50, confidence=0.9)
    assert separated.epsilon(0.0) == best.epsilon(0.0) == pytest.approx(expected)


# --- the trade-off ------------------------------------------------------------------------------------------


def test_the_certified_curve_is_the_lower_hull_of_its_points(laplace: Band) -> None:
    """By brute force: at each α, the least of all chords between points on either side of it."""
    curve = laplace.trade_off(epsilon=1.0)
    alpha, beta = laplace.errors(laplace.upper)
    x, y = np.concatenate([alpha, [0.0, 1.0]]), np.concatenate([beta, [1.0, 0.0]])
    for at in (0.05, 0.3, 0.8):
        left, right = x <= at, x > at
        share = (at - x[left][:, None]) / (x[right] - x[left][:, None])
        chords = (1 - share) * y[left][:, None] + share * y[right]
        assert curve.upper[curve.alpha == at] == pytest.approx(chords.min())


def test_the_curves_fall_and_are_convex(laplace: Band) -> None:
    curve = laplace.trade_off(epsilon=1.0, delta=0.01)
    for values in (curve.estimate, curve.upper, curve.allowed):
        assert values is not None
        slopes = np.diff(values) / np.diff(curve.alpha)
        assert (slopes <= 1e-9).all()
        assert (np.diff(slopes) >= -1e-6).all()
    assert (curve.upper[0], curve.upper[-1]) == (1.0, 0.0)
    assert (curve.upper >= curve.estimate - 1e-12).all()


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_the_curve_dips_below_a_claim_just_where_the_band_refutes_it(laplace: Band, delta: float) -> None:
    bound = laplace.epsilon(delta)
    for claim, refuted in ((bound - 0.02, True), (bound + 0.001, False)):
        curve = laplace.trade_off(epsilon=claim, delta=delta)
        assert curve.allowed is not None
        assert bool((curve.upper < curve.allowed - 1e-12).any()) == refuted


def test_the_claim_s_curve_is_that_of_the_definition() -> None:
    """f(α) is the least β with α and β errors of a test between (ε, δ)-indistinguishable worlds."""
    for alpha, epsilon, delta, beta in (
        ([0.0, 0.1, 0.5, 0.9, 1.0], math.log(2), 0.1, [0.9, 0.7, 0.2, 0.0, 0.0]),
        ([0.0, 0.3, 1.0], 0.0, 0.0, [1.0, 0.7, 0.0]),
        ([0.0, 0.3], math.inf, 0.2, [0.8, 0.0]),
    ):
        assert trade_off_of_claim(np.array(alpha), epsilon=epsilon, delta=delta) == pytest.approx(beta)


# --- blocks -------------------------------------------------------------------------------------------------


def test_blocks_are_counted_together_and_only_the_stated_number_is_read() -> None:
    bands = SimultaneousBand(EstimatorContext(delta=0.0, confidence=0.9, games=40))
    worlds = np.tile([0.0, 1.0], 20), np.tile([1.0, 1.0, 0.0, 2.0], 10)
    for start in range(0, 40, 8):
        assert bands.result() is None
        bands.update(PairCounts.of(*(scores[start : start + 8] for scores in worlds)))
        bands.update(PairCounts.of(np.empty(0), np.empty(0)))
    found = bands.result()
    assert found is not None
    assert (found.lower == band(*worlds).lower).all()
    bands.update(PairCounts.of(np.zeros(1), np.zeros(1)))
    assert bands.result() is None


# --- how often it is wrong ----------------------------------------------------------------------------------

SEEDS, PAIRS, LEVEL = 4_000, 40, 0.1


def honest(counts: CountBounds) -> Band:
    return Band.of(counts, confidence=1 - LEVEL)


def one_world_s_error_in_each(counts: CountBounds) -> Band:
    return Band.of(counts, confidence=1 - 2 * LEVEL)


APART = clopper_pearson(np.arange(PAIRS + 1), PAIRS, LEVEL / 4)


def one_event_at_a_time(counts: CountBounds) -> Band:
    lower, upper = APART
    return Band(counts.pairs, counts.events, counts.least / PAIRS, lower[counts.least], upper[counts.most])


def one_order_statistic_too_low(counts: CountBounds) -> Band:
    found = honest(counts)
    upper = simultaneous_limits(counts.pairs, LEVEL / 2).above(np.maximum(counts.most - 1, 0))
    return Band(found.pairs, found.events, found.estimate, found.lower, upper)


def check_coverage(make: Callable[[CountBounds], Band], rng: np.random.Generator) -> None:
    """Reject if more than 0.126 of 4,000 bands miss a chance; bands that miss at rate 0.155 are accepted with
    probability 1e-7."""
    missed = 0
    for scores in rng.normal(size=(SEEDS, 2, PAIRS)):
        at = np.sort(scores, axis=None)
        # Just above each score, where the limits are tightest from below, and at it.
        at = np.sort(np.concatenate([at, np.nextafter(at, np.inf)]))
        below = np.stack([np.searchsorted(np.sort(world), at, side="left") for world in scores])
        found = make(CountBounds.between(PAIRS, at, below, below))
        chance = np.concatenate([stats.norm.sf(at), stats.norm.cdf(at)])
        missed += bool(((chance < found.lower) | (chance > found.upper)).any())
    check_errors(missed, SEEDS, level=LEVEL, rate=RATE)


@pytest.mark.thorough
@statistical(rate=RATE)
def test_the_band_misses_no_more_often_than_it_says(rng: np.random.Generator) -> None:
    check_coverage(honest, rng)


@pytest.mark.thorough
@statistical(rate=RATE)
@pytest.mark.parametrize(
    "make", [one_world_s_error_in_each, one_event_at_a_time, one_order_statistic_too_low]
)
def test_bands_that_miss_more_often_are_caught(
    make: Callable[[CountBounds], Band], rng: np.random.Generator
) -> None:
    """They miss at rates of about 0.19, 0.7 and 0.3 or more."""
    with expect_rejection("errors in"):
        check_coverage(make, rng)


ANY = st.floats(allow_nan=False)
BLOCKS = st.lists(st.lists(st.tuples(ANY, ANY), max_size=20), max_size=5)


def under(scores: np.ndarray, counts: CountBounds) -> np.ndarray:
    """How many of the scores (2, n) fall into each event, by hand."""
    upper = (scores[:, :, None] >= counts.events.thresholds).sum(axis=1)
    return np.concatenate([upper, scores.shape[1] - upper], axis=1)


def counter_of(scores: np.ndarray, blocks: int) -> ThresholdCounter:
    ranks = ThresholdCounter()
    for part in np.array_split(scores, blocks, axis=1):
        ranks.add(PairCounts.of(*part))
    return ranks


@pytest.mark.thorough
@given(blocks=BLOCKS)
def test_few_scores_are_counted_exactly_at_every_threshold(blocks: list[list[tuple[float, float]]]) -> None:
    ranks = ThresholdCounter()
    for block in blocks:
        ranks.add(PairCounts.of(*np.array(block, dtype=float).reshape(-1, 2).T))
    scores = np.array([pair for block in blocks for pair in block], dtype=float).reshape(-1, 2).T
    counts = ranks.counts()
    assert counts.pairs == ranks.pairs == scores.shape[1]
    assert counts.events.thresholds.tolist() == np.unique(scores + 0.0)[1:].tolist()
    assert (counts.least == under(scores, counts)).all()
    assert (counts.most == counts.least).all()


def test_many_scores_are_counted_between_two_numbers(rng: np.random.Generator) -> None:
    """Scores that drift, so that thresholds come up late and in the middle of bins."""
    scores = rng.normal([[0.0], [1.0]], 1.0, (2, 20_000)) * np.geomspace(3, 0.01, 20_000)
    counts = counter_of(scores, 40).counts()
    true = under(scores, counts)
    assert (counts.least <= true).all()
    assert (true <= counts.most).all()
    assert (counts.least < counts.most).any()


def test_the_two_numbers_are_close_in_every_tail(rng: np.random.Generator) -> None:
    scores = rng.laplace(0.0, 1.0, (2, 100_000))
    counts = counter_of(scores, 100).counts()
    gap = counts.most - counts.least
    assert (gap / (counts.most + 1)).max() <= 1 / 16
    assert (gap == 0).mean() > 0.9


def test_a_new_extreme_is_exact(rng: np.random.Generator) -> None:
    """Nothing lay beyond it before."""
    first, last = rng.normal(size=(2, 5_000)), rng.normal(size=(2, 500))
    last[0, 0], last[1, 0] = 50.0, -50.0
    ranks = ThresholdCounter()
    for scores in (first, last):
        ranks.add(PairCounts.of(*scores))
    counts = ranks.counts()
    far = int(np.flatnonzero(counts.events.thresholds == 50.0)[0])
    assert counts.least[:, far].tolist() == counts.most[:, far].tolist() == [1, 0]


def test_memory_is_flat(rng: np.random.Generator) -> None:
    ranks, sizes = ThresholdCounter(), []
    for _ in range(100):
        ranks.add(PairCounts.of(*rng.normal(size=(2, 2_000))))
        sizes.append(len(pickle.dumps(ranks)))
    assert max(sizes) < 1.5 * sizes[10]
