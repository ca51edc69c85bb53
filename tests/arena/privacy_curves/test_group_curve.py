"""The curve of several steps between neighbours, beside mechanisms whose curve is known."""

from __future__ import annotations

from math import exp

import numpy as np
import pytest

from arena.errors import InvalidArgument
from arena.privacy_curves import (
    ConcentratedCurve,
    GaussianCurve,
    GroupCurve,
    PureCurve,
    RenyiCurve,
    TabulatedCurve,
    extend_to_group,
)

DELTAS = (1e-3, 1e-5, 1e-9)


@pytest.mark.parametrize("mu", [0.001, 0.27, 1.0, 5.0])
@pytest.mark.parametrize("steps", [1, 2, 3, 10])
def test_steps_of_gaussian_curves_are_the_gaussian_curve_of_their_sum(mu: float, steps: int) -> None:
    """Two means that differ by μ in each step differ by their sum: the bound is attained."""
    exact, bound = GaussianCurve(steps * mu), GroupCurve(GaussianCurve(mu), steps)
    epsilons = np.array([0.0, *(exact.epsilon(delta) for delta in DELTAS if exact.epsilon(delta) < 150)])
    truth, deltas = exact.deltas(epsilons), bound.deltas(epsilons)
    assert (deltas >= truth * (1 - 1e-9)).all()
    assert deltas == pytest.approx(truth, rel=0.1)
    assert extend_to_group(GaussianCurve(mu), steps) == exact


@pytest.mark.parametrize("steps", [2, 5])
def test_steps_of_pure_privacy(steps: int) -> None:
    """Two-sided geometric noise on a count: the steps of a group add up, and their curve is known."""
    epsilon = 0.4
    outputs = np.arange(-200, 200)
    p, q = (exp(-epsilon) ** abs(outputs - moved) * np.tanh(epsilon / 2) for moved in (0, steps))
    at = np.linspace(0, 1.2 * steps * epsilon, 30)
    truth = np.maximum(p - np.exp(at)[:, None] * q, 0).sum(axis=1)
    bound = GroupCurve(PureCurve(epsilon), steps).deltas(at)
    assert (bound >= truth - 1e-12).all()
    assert bound == pytest.approx(truth, abs=3e-4)  # the noise attains the bound
    assert (extend_to_group(PureCurve(epsilon), steps).deltas(at) >= truth - 1e-12).all()


def test_one_point_gives_what_the_formula_says() -> None:
    """(ε, δ·(1 + e^ε + … + e^((N−1)ε))) at Nε and beyond, and nothing at so small a δ."""
    point = TabulatedCurve([1.0], [1e-6])
    for steps in (2, 7):
        grown = 1e-6 * sum(exp(i) for i in range(steps))
        assert GroupCurve(point, steps).deltas(np.array([float(steps)])) == pytest.approx(grown, rel=1e-4)
        assert GroupCurve(point, steps).deltas(np.array([steps + 9.0])) == pytest.approx(grown, rel=1e-4)
    assert GroupCurve(point, 2).epsilon(1e-6) == np.inf


def test_a_million_steps_take_no_longer() -> None:
    exact = GaussianCurve(0.5).epsilon(1e-5)
    assert exact <= GroupCurve(GaussianCurve(5e-7), 1_000_000).epsilon(1e-5) <= 1.001 * exact


def test_claims_about_divergences_extend() -> None:
    truth = GaussianCurve(3 * 0.1).deltas(np.array([0.0, 0.3, 1.0]))
    curves = [
        extend_to_group(ConcentratedCurve(0.005), 3),
        GroupCurve(ConcentratedCurve(0.005), 3),
        extend_to_group(RenyiCurve(8.0, 0.04), 3),
        extend_to_group(GaussianCurve(0.1, 1e-9), 3),
    ]
    assert curves[0] == ConcentratedCurve(0.045)
    for curve in curves:
        assert (curve.deltas(np.array([0.0, 0.3, 1.0])) >= truth).all()
    assert curves[1].epsilon(1e-5) == pytest.approx(curves[0].epsilon(1e-5), rel=1e-3)
    assert str(curves[3]) == "3 steps between neighbours, each with the Gaussian mechanism with μ = 0.1"


def test_nothing_private_stays_nothing_private() -> None:
    assert GroupCurve(GaussianCurve(80.0), 2).deltas(np.array([0.0, 5.0])) == pytest.approx([1.0, 1.0])
    assert GroupCurve(TabulatedCurve([0.0], [1.0]), 2).deltas(np.array([0.0])) == pytest.approx([1.0])
    with pytest.raises(InvalidArgument, match="the claim of one step must be a privacy curve"):
        GroupCurve("mu=1", 2)  # type: ignore[arg-type]
