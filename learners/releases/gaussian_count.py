"""gaussian-count: the number of examples labelled 1, with Gaussian noise."""

from __future__ import annotations

from math import log, pi, sqrt

import attrs
import numpy as np

from arena.claims import Claim
from arena.laws import Density
from arena.neighbours import Neighbours, neighbours_setting
from arena.privacy_curves import GaussianCurve
from arena.sample import Sample, Training
from arena.settings import less_than, more_than, setting
from learners.common.relation_claims import claim_of_sensitivity_one
from learners.common.release_learner import ReleaseLearner
from learners.mechanisms.noise.gaussian_noise import gaussian_delta, gaussian_sigma
from learners.releases.label_counts import count_ones, count_ones_by_game

_REACH = 9.0  # in standard deviations; the mass beyond is less than 1e-18


@attrs.frozen
class GaussianCount(ReleaseLearner):
    """Releases #{i : y_i = 1} + N(0, σ²): the Gaussian mechanism for a count of sensitivity 1.

    By default σ is the least that gives (ε, δ), by the analytic calibration of Balle and Wang (2018). If σ is
    set, the claim is its δ at ε. Either way the claim is exact: for two neighbours that differ in one label,
    no smaller δ holds.
    """

    name = "gaussian-count"
    theorem = "Theorem 8 of Balle and Wang, Improving the Gaussian Mechanism for DP (2018); tight"
    common_random_numbers = True  # every game draws one random number

    epsilon: float = setting(1.0, unit="nats", help="the ε of the claim", check=more_than(0))
    delta: float = setting(
        1e-5, unit="probability", help="the δ to which σ is calibrated", check=[more_than(0), less_than(1)]
    )
    sigma: float | None = setting(
        None, unit="examples", help="σ of the noise; default: calibrated to ε and δ", check=more_than(0)
    )
    neighbours: str = neighbours_setting(Neighbours.REPLACE_ONE)

    @property
    def sigma_run(self) -> float:
        """The standard deviation of the noise."""
        if self.sigma is not None:
            return self.sigma
        return gaussian_sigma(epsilon=self.epsilon, delta=self.delta)

    @property
    def claim(self) -> Claim:
        delta = gaussian_delta(epsilon=self.epsilon, sigma=self.sigma_run)
        return claim_of_sensitivity_one(
            self.epsilon, delta, self.neighbours, GaussianCurve(1 / self.sigma_run)
        )

    def law(self, sample: Sample) -> Density:
        count, sigma = float(count_ones(sample)), self.sigma_run
        return Density(
            log=lambda x: -(((x - count) / sigma) ** 2) / 2 - log(sigma * sqrt(2 * pi)),
            kinks=(),
            low=count - _REACH * sigma,
            high=count + _REACH * sigma,
            scale=sigma,
        )

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        return count_ones_by_game(training) + self.sigma_run * rng.standard_normal(training.games)
