from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.laws.mechanism_laws import RATE, SURE, check_laplace_law
from support.statistical import check_cdf, statistical

from arena.errors import InvalidArgument
from arena.randomness import generator
from learners.mechanisms.noise.laplace_noise import (
    NoisyValues,
    check_positive,
    laplace,
    laplace_between,
    laplace_cdf,
    laplace_mechanism,
)


@pytest.mark.parametrize("scale", [1.0, 0.02, 300.0])
@statistical(rate=2 * RATE)
def test_noise_follows_the_law(rng: np.random.Generator, scale: float) -> None:
    check_laplace_law(rng, scale=scale)


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.PCG64DXSM, np.random.Philox])
@statistical(rate=2 * RATE)
def test_every_generator_of_64_bit_words_will_do(bits: Any) -> None:
    check_laplace_law(np.random.Generator(bits(20)))


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


def test_the_scale_multiplies() -> None:
    seed = np.random.SeedSequence(3)
    assert np.array_equal(
        laplace(generator(seed), np.empty(100), 2.5), 2.5 * laplace(generator(seed), np.empty(100))
    )


@pytest.mark.parametrize(
    "out",
    [
        np.empty((4, 6))[:, ::2],
        np.empty((4, 6)).T,
        np.empty(8, dtype=np.float32),
        np.empty(8, dtype=np.dtype(float).newbyteorder()),
        np.frombuffer(bytes(64)),
        np.frombuffer(bytearray(65), np.uint8)[1:].view(float),
        [0.0, 0.0],
        None,
    ],
    ids=["strided", "transposed", "float32", "other byte order", "read-only", "misaligned", "list", "None"],
)
def test_arrays_that_cannot_be_filled_in_place_are_refused(out: Any, rng: np.random.Generator) -> None:
    with pytest.raises(
        InvalidArgument, match=r"C-contiguous, writeable float64 array, got .* Draw into np\.empty"
    ):
        laplace(rng, out)


def test_generators_of_32_bit_words_are_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"64-bit words, got 'MT19937'\. Use arena\.randomness"):
        laplace(np.random.Generator(np.random.MT19937(1)), np.empty(8))


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan])
def test_parameters_that_are_not_positive_and_finite_are_refused(
    value: float, rng: np.random.Generator
) -> None:
    for call in (
        lambda: laplace(rng, np.empty(3), value),
        lambda: NoisyValues(3, rng, scale=value),
        lambda: check_positive(scale=1.0, other_scale=value),
    ):
        with pytest.raises(InvalidArgument, match="scale must be positive and finite"):
            call()
    for name in ("sensitivity", "epsilon"):
        with pytest.raises(InvalidArgument, match=f"{name} must be positive and finite"):
            laplace_mechanism(rng, 1.0, **{"sensitivity": 1.0, "epsilon": 1.0, name: value})


@statistical(rate=RATE)
def test_the_mechanism_adds_noise_of_scale_sensitivity_over_epsilon(rng: np.random.Generator) -> None:
    values = np.arange(400_000).reshape(4, -1) % 5
    before = values.copy()
    released = laplace_mechanism(rng, values, sensitivity=3, epsilon=0.5)
    assert released.shape == values.shape
    assert np.array_equal(values, before)
    check_cdf(released - values, lambda x: stats.laplace.cdf(x, scale=6), effect=0.01, **SURE)


def test_the_mechanism_takes_a_number(rng: np.random.Generator) -> None:
    assert laplace_mechanism(rng, 3, sensitivity=1, epsilon=1).shape == ()


@statistical(rate=2 * RATE)
def test_noisy_values_are_in_units_of_the_noise(rng: np.random.Generator) -> None:
    noisy = NoisyValues(400_000, rng, scale=0.25)
    values = np.arange(400_000) % 3
    check_cdf(noisy.draw(values) - 4 * values, stats.laplace.cdf, effect=0.01, **SURE)
    check_cdf(noisy.draw(0.5) - 2, stats.laplace.cdf, effect=0.01, **SURE)


def test_noisy_values_refuse_other_shapes_and_what_is_not_finite(rng: np.random.Generator) -> None:
    noisy = NoisyValues(4, rng, scale=1)
    for wrong in (np.zeros(3), np.zeros((4, 1)), np.zeros(1)):
        with pytest.raises(InvalidArgument, match=r"one per game, got .* array of shape \(4,\)"):
            noisy.draw(wrong)
    for wrong in (math.nan, math.inf, [0, 0, -math.inf, 0], [math.inf, -math.inf, 0, 0]):
        with pytest.raises(InvalidArgument, match="values of a query must be finite"):
            noisy.draw(wrong)
    with pytest.raises(InvalidArgument, match="games must be at least 0, got -1"):
        NoisyValues(-1, rng, scale=1)


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
