"""The curve of the Gaussian mechanism of a claim."""

from __future__ import annotations

import pytest

from arena import InvalidArgument
from arena.privacy_curves import GaussianCurve


@pytest.mark.parametrize("claim", [(0.01, 1e-5), (1.0, 1e-5), (8.0, 1e-9), (50.0, 0.1), (1.0, 0.7)])
def test_the_curve_of_a_claim_has_its_epsilon_and_not_more(claim: tuple[float, float]) -> None:
    epsilon, delta = claim
    curve = GaussianCurve.of_claim(epsilon, delta)
    assert curve.epsilon(delta) == pytest.approx(epsilon, rel=1e-6)
    assert curve.epsilon(delta) <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("claim", [(0.0, 0.1), (1.0, 0.0), (1.0, 1.0)])
def test_claims_of_no_gaussian_mechanism_are_refused(claim: tuple[float, float]) -> None:
    with pytest.raises(InvalidArgument):
        GaussianCurve.of_claim(*claim)
