from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from learners.mechanisms.noise.densities import HiddenBelow


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
