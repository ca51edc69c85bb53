"""Noise: its densities, quadrature, and random functions."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import integrate, stats
from support.laws.mechanism_laws import RATE, SURE, check_laplace_law
from support.statistical import check_cdf, statistical

from arena.randomness import generator
from learners.mechanisms.noise import (
    HiddenBelow,
    NoisyValues,
    RandomFunction,
    discrete_laplace,
    discrete_laplace_tail,
    gaussian_delta,
    gaussian_sigma,
    laplace,
    laplace_between,
    laplace_cdf,
    laplace_mechanism,
    laplace_nodes,
    philox,
)


@pytest.mark.thorough
@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_hidden_noise_below_x_and_above_others(count: int) -> None:
    values, scale, hidden = np.array([-1.0, 2.0, 0.5, 0.5])[:count], 1.5, 2.0
    below = HiddenBelow.of(hidden, values, scale)

    def density(t: float) -> float:
        return float(stats.laplace.pdf(t, scale=hidden) * stats.laplace.cdf(t, values, scale).prod())

    for x in (-6.0, -1.0, -0.3, 0.2, 1.9, 7.0, 60.0):
        cuts = [-200.0, *(k for k in (-1.0, 0.0, 0.5, 2.0, 20.0) if k < x), x]
        expected = sum(
            integrate.quad(density, a, b, epsabs=1e-16, epsrel=1e-13)[0] for a, b in pairwise(cuts)
        )
        assert np.exp(below.log(np.array([x]))[0]) == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 50.0])
def test_moments_of_laplace_noise(scale: float) -> None:
    nodes, weights = laplace_nodes(scale)
    assert weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert weights @ np.abs(nodes) == pytest.approx(scale, rel=1e-13)
    assert weights @ nodes**2 == pytest.approx(2 * scale**2, rel=1e-13)


def test_jumps_and_kinks_are_met_where_they_are_told() -> None:
    kinks = [-3.7, 0.21, 0.2100001, 5.0]
    nodes, weights = laplace_nodes(2.0, kinks)
    for kink in kinks:
        assert weights @ (nodes >= kink) == pytest.approx(stats.laplace.sf(kink, scale=2.0), rel=1e-12)
        beyond = weights @ np.maximum(nodes - kink, 0)
        expected = np.exp(-kink / 2) if kink > 0 else np.exp(kink / 2) - kink
        assert beyond == pytest.approx(expected, rel=1e-12)


# The test vectors of Random123 for philox4x32 with 10 rounds.
@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_published_words(counter: str, key: str, words: str) -> None:
    given, keys = ([np.array(int(word, 16), np.uint64) for word in text.split()] for text in (counter, key))
    assert [f"{int(word):08x}" for word in philox(given, keys)] == words.split()


def test_numbers_belong_to_the_point_and_the_game() -> None:
    numbers = RandomFunction(3, np.random.default_rng(1))
    first = numbers.draw(np.array([[0.0, 1.0, 2.0]] * 3))
    again = numbers.draw(np.array([[2.0, -0.0, 2.0]] * 3))
    for one, other in zip(first, again, strict=True):
        assert (other == one[:, [2, 0, 2]]).all()
        assert len(np.unique(one)) == 9
    as_vectors = numbers.draw(np.array([[[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]] * 3))
    assert (as_vectors[0][:, 0] == as_vectors[0][:, 2]).all()
    assert (as_vectors[0][:, 0] != as_vectors[0][:, 1]).all()


# 5 tests; a false alarm with probability at most 1e-8.
@pytest.mark.statistical(rate=1e-8)
def test_numbers_are_uniform_and_independent() -> None:
    """Of neighbouring points, whose bits hardly differ, and of both numbers of a point."""
    points = np.nextafter(0.5, 1) * np.ones((2, 50_000)) + np.arange(50_000) * 2.0**-53
    one, other = RandomFunction(2, np.random.default_rng(2)).draw(points)
    for numbers in (one, other):
        assert stats.kstest(numbers.ravel(), "uniform").pvalue > 2e-9
    for first, second in ((one, other), (one[:, 1:], one[:, :-1]), (one[0], one[1])):
        assert stats.pearsonr(first.ravel(), second.ravel()).pvalue > 2e-9


@pytest.mark.parametrize("sigma", [0.05, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 3.0])
def test_delta_is_the_formula_of_balle_and_wang(sigma: float, epsilon: float) -> None:
    ahead, behind = 1 / (2 * sigma) - epsilon * sigma, -1 / (2 * sigma) - epsilon * sigma
    expected = stats.norm.cdf(ahead) - math.exp(epsilon) * stats.norm.cdf(behind)
    found = gaussian_delta(epsilon=epsilon, sigma=sigma)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-15)
    assert gaussian_delta(epsilon=epsilon, sigma=3 * sigma, sensitivity=3) == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "sigma"), [(1.0, 8.0), (4.0, 3.0), (0.2, 60.0), (20.0, 1.0)])
def test_tiny_deltas_keep_their_digits(epsilon: float, sigma: float) -> None:
    """Against the integral of max(0, p − e^ε q), whose integrand loses no digits where it matters."""
    begins = 0.5 + epsilon * sigma**2  # where the densities of N(1, σ²) and N(0, σ²) are e^ε apart
    cuts = begins + sigma * np.linspace(0, 12, 400)
    points, weights = np.polynomial.legendre.leggauss(16)
    middle, half = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts) / 2
    x = middle[:, None] + half[:, None] * points
    gain = stats.norm.pdf(x, 1, sigma) * -np.expm1(epsilon - (x - 0.5) / sigma**2)
    expected = (half[:, None] * weights * gain).sum()
    assert 0 < expected < 1e-10
    assert gaussian_delta(epsilon=epsilon, sigma=sigma) == pytest.approx(expected, rel=1e-9)


def test_delta_falls_with_sigma_and_epsilon_and_never_vanishes() -> None:
    by_sigma = [gaussian_delta(epsilon=1.0, sigma=sigma) for sigma in np.geomspace(0.1, 20, 60)]
    by_epsilon = [gaussian_delta(epsilon=epsilon, sigma=1.0) for epsilon in np.linspace(0, 20, 60)]
    assert (np.diff(by_sigma) < 0).all()
    assert (np.diff(by_epsilon) < 0).all()
    assert gaussian_delta(epsilon=1e6, sigma=1e6) == math.ulp(0.0)
    assert gaussian_delta(epsilon=0.0, sigma=1e-6) == 1.0


@pytest.mark.parametrize("delta", [0.3, 1e-2, 1e-5, 1e-12])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 10.0])
def test_sigma_is_the_least_that_will_do(epsilon: float, delta: float) -> None:
    sigma = gaussian_sigma(epsilon=epsilon, delta=delta)
    assert gaussian_delta(epsilon=epsilon, sigma=sigma) <= delta
    assert gaussian_delta(epsilon=epsilon, sigma=sigma * (1 - 1e-9)) > delta
    doubled = gaussian_sigma(epsilon=epsilon, delta=delta, sensitivity=2.0)
    assert doubled == pytest.approx(2 * sigma, rel=1e-9)


@pytest.mark.thorough
@pytest.mark.parametrize("scale", [1.0, 0.02, 300.0])
@statistical(rate=2 * RATE)
def test_noise_follows_the_law(rng: np.random.Generator, scale: float) -> None:
    check_laplace_law(rng, scale=scale)


@pytest.mark.thorough
@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.PCG64DXSM, np.random.Philox])
@statistical(rate=2 * RATE)
def test_every_generator_of_64_bit_words_will_do(bits: Any) -> None:
    check_laplace_law(np.random.Generator(bits(20)))


@pytest.mark.thorough
@statistical(rate=RATE)
def test_small_fills_follow_the_law(rng: np.random.Generator) -> None:
    table = np.empty((120_000, 3))
    for row in table:
        laplace(rng, row)
    check_cdf(table, stats.laplace.cdf, effect=0.01, **SURE)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (7,), (8,), (9,), (3, 0), (5, 4, 3)])
def test_any_shape_is_filled_from_the_same_stream(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    seed = np.random.SeedSequence(3)
    out = np.full(shape, np.nan)
    assert laplace(generator(seed), out) is out
    flat = laplace(generator(seed), np.empty(out.size))
    assert np.array_equal(out.ravel(), flat)
    assert np.isfinite(out).all()


@statistical(rate=RATE)
def test_the_mechanism_adds_noise_of_scale_sensitivity_over_epsilon(rng: np.random.Generator) -> None:
    values = np.arange(400_000).reshape(4, -1) % 5
    before = values.copy()
    released = laplace_mechanism(rng, values, sensitivity=3, epsilon=0.5)
    assert released.shape == values.shape
    assert np.array_equal(values, before)
    check_cdf(released - values, lambda x: stats.laplace.cdf(x, scale=6), effect=0.01, **SURE)


@statistical(rate=2 * RATE)
def test_noisy_values_are_in_units_of_the_noise(rng: np.random.Generator) -> None:
    noisy = NoisyValues(400_000, rng, scale=0.25)
    values = np.arange(400_000) % 3
    check_cdf(noisy.draw(values) - 4 * values, stats.laplace.cdf, effect=0.01, **SURE)
    check_cdf(noisy.draw(0.5) - 2, stats.laplace.cdf, effect=0.01, **SURE)


def test_the_distribution_function_keeps_its_digits_in_the_lower_tail() -> None:
    x = np.array([-700.0, -40.0, -1.0, 0.0, 0.5, 30.0])
    assert laplace_cdf(x) == pytest.approx(stats.laplace.cdf(x), rel=1e-14)


@pytest.mark.parametrize(
    ("low", "high", "chance"),
    [
        (1.0, 2.0, (math.exp(-1) - math.exp(-2)) / 2),
        (-2.0, -1.0, (math.exp(-1) - math.exp(-2)) / 2),
        (-1.0, 2.0, 1 - math.exp(-1) / 2 - math.exp(-2) / 2),
        (0.0, 1e-12, 5e-13),
        (-1e-12, 1e-12, 1e-12),
        (600.0, 601.0, math.exp(-600) * -math.expm1(-1) / 2),
        (-601.0, -600.0, math.exp(-600) * -math.expm1(-1) / 2),
        (-800.0, 800.0, 1.0),
        (3.0, 3.0, 0.0),
        (2.0, -2.0, 0.0),
        (1.0, -800.0, 0.0),
        (-math.inf, math.inf, 1.0),
        (-math.inf, -600.0, math.exp(-600) / 2),
        (600.0, math.inf, math.exp(-600) / 2),
        (-math.inf, -math.inf, 0.0),
        (math.inf, math.inf, 0.0),
    ],
)
def test_the_chance_of_an_interval_keeps_its_digits_anywhere(low: float, high: float, chance: float) -> None:
    assert laplace_between(np.array([low]), np.array([high])) == pytest.approx([chance], rel=1e-11, abs=0)


def test_geometric_noise_is_the_discrete_laplace_distribution_of_scipy(rng: np.random.Generator) -> None:
    law, games = stats.dlaplace(0.7), 100_000
    numbers = np.arange(-6, 7)
    assert discrete_laplace_tail(numbers, epsilon=0.7) == pytest.approx(law.sf(numbers - 1), rel=1e-12)
    assert discrete_laplace_tail(np.array([90]), epsilon=0.7) == pytest.approx(
        np.exp(-63) / (1 + np.exp(-0.7))
    )
    noise = discrete_laplace(rng, games, epsilon=0.7)
    counts = [(noise <= -6).sum(), *((noise == k).sum() for k in numbers[1:-1]), (noise >= 6).sum()]
    chances = np.diff([0.0, *law.cdf(numbers[:-1]), 1.0])
    assert stats.chisquare(counts, chances * games).pvalue > RATE
