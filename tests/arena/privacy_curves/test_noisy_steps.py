"""Composed costs of noisy steps, beside closed forms and another implementation."""

from __future__ import annotations

from math import expm1, log1p, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena import InvalidArgument
from arena.privacy_curves import GaussianCurve, NoisyStepsCurve
from arena.privacy_curves.gaussian_curves import renyi_epsilon
from learners.mechanisms.noise import gaussian_delta


def _delta_on_fine_grid(curve: NoisyStepsCurve, epsilon: float) -> float:
    return max(loss.delta(epsilon) for loss in curve.loss_distributions(1e-3))


@pytest.mark.thorough
@pytest.mark.parametrize("times", [1, 10, 1_000])
def test_without_subsampling_it_is_the_gaussian_mechanism(times: int) -> None:
    for sigma in (2.0, 10.0):
        exact = GaussianCurve(sqrt(times) / sigma).epsilon(1e-5)
        assert exact <= NoisyStepsCurve(1.0, sigma, times).epsilon(1e-5) <= exact * 1.0001


@pytest.mark.thorough
@settings(max_examples=20, deadline=None)
@given(rate=st.floats(0.01, 1), sigma=st.floats(0.5, 5), epsilon=st.floats(0, 3))
def test_one_step_is_the_subsampled_mechanism(rate: float, sigma: float, epsilon: float) -> None:
    """δ of an example that is removed is q·δ_G(ln(1 + (e^ε − 1)/q)), the larger one."""
    inner = log1p(expm1(epsilon) / rate)
    for replaced, sensitivity in ((False, 1.0), (True, 2.0)):
        exact = rate * gaussian_delta(epsilon=inner, sigma=sigma, sensitivity=sensitivity)
        curve = NoisyStepsCurve(rate, sigma, 1, sensitivity, replaced)
        found = _delta_on_fine_grid(curve, epsilon)
        assert exact * (1 - 1e-9) <= found <= exact * (1 + 1e-3) + 1e-13


# dp-accounting 0.4.4: pld.from_gaussian_mechanism(sigma, sampling_prob=rate, value_discretization_interval=h,
# use_connect_dots=True).self_compose(times).get_epsilon_for_delta(delta), an upper bound, with h = 1e-4.
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("rate", "sigma", "times", "delta", "other"),
    [
        (0.01, 1.0, 1_000, 1e-5, 1.828243645591767),
        (0.1, 2.0, 100, 1e-5, 2.3374001925804175),
        (0.3, 5.0, 100, 1e-5, 2.5323523062919056),
        (0.01, 0.5, 100, 1e-5, 6.476210218249663),
    ],
)
def test_it_agrees_with_dp_accounting(
    rate: float, sigma: float, times: int, delta: float, other: float
) -> None:
    assert NoisyStepsCurve(rate, sigma, times).epsilon(delta) == pytest.approx(other, rel=1e-5)


@pytest.mark.thorough
def test_composition_of_two_steps_by_quadrature() -> None:
    """δ of two steps, integrated over both outputs: the grid is above it, and close."""
    rate, sigma, epsilon = 0.3, 1.5, 0.8
    x = np.linspace(-14, 15, 6_001)
    zero = np.exp(-(x**2) / (2 * sigma**2)) / (sigma * sqrt(2 * np.pi)) * (x[1] - x[0])
    one = np.exp(-((x - 1) ** 2) / (2 * sigma**2)) / (sigma * sqrt(2 * np.pi)) * (x[1] - x[0])
    mixed = (1 - rate) * zero + rate * one
    deltas = [
        float(np.maximum(np.multiply.outer(p, p) - np.exp(epsilon) * np.multiply.outer(q, q), 0).sum())
        for p, q in ((mixed, zero), (zero, mixed))
    ]
    found = _delta_on_fine_grid(NoisyStepsCurve(rate, sigma, 2), epsilon)
    assert max(deltas) * (1 - 1e-6) <= found <= max(deltas) * (1 + 1e-4)


def test_epsilon_and_delta_are_inverse_and_renyi_is_larger() -> None:
    curve = NoisyStepsCurve(0.05, 1.2, 200)
    epsilon = curve.epsilon(1e-6)
    assert _delta_on_fine_grid(curve, epsilon) == pytest.approx(1e-6, rel=1e-3)
    assert epsilon < renyi_epsilon(curve, 1e-6) < 1.5 * epsilon


def test_bad_parameters_are_refused() -> None:
    for rate, sigma, times in ((0.0, 1.0, 1), (1.1, 1.0, 1), (0.5, 0.0, 1), (0.5, 1.0, 0)):
        with pytest.raises(InvalidArgument):
            NoisyStepsCurve(rate, sigma, times)
    with pytest.raises(InvalidArgument):
        NoisyStepsCurve(0.5, 1.0, 1).epsilon(1.0)
