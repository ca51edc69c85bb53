"""The cost of noisy steps beside that of dp-accounting, in an environment that has it."""

from __future__ import annotations

import math

import pytest

from arena.privacy_curves import NoisyStepsCurve, PureCurve, compose_curves

pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution", reason="dp-accounting is an extra")


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-4, 1e-6])
@pytest.mark.parametrize(
    ("rate", "sigma", "times"),
    [(0.01, 1.0, 1_000), (0.1, 2.0, 100), (0.5, 4.0, 50), (0.02, 0.7, 200), (1.0, 3.0, 10), (0.1, 0.6, 1)],
)
def test_it_lies_between_their_bounds(rate: float, sigma: float, times: int, delta: float) -> None:
    """Never below the truth, of which their optimistic estimate is a lower bound; at most 10⁻⁴ above."""
    lower, upper = (
        pld.from_gaussian_mechanism(
            sigma,
            sampling_prob=rate,
            pessimistic_estimate=pessimistic,
            use_connect_dots=pessimistic,
            value_discretization_interval=2e-4,
        )
        .self_compose(times)
        .get_epsilon_for_delta(delta)
        for pessimistic in (False, True)
    )
    assert lower <= NoisyStepsCurve(rate, sigma, times).epsilon(delta) <= upper * 1.0001


@pytest.mark.slow
def test_a_composition_of_different_claims_lies_between_their_bounds() -> None:
    """Twenty answers of randomised response beside subsampled noisy sums."""
    curve = compose_curves([*[PureCurve(0.1)] * 20, NoisyStepsCurve(0.1, 2.0, 50)])
    lower, upper = (
        pld.from_gaussian_mechanism(2.0, sampling_prob=0.1, **settings)
        .self_compose(50)
        .compose(pld.from_randomized_response(2 / (1 + math.exp(0.1)), 2, **settings).self_compose(20))
        .get_epsilon_for_delta(1e-5)
        for settings in (
            {"pessimistic_estimate": False, "value_discretization_interval": 1e-3},
            {"pessimistic_estimate": True, "value_discretization_interval": 1e-4},
        )
    )
    assert lower <= curve.epsilon(1e-5) <= upper * 1.001
