"""The binary mechanism: its sums, its noise, its privacy and its accuracy."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from support.laws.mechanism_laws import RATE, SURE
from support.statistical import check_cdf, expect_rejection, statistical

from arena.errors import BudgetExceeded, InvalidArgument
from arena.randomness import generator
from learners.mechanisms import counters
from learners.mechanisms.counters import (
    BinaryCounter,
    binary_counter_error,
    binary_counter_lag,
    tree_levels,
)
from learners.mechanisms.noise.laplace_noise import laplace


def naive_counts(values: list[float], noise: list[float]) -> list[float]:
    """Chan, Shi, Song (2010), Algorithm 2, for one counter; noise[t − 1] is that of the node which t ends."""
    exact, noisy, told = [0.0] * 64, [0.0] * 64, []
    for t, value in enumerate(values, start=1):
        i = next(j for j in range(64) if t >> j & 1)
        exact[i] = sum(exact[:i]) + value
        exact[:i], noisy[:i] = [0.0] * i, [0.0] * i
        noisy[i] = exact[i] + noise[t - 1]
        told.append(sum(noisy[j] for j in range(64) if t >> j & 1))
    return told


def nodes_that_hold(s: int, horizon: int) -> set[tuple[int, int]]:
    """The nodes (start, end] that some count up to the horizon adds up, and that round s lies in."""
    found = set()
    for t in range(1, horizon + 1):
        end = t
        while end:
            start = end & (end - 1)
            if start < s <= end:
                found.add((start, end))
            end = start
    return found


@given(
    values=st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=1, max_size=40),
    epsilon=st.floats(0.1, 5),
    seed=st.integers(0, 1000),
)
def test_it_is_the_naive_reference(values: list[float], epsilon: float, seed: int) -> None:
    coins, same = (generator(np.random.SeedSequence(seed)) for _ in range(2))
    counter = BinaryCounter((1,), coins, horizon=len(values), epsilon=epsilon)
    noise = [counter.scale * float(laplace(same, np.empty(1))[0]) for _ in values]
    told = [counter.add(value)[0] for value in values]
    assert told == pytest.approx(naive_counts(values, noise))


@pytest.mark.parametrize("horizon", [1, 2, 3, 7, 8, 33])
def test_the_noise_pays_for_the_nodes_that_a_round_is_told_in(horizon: int) -> None:
    most = max(len(nodes_that_hold(s, horizon)) for s in range(1, horizon + 1))
    assert tree_levels(horizon) == most


@pytest.mark.parametrize("horizon", [1, 2, 5, 8, 100, 1023])
def test_rounds_are_counted_by_their_digits(horizon: int) -> None:
    expected = Counter(t.bit_count() for t in range(1, horizon + 1))
    assert counters._count_rounds_by_digits(horizon) == expected


@pytest.mark.thorough
@pytest.mark.parametrize(("t", "digits"), [(1, 1), (3, 2), (4, 1), (7, 3)])
@statistical(rate=RATE)
def test_the_error_is_the_sum_of_the_noise_of_its_nodes(
    t: int, digits: int, rng: np.random.Generator
) -> None:
    error, counter = errors(t, rng)
    check_cdf(error / counter.scale, cdf_of_sum(digits), effect=0.01, **SURE)


@pytest.mark.thorough
@statistical(rate=2 * RATE)
def test_noise_of_one_node_too_few_would_be_noticed(rng: np.random.Generator) -> None:
    error, counter = errors(7, rng)
    with expect_rejection():
        check_cdf(error / counter.scale, cdf_of_sum(2), effect=0.01, **SURE)


@statistical(rate=RATE)
def test_counts_share_the_noise_of_the_nodes_they_share(rng: np.random.Generator) -> None:
    """The counts at 6 and 7 differ by the one node that ends at 7."""
    counter = BinaryCounter((400_000,), rng, horizon=7, epsilon=1.5)
    told = [counter.add(0.5) for _ in range(7)]
    check_cdf((told[6] - told[5] - 0.5) / counter.scale, stats.laplace.cdf, effect=0.01, **SURE)


def errors(t: int, rng: np.random.Generator) -> tuple[np.ndarray, BinaryCounter]:
    """The error of the count at round t of 7, which has 3 levels."""
    counter = BinaryCounter((400_000,), rng, horizon=7, epsilon=1.5)
    assert counter.scale == 2.0
    for _ in range(t):
        told = counter.add(0.5)
    return told - t / 2, counter


def cdf_of_sum(nodes: int) -> Callable[[np.ndarray], np.ndarray]:
    """Of as many Laplace numbers of scale 1: the difference of two gamma numbers, by quadrature."""
    x = np.linspace(0, 60, 6_001)[:, None]
    at = np.linspace(-40, 40, 1_601)
    cdf = np.trapezoid(stats.gamma.pdf(x, nodes) * stats.gamma.cdf(at + x, nodes), x, axis=0)
    return lambda error: np.interp(error, at, cdf)


@pytest.mark.parametrize("beta", [0.5, 0.1, 1e-3])
@statistical(rate=1e-9)
def test_the_stated_error_is_exceeded_by_few_counters(beta: float, rng: np.random.Generator) -> None:
    """Of 20,000 counters; a third of the error is exceeded by more than may be."""
    counter = BinaryCounter((20_000,), rng, horizon=100, epsilon=1.0)
    worst = np.zeros(20_000)
    for t in range(1, 101):
        np.maximum(worst, np.abs(counter.add(1.0) - t), out=worst)
    allowed = binary_counter_error(100, beta, epsilon=1.0)
    assert np.count_nonzero(worst > allowed) <= stats.binom.isf(1e-9, 20_000, beta)
    assert np.count_nonzero(worst > allowed / 3) > stats.binom.isf(1e-9, 20_000, beta)


def test_the_bound_of_a_tail_is_above_the_tail() -> None:
    for nodes, error in itertools.product([1, 2, 5, 12], [0.5, 2.0, 10.0, 40.0]):
        x = np.linspace(0, 60 + 10 * nodes, 20_001)
        tail = np.trapezoid(stats.gamma.pdf(x, nodes) * stats.gamma.sf(x + error, nodes), x)
        assert tail <= counters._tail_bound(nodes, error) * (1 + 1e-6)


def test_the_lag_of_one_count_is_above_its_tail() -> None:
    assert binary_counter_lag(1, 1e-3, epsilon=2.0) >= stats.laplace.isf(1e-3, scale=0.5)
    for horizon, beta in ((3, 1e-3), (3, 1e-7)):  # two nodes: P[sum > x] = (2 + x)/4 e^-x
        x = binary_counter_lag(horizon, beta, epsilon=2.0)
        assert beta / 50 < (2 + x) / 4 * np.exp(-x) <= beta
        assert x < binary_counter_error(horizon, beta, epsilon=2.0)
    with pytest.raises(InvalidArgument, match="beta must be a probability"):
        binary_counter_lag(3, 0.0, epsilon=2.0)


def test_counters_of_a_game_are_counted_apart(rng: np.random.Generator) -> None:
    counter = BinaryCounter((3, 2), rng, horizon=4, epsilon=1e9, sensitivity=2)
    for _ in range(3):
        told = counter.add(np.array([[0, 1], [1, 1], [0.5, 0]]))
    assert told.round(3).tolist() == [[0, 3], [3, 3], [1.5, 0]]


@pytest.mark.parametrize("shape", [(0,), (1,), (2, 3)])
def test_any_number_of_counters(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    assert BinaryCounter(shape, rng, horizon=1, epsilon=1).add(1).shape == shape


def test_bad_parameters_are_refused(rng: np.random.Generator) -> None:
    with pytest.raises(InvalidArgument, match="horizon must be at least 1, got 0"):
        BinaryCounter((1,), rng, horizon=0, epsilon=1)
    with pytest.raises(InvalidArgument, match="epsilon must be positive"):
        BinaryCounter((1,), rng, horizon=1, epsilon=0)
    with pytest.raises(InvalidArgument, match="beta must be a probability between 0 and 1, got 0"):
        binary_counter_error(10, 0, epsilon=1)
    counter = BinaryCounter((2,), rng, horizon=1, epsilon=1)
    for value in (1.1, -0.1, np.nan):
        with pytest.raises(InvalidArgument, match=r"counted values must lie in \[0, 1\]"):
            counter.add(value)
    counter.add(1)
    with pytest.raises(BudgetExceeded, match="the counter has published all 1 counts; set a larger horizon"):
        counter.add(1)
