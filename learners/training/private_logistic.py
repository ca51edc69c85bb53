"""Logistic regression made private by noise: on the minimiser, or on the objective."""

from __future__ import annotations

from abc import abstractmethod
from math import log1p

import attrs
import numpy as np
from scipy.special import expit

from arena.claims import Claim
from arena.errors import InvalidArgument
from arena.sample import Sample, Training
from arena.settings import count_setting, more_than, setting
from learners.common.learner_bases import FixedSizeLearner, ReleaseLearner, claim_for_example

_MOST_STEPS = 100  # of Newton's method, which needs about ten
_GRADIENT = 1e-12  # the length of the gradient at which it ends
_CURVATURE = 0.25  # the largest second derivative of the logistic loss


@attrs.frozen
class PrivateLogistic(FixedSizeLearner, ReleaseLearner):
    """Base of private logistic regressions: releases weights (n, d). Points longer than 1 are shortened to 1.

    The objective is the mean of ln(1 + e^(−y·w·x)), with labels y of −1 and 1, plus regularisation·‖w‖²/2.
    """

    features: int = count_setting(1, help="d, the coordinates of a point")
    size: int = count_setting(100, help="n, the number of training examples")
    epsilon: float = setting(1.0, unit="nats", help="ε of the claim")
    regularisation: float = setting(0.1, help="Λ, the weight of ‖w‖²/2", check=more_than(0))

    @property
    def point_shape(self) -> tuple[int, ...]:
        return (self.features,)

    @property
    def domain(self) -> tuple[float, float]:
        return -1.0, 1.0

    @property
    def claim(self) -> Claim:
        return claim_for_example(self.epsilon)

    def release(self, training: Training, rng: np.random.Generator) -> np.ndarray:
        noise = self._draw_noise(training.games, rng)
        weights = np.empty_like(noise)
        for sample, games in training.groups():
            self.check_sample_size(sample)
            weights[games] = self._fit(sample, noise[games])
        return weights

    @abstractmethod
    def _fit(self, sample: Sample, noise: np.ndarray) -> np.ndarray:
        """The weights (g, d) of games with the same sample, given their noise (g, d)."""

    @property
    @abstractmethod
    def _noise_scale(self) -> float:
        """The mean length of the noise over d."""

    def _draw_noise(self, games: int, rng: np.random.Generator) -> np.ndarray:
        """(games, d), with a density proportional to e^(−length/scale)."""
        directions = rng.standard_normal((games, self.features))
        lengths = rng.gamma(self.features, self._noise_scale, size=games)
        return directions * (lengths / np.sqrt((directions**2).sum(axis=1)))[:, None]

    def _minimise(self, sample: Sample, regularisation: float, tilt: np.ndarray) -> np.ndarray:
        """(g, d): the minimisers of the mean loss + regularisation·‖w‖²/2 + tilt·w, for each tilt (g, d)."""
        lengths = np.sqrt((sample.points**2).sum(axis=1))
        signed = sample.points / np.maximum(lengths, 1)[:, None] * (2.0 * sample.labels - 1)[:, None]
        shares = sample.counts / sample.size
        weights = np.zeros_like(tilt)
        identity = regularisation * np.eye(self.features)
        for _ in range(_MOST_STEPS):
            wrong = expit(-weights @ signed.T)
            gradient = regularisation * weights + tilt - (shares * wrong) @ signed
            if (gradient**2).sum(axis=1).max(initial=0.0) <= _GRADIENT**2:
                break
            curvature = np.einsum("gk,ki,kj->gij", shares * wrong * (1 - wrong), signed, signed) + identity
            step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
            # A damped step of a function whose third derivative is bounded by its second.
            length = np.sqrt((step**2).sum(axis=1))
            weights = weights - step * (np.log1p(length) / np.maximum(length, 1e-300))[:, None]
        return weights


@attrs.frozen
class OutputPerturbation(PrivateLogistic):
    """Logistic regression whose minimiser is published with noise.

    Algorithm 1 of Chaudhuri, Monteleoni, Sarwate (2011); the sensitivity is 2/(nΛ) (Corollary 8).
    """

    name = "output-perturbation"
    theorem = "Theorem 6 of Chaudhuri, Monteleoni, Sarwate (2011)"

    @property
    def _noise_scale(self) -> float:
        return 2 / (self.size * self.regularisation * self.epsilon)

    def _fit(self, sample: Sample, noise: np.ndarray) -> np.ndarray:
        return self._minimise(sample, self.regularisation, np.zeros((1, self.features))) + noise


@attrs.frozen
class ObjectivePerturbation(PrivateLogistic):
    """Logistic regression whose objective has a random linear term.

    Algorithm 2 of Chaudhuri, Monteleoni, Sarwate (2011), with c = 1/4 for the logistic loss: ln(1 + 2c/(nΛ) +
    c²/(nΛ)²) of ε pays for the change of curvature. Deviation: settings in which that is at least ε/2 are
    refused, where the paper adds regularisation if it is ε.
    """

    name = "objective-perturbation"
    theorem = "Theorem 9 of Chaudhuri, Monteleoni, Sarwate (2011)"

    def __attrs_post_init__(self) -> None:
        if self._remaining_epsilon <= self.epsilon / 2:
            raise InvalidArgument(
                "regularisation and size must leave half of ε for the noise",
                value=f"{self.epsilon - self._remaining_epsilon:.3g} of {self.epsilon:g} nats are used",
                remedy="Raise size, regularisation or epsilon.",
            )

    @property
    def _remaining_epsilon(self) -> float:
        change = _CURVATURE / (self.size * self.regularisation)
        return self.epsilon - 2 * log1p(change)

    @property
    def _noise_scale(self) -> float:
        return 2 / self._remaining_epsilon

    def _fit(self, sample: Sample, noise: np.ndarray) -> np.ndarray:
        return self._minimise(sample, self.regularisation, noise / self.size)
