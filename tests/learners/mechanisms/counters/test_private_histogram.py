"""The private histogram: its law, and δ(ε) of small counts by quadrature against what it claims."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.statistical import check_cdf, expect_rejection, statistical

from arena.errors import InvalidArgument
from arena.randomness import generator
from learners.mechanisms.counters import (
    HistogramNoise,
    draw_truncated_laplace,
    private_histogram,
)

RATE = 1e-7
SURE = {"rate": RATE, "effect": 0.01, "power": 1 - 1e-7}
SMALL = HistogramNoise.calibrate(epsilon=1.0, delta=0.05)


def noise_cdf(noise: HistogramNoise) -> Callable[[np.ndarray], np.ndarray]:
    """The distribution function of the noise, from its density."""
    whole = -math.expm1(-noise.reach / noise.scale)

    def cdf(x: np.ndarray) -> np.ndarray:
        x = np.clip(x, -noise.reach, noise.reach)
        return 0.5 + np.sign(x) * -np.expm1(-np.abs(x) / noise.scale) / (2 * whole)

    return cdf


# --- the law ------------------------------------------------------------------------------------------------


@statistical(rate=RATE)
def test_the_noise_follows_its_law(rng: np.random.Generator) -> None:
    check_cdf(draw_truncated_laplace(rng, 400_000, SMALL), noise_cdf(SMALL), **SURE)


@statistical(rate=RATE)
def test_noise_that_is_not_cut_would_be_noticed(rng: np.random.Generator) -> None:
    with expect_rejection():
        check_cdf(rng.laplace(scale=SMALL.scale, size=400_000), noise_cdf(SMALL), **SURE)


@statistical(rate=RATE)
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

    check_cdf(np.where(noisy == 0, spread, shown), law, **SURE)


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


# --- refusals -----------------------------------------------------------------------------------------------


def test_bad_values_are_refused(rng: np.random.Generator) -> None:
    with pytest.raises(InvalidArgument, match="epsilon must be positive and finite, got 0"):
        HistogramNoise.calibrate(epsilon=0, delta=0.1)
    with pytest.raises(InvalidArgument, match="delta must be a probability between 0 and 1, got 0"):
        HistogramNoise.calibrate(epsilon=1, delta=0)
    with pytest.raises(
        InvalidArgument, match="key_sensitivity must be at least 1 and at most sensitivity and reach, got 3"
    ):
        HistogramNoise(scale=1.0, reach=3.0, sensitivity=2, key_sensitivity=3)
    for counts in ([0.5], [-1]):
        with pytest.raises(InvalidArgument, match="counts must be integers ≥ 0"):
            private_histogram(rng, counts, SMALL)
