"""Limits at one event and at all: against definitions, determinants and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from support.statistical import check_counts, expect_rejection, statistical

from audits.statistics import simultaneous_limits as limits
from audits.statistics.estimates import clopper_pearson
from audits.statistics.simultaneous_limits import (
    SimultaneousLimits,
    crossing_probability,
    simultaneous_limits,
)

RATE = 1e-7


def check_leaving(bounds: SimultaneousLimits, chance: float, rng: np.random.Generator) -> None:
    """Check that 250 uniform numbers leave the limits with this probability."""
    ordered = np.sort(rng.random((50_000, 250)), axis=1)[:, bounds.index - 1]
    out = int(((ordered < bounds.lower) | (ordered > bounds.upper)).any(axis=1).sum())
    check_counts([out, 50_000 - out], [chance, 1 - chance], rate=RATE, effect=0.02, power=1 - RATE)


def steck(bounds: SimultaneousLimits) -> float:
    """The probability of staying within limits of every order statistic, as a determinant (Steck 1971)."""
    n = bounds.pairs
    matrix = np.zeros((n, n))
    for i in range(n):
        for j in range(max(0, i - 1), n):
            power = j - i + 1
            matrix[i, j] = max(0.0, bounds.upper[i] - bounds.lower[j]) ** power / math.factorial(power)
    return float(math.factorial(n) * np.linalg.det(matrix))


def test_limits_at_one_event_are_those_of_the_definition() -> None:
    """At the limit, so many hits or more (or so many or fewer) have probability `level`."""
    counts = np.arange(1, 20)
    lower, upper = clopper_pearson(counts, 20, 0.03)
    assert stats.binom.sf(counts - 1, 20, lower) == pytest.approx(0.03)
    assert stats.binom.cdf(counts, 20, upper) == pytest.approx(0.03)


def test_no_hit_and_only_hits_have_limits_0_and_1() -> None:
    lower, upper = clopper_pearson(np.array([0, 10]), 10, 0.05)
    assert (lower[0], upper[1]) == (0.0, 1.0)
    assert upper[0] == pytest.approx(1 - 0.05 ** (1 / 10)) == 1 - lower[1]


LOPSIDED = np.array([0.0, 0.1, 0.1, 0.5]), np.array([0.3, 0.9, 0.95, 1.0])


@pytest.mark.parametrize(
    "bounds",
    [
        *(simultaneous_limits(pairs, error) for pairs in (1, 2, 3, 5, 8) for error in (0.4, 0.05)),
        SimultaneousLimits(4, np.arange(1, 5), *LOPSIDED),
    ],
)
def test_the_chance_of_leaving_agrees_with_a_determinant(bounds: SimultaneousLimits) -> None:
    assert crossing_probability(bounds) == pytest.approx(1 - steck(bounds), abs=1e-12)


def test_limits_that_cannot_be_kept_are_always_left() -> None:
    bounds = SimultaneousLimits(2, np.arange(1, 3), np.array([0.6, 0.7]), np.array([0.5, 0.8]))
    assert crossing_probability(bounds) == 1.0


@pytest.mark.thorough
@statistical(rate=RATE)
@pytest.mark.parametrize("indices", [4_000, 40])
def test_uniform_numbers_leave_limits_as_often_as_is_computed(
    indices: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 250 order statistics, all or some; the band may leave a hundredth of the error unspent."""
    monkeypatch.setattr(limits, "MAX_INDICES", indices)
    bounds = simultaneous_limits.__wrapped__(250, 0.2)
    assert (len(bounds.index) < 100) == (indices == 40)
    check_leaving(bounds, crossing_probability(bounds), rng)


@pytest.mark.thorough
@statistical(rate=RATE)
def test_limits_at_one_event_each_are_caught(rng: np.random.Generator) -> None:
    index = np.arange(1, 251)
    lower, _ = clopper_pearson(index, 250, 0.1)
    _, upper = clopper_pearson(index - 1, 250, 0.1)
    with expect_rejection():
        check_leaving(SimultaneousLimits(250, index, lower, upper), 0.2, rng)


@pytest.mark.thorough
@pytest.mark.parametrize("pairs", [1, 2, 17, 300, 4_001])
@pytest.mark.parametrize("error", [0.45, 0.025, 1e-9])
def test_the_error_is_spent_and_not_exceeded(pairs: int, error: float) -> None:
    assert 0.99 * error <= crossing_probability(simultaneous_limits(pairs, error)) <= error * (1 + 1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("pairs", "error"),
    [(20_000, 0.05), (35_000, 0.0005), (60_000, 0.007), (150_000, 0.0015), (1_200_000, 0.03)],
)
def test_the_first_guess_of_the_level_is_good_enough(pairs: int, error: float) -> None:
    guess = limits._guess_local_level(pairs, error)
    searched = limits._find_local_level(pairs, limits._choose_indices(pairs), error)
    assert searched == pytest.approx(guess, rel=1e-12)


def test_a_tiny_error_is_shared_out_among_the_limits() -> None:
    bounds = simultaneous_limits(100, 1e-12)
    assert bounds.lower[-1] == pytest.approx((1e-12 / 200) ** (1 / 100))
    assert crossing_probability(bounds) <= 1e-12


@pytest.mark.parametrize("pairs", [1, 10, 5_000, 20_000_000])
def test_the_set_of_indices_is_the_same_from_above_and_dense_in_the_tails(pairs: int) -> None:
    index = limits._choose_indices(pairs)
    assert index[0] == 1
    assert (index == pairs + 1 - index[::-1]).all()
    assert len(index) <= 1.2 * limits.MAX_INDICES
    assert pairs <= limits.MAX_INDICES or (np.diff(index) <= np.maximum(1, index[:-1] / 8)).mean() > 0.95


@pytest.mark.thorough
@pytest.mark.parametrize("pairs", [1, 60, 5_000])
def test_limits_are_monotone_and_the_same_from_above(pairs: int) -> None:
    bounds = simultaneous_limits(pairs, 0.05)
    counts = np.arange(pairs + 1)
    below, above = bounds.below(counts), bounds.above(counts)
    assert (np.diff(below) >= 0).all()
    assert (np.diff(above) >= 0).all()
    assert (below <= counts / pairs).all()
    assert (counts / pairs <= above).all()
    assert above == pytest.approx(1 - below[::-1])
    assert (below[0], above[-1]) == (0.0, 1.0)
    assert above[0] > 0
    assert below[-1] < 1
