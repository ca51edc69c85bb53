from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from arena.errors import InvalidArgument
from learners.mechanisms.noise.gaussian_noise import gaussian_delta, gaussian_epsilon, gaussian_sigma


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


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"epsilon": -1.0, "sigma": 1.0}, "epsilon must be at least 0, got -1.0"),
        ({"epsilon": math.inf, "sigma": 1.0}, "epsilon must be less than inf, got inf"),
        ({"epsilon": 1.0, "sigma": 0.0}, "sigma must be positive and finite, got 0.0"),
        (
            {"epsilon": 1.0, "sigma": 1.0, "sensitivity": -1},
            "sensitivity must be positive and finite, got -1",
        ),
    ],
)
def test_parameters_out_of_range_are_refused(bad: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        gaussian_delta(**bad)


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_no_sigma_is_private_without_delta(delta: float) -> None:
    with pytest.raises(InvalidArgument, match="delta must be a probability between 0 and 1"):
        gaussian_sigma(epsilon=1.0, delta=delta)


@given(st.integers(1, 500), st.floats(0.3, 100), st.floats(1e-9, 0.2))
def test_epsilon_is_the_least_with_its_delta(answers: int, sigma: float, delta: float) -> None:
    sensitivity = math.sqrt(answers)
    epsilon = gaussian_epsilon(delta=delta, sigma=sigma, sensitivity=sensitivity)
    assert gaussian_delta(epsilon=epsilon, sigma=sigma, sensitivity=sensitivity) <= delta
    if epsilon > 1e-6:
        less = gaussian_delta(epsilon=epsilon * (1 - 1e-6), sigma=sigma, sensitivity=sensitivity)
        assert less > delta
    assert gaussian_epsilon(sigma=1e4, delta=0.1) == 0.0
