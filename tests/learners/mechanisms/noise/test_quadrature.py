from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from arena.errors import InvalidArgument
from learners.mechanisms.noise.densities import laplace_nodes


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


def test_kinks_beyond_the_noise_change_nothing() -> None:
    assert len(laplace_nodes(1.0, [-1e6, 41.0])[0]) == len(laplace_nodes(1.0)[0])


def test_noise_has_a_scale() -> None:
    with pytest.raises(InvalidArgument, match=r"scale must be positive and finite, got 0\.0"):
        laplace_nodes(0.0)
