"""The binary mechanism, and private histograms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from support.laws.mechanism_laws import RATE, SURE
from support.statistical import check_cdf, expect_rejection, statistical

from arena.errors import InvalidArgument
from arena.randomness import generator
from learners.mechanisms import counters
from learners.mechanisms.counters import (
    BinaryCounter,
    HistogramNoise,
    binary_counter_error,
    binary_counter_lag,
    draw_truncated_laplace,
    private_histogram,
    tree_levels,
)
from learners.mechanisms.noise import laplace


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


PRIVATE_HISTOGRAM_RATE = 1e-7
PRIVATE_HISTOGRAM_SURE = {"rate": PRIVATE_HISTOGRAM_RATE, "effect": 0.01, "power": 1 - 1e-7}
SMALL = HistogramNoise.calibrate(epsilon=1.0, delta=0.05)


def noise_cdf(noise: HistogramNoise) -> Callable[[np.ndarray], np.ndarray]:
    """The distribution function of the noise, from its density."""
    whole = -math.expm1(-noise.reach / noise.scale)

    def cdf(x: np.ndarray) -> np.ndarray:
        x = np.clip(x, -noise.reach, noise.reach)
        return 0.5 + np.sign(x) * -np.expm1(-np.abs(x) / noise.scale) / (2 * whole)

    return cdf


# --- the law ------------------------------------------------------------------------------------------------


@statistical(rate=PRIVATE_HISTOGRAM_RATE)
def test_the_noise_follows_its_law(rng: np.random.Generator) -> None:
    check_cdf(draw_truncated_laplace(rng, 400_000, SMALL), noise_cdf(SMALL), **PRIVATE_HISTOGRAM_SURE)


@statistical(rate=PRIVATE_HISTOGRAM_RATE)
def test_noise_that_is_not_cut_would_be_noticed(rng: np.random.Generator) -> None:
    with expect_rejection():
        check_cdf(rng.laplace(scale=SMALL.scale, size=400_000), noise_cdf(SMALL), **PRIVATE_HISTOGRAM_SURE)


@statistical(rate=PRIVATE_HISTOGRAM_RATE)
def test_a_noisy_count_is_the_count_and_noise_or_nothing(rng: np.random.Generator) -> None:
    """What passes the threshold, with the rest at the threshold."""
    count = 9
    noisy = private_histogram(rng, np.full(400_000, count), SMALL)
    assert ((noisy == 0) | (noisy > SMALL.threshold)).all()
    shown = np.where(noisy == 0, SMALL.threshold, noisy) - count
    low = SMALL.threshold - count
    spread = rng.uniform(-SMALL.reach, low, shown.size)  # to make the law continuous
    cdf, at = noise_cdf(SMALL), float(noise_cdf(SMALL)(np.array([low]))[0])

    def law(x: np.ndarray) -> np.ndarray:
        below = at * np.clip((x + SMALL.reach) / (low + SMALL.reach), 0, 1)
        return np.where(x < low, below, cdf(x))

    check_cdf(np.where(noisy == 0, spread, shown), law, **PRIVATE_HISTOGRAM_SURE)


@pytest.mark.thorough
@settings(max_examples=200, derandomize=True)
@given(
    counts=st.lists(st.integers(0, 10**6), max_size=8),
    epsilon=st.floats(0.01, 20),
    delta=st.floats(1e-9, 0.5),
    seed=st.integers(0, 1000),
)
def test_no_error_is_beyond_the_bound_and_what_does_not_occur_stays_0(
    counts: list[int], epsilon: float, delta: float, seed: int
) -> None:
    noise = HistogramNoise.calibrate(epsilon=epsilon, delta=delta)
    array = np.array(counts, int)
    noisy = private_histogram(generator(np.random.SeedSequence(seed)), array, noise)
    assert (np.abs(noisy - array) <= noise.error * (1 + 1e-12) + 1e-9).all()
    assert (noisy[array == 0] == 0).all()
    if epsilon <= 1:
        assert noise.error <= 8 * math.log(8 / delta) / epsilon  # Theorem 2.6


def test_games_have_their_own_keys_and_noise(rng: np.random.Generator) -> None:
    noisy = private_histogram(rng, np.array([[100, 0], [0, 100], [100, 100]]), SMALL)
    assert ((noisy > 0) == [[True, False], [False, True], [True, True]]).all()
    assert len(np.unique(noisy[noisy > 0])) == 4
    assert private_histogram(rng, np.zeros((0, 3), int), SMALL).shape == (0, 3)


# --- privacy ------------------------------------------------------------------------------------------------


def delta_of(one: tuple[int, ...], other: tuple[int, ...], noise: HistogramNoise, epsilon: float) -> float:
    """δ(ε) of the histograms of two vectors of counts, by how much the first exceeds e^ε times the other."""
    masses = np.ones(1), np.ones(1)
    for count, count_2 in zip(one, other, strict=True):
        cells = key_cells(count, count_2, noise)
        masses = tuple(np.outer(mass, cell).ravel() for mass, cell in zip(masses, cells, strict=True))
    return float(np.maximum(masses[0] - math.exp(epsilon) * masses[1], 0).sum())


def key_cells(count: int, other: int, noise: HistogramNoise) -> tuple[np.ndarray, np.ndarray]:
    """The laws of one key for both counts: the mass of 0, and of cells above the threshold.

    Cells end where a density jumps or bends, so that within a cell both laws are exponential; they are fine
    enough for four digits.
    """
    edges = [
        c + x for c in (count, other) for x in (-noise.reach, 0.0, noise.reach) if c + x > noise.threshold
    ]
    top = max([*edges, noise.threshold])
    fine = np.unique([*np.linspace(noise.threshold, top, 400), *edges, np.inf])
    cdf = noise_cdf(noise)
    laws = []
    for c in (count, other):
        below = cdf(fine - c) if c else np.ones(len(fine))
        laws.append(np.concatenate([below[:1], np.diff(below)]))
    return laws[0], laws[1]


REPLACED = [((a, b), (a + 1, b - 1)) for a, b in product((0, 1, 2, 5, 9, 15), (1, 2, 6, 9, 15))]
ADDED = [((a,), (a + 1,)) for a in (0, 1, 2, 6, 9, 15)]


@pytest.mark.parametrize(("one", "other"), REPLACED + ADDED)
def test_small_counts_keep_the_claim(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    cost = SMALL.guarantee
    assert cost.epsilon == pytest.approx(1.0)
    assert cost.delta <= 0.05
    for first, second in ((one, other), (other, one)):
        assert delta_of(first, second, SMALL, cost.epsilon) <= cost.delta + 1e-12


def test_the_claim_is_reached_and_half_the_noise_breaks_it() -> None:
    one, other = (30, 30), (31, 29)
    cost = SMALL.guarantee
    assert delta_of(one, other, SMALL, cost.epsilon) == pytest.approx(cost.delta, rel=1e-9)
    half = HistogramNoise(scale=SMALL.scale / 2, reach=SMALL.reach)
    assert delta_of(one, other, half, cost.epsilon) > 2 * cost.delta
    short = HistogramNoise(scale=SMALL.scale, reach=SMALL.reach - 1)
    assert delta_of(one, other, short, cost.epsilon) > 1.2 * cost.delta


@pytest.mark.parametrize("first", [(4, 1), (3, 2), (2, 2, 1), (1, 1, 1, 1, 1)])
def test_many_changes_cost_most_in_few_keys(first: tuple[int, ...]) -> None:
    noise = HistogramNoise.calibrate(epsilon=1.0, delta=0.05, sensitivity=5, key_sensitivity=4)
    cost = noise.guarantee
    one = (60,) * len(first)
    other = tuple(c + k * (-1) ** i for i, (c, k) in enumerate(zip(one, first, strict=True)))
    if len(first) <= 2:
        assert delta_of(one, other, noise, cost.epsilon) <= cost.delta + 1e-12
    kept = math.prod(
        1 - math.expm1(k / noise.scale) / 2 / math.expm1(noise.reach / noise.scale) for k in first
    )
    assert 1 - kept <= cost.delta + 1e-12
    assert (1 - kept == pytest.approx(cost.delta)) == (first == (4, 1))
    assert delta_of((0,), (4,), noise, 0.0) == 0.0


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-5, 0.1])
def test_noise_is_made_for_what_is_asked(epsilon: float, delta: float) -> None:
    noise = HistogramNoise.calibrate(epsilon=epsilon, delta=delta)
    m = -math.expm1(math.log1p(-delta) / 2)
    assert noise.scale == 2 / epsilon
    assert noise.reach == pytest.approx(2 / epsilon * math.log1p(math.expm1(epsilon / 2) / (2 * m)), rel=1e-6)
    assert noise.guarantee.epsilon == pytest.approx(epsilon)
    assert noise.guarantee.delta <= delta
