"""Bounds on μ: the formulas, what they certify, and faulty ones that coverage finds out."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtr, ndtri
from support.statistical import check_errors, expect_rejection, statistical

from arena.errors import InvalidArgument
from audits.statistics.estimates import clopper_pearson
from audits.statistics.estimators.bands import Band, CountBounds, ThresholdCounter, mu_lower_of_band
from audits.statistics.estimators.held_out import (
    GaussianBound,
    HeldOutGaussianEstimator,
    delta_if_gaussian,
    epsilon_if_gaussian,
    mu_lower,
)
from audits.statistics.score_pairs import EVERYTHING, Event, PairCounts

RATE = 1e-7


@pytest.mark.parametrize("mu", [0.0, 0.5, 2.0])
def test_mu_is_read_off_any_point_of_its_own_curve(mu: float) -> None:
    alpha = np.array([1e-6, 0.1, 0.9])
    beta = ndtr(-ndtri(alpha) - mu)  # of the trade-off function of N(0, 1) against N(μ, 1)
    assert mu_lower(alpha, 1 - beta) == pytest.approx(np.full(3, mu), abs=1e-6)


def test_mu_is_0_where_a_limit_says_nothing() -> None:
    assert mu_lower(np.array([1.0, 0.1, 0.5]), np.array([0.9, 0.0, 0.4])).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("epsilon", [0.0, 0.7, 3.0])
def test_delta_is_the_hockey_stick_divergence(epsilon: float) -> None:
    def excess(x: float) -> float:
        return max(0.0, stats.norm.pdf(x - 1.5) - math.exp(epsilon) * stats.norm.pdf(x))

    start = epsilon / 1.5 + 0.75  # where the integrand begins
    assert delta_if_gaussian(epsilon, 1.5) == pytest.approx(integrate.quad(excess, start, 12)[0], rel=1e-6)


@pytest.mark.parametrize("mu", [0.01, 1.0, 6.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.1])
def test_epsilon_is_the_inverse_of_delta(mu: float, delta: float) -> None:
    epsilon = epsilon_if_gaussian(delta, mu)
    if epsilon > 0:
        assert delta_if_gaussian(epsilon, mu) == pytest.approx(delta, rel=1e-6)
    else:
        assert delta_if_gaussian(0.0, mu) <= delta


def test_epsilon_at_the_ends() -> None:
    assert {epsilon_if_gaussian(*at) for at in ((0.0, 0.0), (1.0, 5.0), (1e-9, 0.0))} == {0.0}
    assert epsilon_if_gaussian(0.0, 0.5) == math.inf
    assert delta_if_gaussian(1e4, 1.0) == 0.0


@pytest.mark.parametrize(
    ("delta", "mu", "rule"),
    [(-0.1, 1.0, "delta must be at least 0"), (0.1, math.nan, "mu must be at least 0")],
)
def test_wrong_arguments_are_refused(delta: float, mu: float, rule: str) -> None:
    with pytest.raises(InvalidArgument, match=rule):
        epsilon_if_gaussian(delta, mu)


def bits(ones0: int, ones1: int, pairs: int) -> PairCounts:
    return PairCounts.of(*(np.arange(pairs) < ones for ones in (ones0, ones1)))


def test_the_bound_rests_on_the_games_held_out() -> None:
    test = HeldOutGaussianEstimator(confidence=0.9, choose_pairs=100, held_out_pairs=200)
    assert test.bound is None
    test.update(bits(30, 80, 100))
    assert test.bound is None
    for ones in (60, 70):
        test.update(bits(20, ones, 100))
    bound = test.bound
    assert bound is not None
    assert (bound.event, bound.pairs, bound.hits) == (Event(1.0, upper=True), 200, (40, 130))
    assert stats.binom.cdf(40, 200, bound.alpha_upper) == pytest.approx(0.05)
    assert stats.binom.cdf(70, 200, bound.beta_upper) == pytest.approx(0.05)
    assert bound.mu_lower == pytest.approx(
        stats.norm.isf(bound.alpha_upper) - stats.norm.ppf(bound.beta_upper)
    )


def bound_of(block: PairCounts, later: PairCounts) -> GaussianBound:
    """With the event of one block, counted in another."""
    test = HeldOutGaussianEstimator(confidence=0.9, choose_pairs=1, held_out_pairs=block.pairs)
    test.update(block)
    test.update(later)
    bound = test.bound
    assert bound is not None
    return bound


def test_the_direction_follows_the_scores() -> None:
    bound = bound_of(*[bits(80, 30, 100)] * 2)
    assert bound.event == Event(1.0, upper=False)
    assert bound.hits == (20, 70)
    assert bound.mu_lower > 0.5


def test_errors_that_never_occur_are_not_taken_for_impossible() -> None:
    bound = bound_of(*[bits(0, 100, 100)] * 2)
    assert bound.alpha_upper == bound.beta_upper == pytest.approx(1 - 0.05**0.01)
    assert bound.mu_lower == pytest.approx(2 * stats.norm.isf(bound.alpha_upper))


def test_equal_and_infinite_scores() -> None:
    blocks = PairCounts.of(np.ones(9), np.ones(9)), PairCounts.of(np.full(9, -math.inf), np.full(9, math.inf))
    nothing, all_there_is = (bound_of(block, block) for block in blocks)
    assert (nothing.event, nothing.mu_lower) == (EVERYTHING, 0.0)
    assert (all_there_is.event, all_there_is.hits) == (Event(math.inf, upper=True), (0, 9))


SEEDS, PAIRS, LEVEL = 1_300, 300, 0.1  # the level of `bound_of`
Estimate = Callable[[PairCounts, PairCounts], float]


def mu_on_fresh_games(block: PairCounts, later: PairCounts) -> float:
    return bound_of(block, later).mu_lower


def count(block: PairCounts) -> CountBounds:
    ranks = ThresholdCounter()
    ranks.add(block)
    return ranks.counts()


def at_all_thresholds(block: PairCounts, later: PairCounts) -> float:
    return mu_lower_of_band(Band.of(count(block), confidence=1 - LEVEL))


def mu_on_the_choosing_games(block: PairCounts, later: PairCounts) -> float:
    return mu_on_fresh_games(block, block)


def plug_in_estimate(block: PairCounts, later: PairCounts) -> float:
    """The rates that were seen, at the best threshold, with zeros clipped."""
    rates = np.clip(count(block).least / PAIRS, 1e-5, 1 - 1e-5)
    return float(mu_lower(rates[0], rates[1]).max())


def zeros_clipped(block: PairCounts, later: PairCounts) -> float:
    """Honest limits at all thresholds, but an error that never occurred has rate 0, give or take 1e-9."""
    counts = count(block)
    band = Band.of(counts, confidence=1 - LEVEL)
    alpha = np.where(counts.most[0] == 0, 1e-9, band.upper[0])
    power = np.where(counts.least[1] == PAIRS, 1 - 1e-9, band.lower[1])
    return float(mu_lower(alpha, power).max())


def limits_one_at_a_time(block: PairCounts, later: PairCounts) -> float:
    """The best of Clopper-Pearson limits at all thresholds."""
    lower, upper = clopper_pearson(count(block).least, PAIRS, LEVEL / 2)
    return float(mu_lower(upper[0], lower[1]).max())


def check_coverage(estimate: Estimate, mu: float, rng: np.random.Generator) -> None:
    """Reject if more than 0.146 of 1,300 bounds exceed μ; bounds that err at rate 0.19 are accepted with
    probability 2e-5."""
    found = 0
    for scores in rng.normal([[[0.0]], [[mu]]], 1.0, (SEEDS, 2, 2, PAIRS)).transpose(0, 2, 1, 3):
        found += estimate(PairCounts.of(*scores[:, 0]), PairCounts.of(*scores[:, 1])) > mu
        check_errors(found, SEEDS, level=LEVEL, rate=RATE)


@pytest.mark.thorough
@statistical(rate=RATE)
@pytest.mark.parametrize("mu", [0.0, 1.0])
@pytest.mark.parametrize("estimate", [mu_on_fresh_games, at_all_thresholds])
def test_mu_is_exceeded_no_more_often_than_is_said(
    estimate: Estimate, mu: float, rng: np.random.Generator
) -> None:
    check_coverage(estimate, mu, rng)


@pytest.mark.thorough
@statistical(rate=RATE)
@pytest.mark.parametrize(
    "estimate", [plug_in_estimate, zeros_clipped, limits_one_at_a_time, mu_on_the_choosing_games]
)
def test_faulty_bounds_are_caught_on_identical_worlds(estimate: Estimate, rng: np.random.Generator) -> None:
    """They err at rates of about 1, 1, 0.3 and 0.21."""
    with expect_rejection("errors in"):
        check_coverage(estimate, 0.0, rng)


@pytest.mark.thorough
def test_a_plug_in_reports_much_privacy_lost_by_identical_worlds(rng: np.random.Generator) -> None:
    """What coverage is for: an ε of more than 2 at δ = 1e-5 in most audits, where the truth is 0."""
    blocks = [PairCounts.of(*scores) for scores in rng.normal(size=(200, 2, PAIRS))]
    lost = [epsilon_if_gaussian(1e-5, plug_in_estimate(block, block)) for block in blocks]
    assert np.median(lost) > 2
    honest = [epsilon_if_gaussian(1e-5, at_all_thresholds(block, block)) for block in blocks]
    assert np.mean(np.array(honest) == 0.0) > 0.9
