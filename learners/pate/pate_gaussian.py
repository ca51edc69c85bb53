"""pate-gaussian: the majority of the teachers, with Gaussian noise on the vote count."""

from __future__ import annotations

from math import log, sqrt

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.privacy_curves import GaussianCurve
from arena.sample import Sample
from arena.settings import more_than, one_of, setting
from learners.mechanisms.noise import gaussian_delta, gaussian_sigma
from learners.pate.ensemble import Voters, VotersState, VotingLaw

ANALYTIC, PRINTED = "analytic", "printed"


@attrs.frozen
class PateGaussian(Voters):
    """Answers 1[Σ_k h_k(x) + N(0, σ²) ≥ K/2] to ℓ queries, and halts.

    Algorithm 1 (standard PATE) of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning. A
    replaced example changes each count by at most 1, so ℓ adaptive answers are one Gaussian mechanism of
    sensitivity √ℓ (Dong, Roth, Su, Gaussian Differential Privacy, 2022, Corollary 3.3), whose δ is known
    exactly for every ε (Theorem 8 of Balle and Wang, 2018). That δ is claimed for either calibration:

    analytic: the least σ that is (ε, δ)-DP, as in the paper's experiments. printed: step 1, √(2ℓ ln(1/δ))/σ +
    ℓ/(2σ²) = ε, which is (ε, δ)-DP by ℓ/(2σ²)-zCDP and larger than necessary.
    """

    name = "pate-gaussian"
    theorem = "Theorem 2 (Algorithm 1) of Liu et al., by Theorem 8 of Balle and Wang (2018)"
    common_random_numbers = True  # every game draws one random number for each answer

    epsilon: float = setting(1.0, unit="nats", help="ε of all answers together")
    delta: float = setting(1e-5, unit="probability", help="δ for which σ is calibrated")
    calibration: str = setting(
        ANALYTIC, help="calibration of σ: analytic, or printed (step 1)", check=one_of(ANALYTIC, PRINTED)
    )
    sigma: float | None = setting(
        None, unit="votes", help="σ; default: calibrated for ε and δ", check=more_than(0)
    )

    @property
    def effective_sigma(self) -> float:
        """σ, the standard deviation of the noise of a count, votes."""
        if self.sigma is not None:
            return self.sigma
        if self.calibration == PRINTED:
            return sigma_of_step_1(epsilon=self.epsilon, delta=self.delta, answers=self.queries)
        return gaussian_sigma(epsilon=self.epsilon, delta=self.delta, sensitivity=sqrt(self.queries))

    @property
    def claim(self) -> Claim:
        delta = gaussian_delta(
            epsilon=self.epsilon, sigma=self.effective_sigma, sensitivity=sqrt(self.queries)
        )
        return Claim(
            epsilon=self.epsilon,
            delta=delta,
            protects=(PrivacyUnit.TRAINING_EXAMPLE,),
            curve=GaussianCurve(sqrt(self.queries) / self.effective_sigma),
        )

    def law(self, sample: Sample) -> GaussianVotes:
        return GaussianVotes(self, sample)

    def start(self, games: int, rng: np.random.Generator) -> PateGaussianState:
        return PateGaussianState(self, games, rng)


def sigma_of_step_1(*, epsilon: float, delta: float, answers: int) -> float:
    """σ by step 1 of Algorithm 1: √(2ℓ ln(1/δ))/σ + ℓ/(2σ²) = ε for ℓ `answers`.

    With ρ = ℓ/(2σ²) this is ρ + 2√(ρ ln(1/δ)) = ε, so √ρ = √(ln(1/δ) + ε) − √ln(1/δ).
    """
    log_delta = log(1 / delta)
    root = epsilon / (sqrt(log_delta + epsilon) + sqrt(log_delta))  # the difference, without cancellation
    return sqrt(answers / 2) / root


class PateGaussianState(VotersState):
    """A running pate-gaussian."""

    def __init__(self, spec: PateGaussian, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec, games)
        self._rng = rng
        self._sigma = spec.effective_sigma
        self._noisy = np.empty(games)

    def _answer(self, ones: np.ndarray) -> np.ndarray:
        self._rng.standard_normal(out=self._noisy)
        self._noisy *= self._sigma
        self._noisy += ones
        return self._noisy >= self._spec.teachers / 2


class GaussianVotes(VotingLaw):
    """The output distribution of pate-gaussian: independent answers, hence one state."""

    def __init__(self, spec: PateGaussian, sample: Sample) -> None:
        super().__init__(spec, sample)
        self._sigma = spec.effective_sigma

    def _step_by_votes(self, measure: np.ndarray, ones: np.ndarray) -> np.ndarray:
        from scipy.special import ndtr  # slow to import

        margin = (ones - self._spec.teachers / 2) / self._sigma
        return np.stack([ndtr(-margin), ndtr(margin)])[:, :, None] * measure
