"""gaussian-count: the number of examples labelled 1, with Gaussian noise."""

from __future__ import annotations

from math import log, pi, sqrt

import attrs
import numpy as np

from arena.claims import Claim, Neighbours, PrivacyUnit, neighbours_setting, read_relation
from arena.laws import Density
from arena.privacy_curves import GaussianCurve
from arena.sample import Sample, Training
from arena.settings import more_than, setting
from learners.common.learner_bases import ReleaseLearner
from learners.mechanisms.noise import gaussian_delta, gaussian_sigma
from learners.releases.laplace_count import count_ones, count_ones_by_game

_REACH = 9.0  # in standard deviations; the mass beyond is less than 1e-18


@attrs.frozen
class GaussianCount(ReleaseLearner):
    """Releases #{i : y_i = 1} + N(0, σ²): the Gaussian mechanism for a count.

    The count has sensitivity 1, or that of a group or a user: the number of their examples. By default σ is
    the least that gives (ε, δ) for the relation of the claim, by the analytic calibration of Balle and Wang
    (2018). If σ is set, the claim is its δ at ε. Either way the claim is exact: for two neighbours that
    differ in as many labels, no smaller δ holds.
    """

    name = "gaussian-count"
    theorem = "Theorem 8 of Balle and Wang, Improving the Gaussian Mechanism for DP (2018); tight"
    common_random_numbers = True  # every game draws one random number

    epsilon: float = setting(1.0, unit="nats", help="the ε of the claim")
    delta: float = setting(1e-5, unit="probability", help="the δ to which σ is calibrated")
    sigma: float | None = setting(
        None, unit="examples", help="σ of the noise; default: calibrated to ε and δ", check=more_than(0)
    )
    neighbours: str = neighbours_setting(Neighbours.REPLACE_ONE)

    @property
    def sensitivity(self) -> int:
        """By how much the counts of neighbours may differ."""
        return read_relation(self.neighbours).size

    @property
    def sigma_run(self) -> float:
        """The standard deviation of the noise."""
        if self.sigma is not None:
            return self.sigma
        return gaussian_sigma(epsilon=self.epsilon, delta=self.delta, sensitivity=self.sensitivity)

    @property
    def claim(self) -> Claim:
        sigma = self.sigma_run
        return Claim(
            epsilon=self.epsilon,
            delta=gaussian_delta(epsilon=self.epsilon, sigma=sigma, sensitivity=self.sensitivity),
            protects=(PrivacyUnit.TRAINING_EXAMPLE,),
            neighbours=self.neighbours,
            curve=GaussianCurve(self.sensitivity / sigma),
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
