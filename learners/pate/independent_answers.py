"""pate-gaussian and distance-to-instability: aggregators whose answers have independent noise."""

from __future__ import annotations

from math import log, sqrt, ulp

import attrs
import numpy as np

from arena.claims import Claim
from arena.messages import UNSTABLE
from arena.privacy_curves import GaussianCurve
from arena.sample import Sample
from arena.settings import at_least, count_setting, less_than, more_than, one_of, setting
from learners.common.learner_bases import claim_for_example
from learners.mechanisms.accounting import optimal_composition
from learners.mechanisms.noise import gaussian_delta, gaussian_sigma, laplace, laplace_cdf
from learners.pate.screening import check_reach, distances, majorities
from learners.pate.voters import Voters, VotersState, VotingLaw

ANALYTIC, PRINTED = "analytic", "printed"


@attrs.frozen
class PateGaussian(Voters):
    """Answers 1[Σ_k h_k(x) + N(0, σ²) ≥ K/2] to ℓ queries, and halts.

    Algorithm 1 (standard PATE) of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning. The
    exact δ of ℓ adaptive answers, one Gaussian mechanism of sensitivity √ℓ, is claimed for either
    calibration: analytic, the least σ that is (ε, δ)-DP; printed, step 1, which is larger than necessary.
    """

    name = "pate-gaussian"
    theorem = "Theorem 2 (Algorithm 1) of Liu et al., by Theorem 8 of Balle and Wang (2018)"
    common_random_numbers = True  # every game draws one random number for each answer

    epsilon: float = setting(1.0, unit="nats", help="ε of all answers together")
    delta: float = setting(1e-5, unit="probability", help="δ for which σ is calibrated")
    calibration: str = setting(
        ANALYTIC, help="calibration of σ: analytic, or printed (step 1)", check=one_of(ANALYTIC, PRINTED)
    )
    sigma: float | None = setting(None, unit="votes", help="σ; default: for ε and δ", check=more_than(0))

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
        sigma, sensitivity = self.effective_sigma, sqrt(self.queries)
        delta = gaussian_delta(epsilon=self.epsilon, sigma=sigma, sensitivity=sensitivity)
        return claim_for_example(self.epsilon, delta, curve=GaussianCurve(sensitivity / sigma))

    def law(self, sample: Sample) -> GaussianVotes:
        return GaussianVotes(self, sample)

    def start(self, games: int, rng: np.random.Generator) -> PateGaussianState:
        return PateGaussianState(self, games, rng)


def sigma_of_step_1(*, epsilon: float, delta: float, answers: int) -> float:
    """σ by step 1 of Algorithm 1: √(2ℓ ln(1/δ))/σ + ℓ/(2σ²) = ε for ℓ `answers`."""
    log_delta = log(1 / delta)
    root = epsilon / (sqrt(log_delta + epsilon) + sqrt(log_delta))  # the difference, without cancellation
    return sqrt(answers / 2) / root


class PateGaussianState(VotersState):
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
    def _step_by_votes(self, measure: np.ndarray, ones: np.ndarray) -> np.ndarray:
        from scipy.special import ndtr  # slow to import

        margin = (ones - self._spec.teachers / 2) / self._spec.effective_sigma
        return np.stack([ndtr(-margin), ndtr(margin)])[:, :, None] * measure


@attrs.frozen
class DistanceToInstability(Voters):
    """Answers 1[Σ_k h_k(x) ≥ K/2] if dist + Lap(1/ε) > Γ = ln(1/δ)/ε, else ⊥.

    Algorithm 7 (the distance to instability framework) of Liu, Zhu, Chaudhuri, Wang, for the majority's
    label; for dist see `distances`. One answer is (ε, δ/2)-DP, where Lemma 48 has δ, and ℓ answers compose by
    Theorem 3.3 of Kairouz, Oh, Viswanath (2015): docs/proofs/pate.md. Raises: InvalidArgument if Γ is so high
    that the answer is usually ⊥.
    """

    name = "distance-to-instability"
    theorem = "Lemma 48 (Algorithm 7) of Liu et al., with half its δ; Kairouz, Oh, Viswanath (2015)"
    common_random_numbers = True  # every game draws one random number for each answer

    queries: int = count_setting(1, help="ℓ, the number of answers before it halts")
    epsilon: float = setting(1.0, unit="nats", help="ε of one answer")
    delta: float = setting(1e-5, unit="probability", help="δ of one answer, for which Γ is chosen")
    threshold: float | None = setting(None, unit="votes", help="Γ; default: ln(1/δ)/ε", check=at_least(0))
    slack: float = setting(
        0.0, unit="probability", help="δ for composition; 0: basic", check=[at_least(0), less_than(1)]
    )

    def __attrs_post_init__(self) -> None:
        check_reach(self.effective_threshold, self.teachers)

    @property
    def effective_threshold(self) -> float:
        """Γ, votes."""
        return log(1 / self.delta) / self.epsilon if self.threshold is None else self.threshold

    @property
    def critical_margin(self) -> float:
        """Where the distance equals Γ; at a tie the answer is ⊥ almost surely."""
        return self.effective_threshold + 1

    @property
    def claim(self) -> Claim:
        leak = max(float(laplace_cdf(np.array(-self.effective_threshold * self.epsilon))), ulp(0.0))
        return claim_for_example(*optimal_composition(self.queries, self.epsilon, leak, slack=self.slack))

    def law(self, sample: Sample) -> DistancesLaw:
        return DistancesLaw(self, sample)

    def start(self, games: int, rng: np.random.Generator) -> DistanceToInstabilityState:
        return DistanceToInstabilityState(self, games, rng)


class DistanceToInstabilityState(VotersState):
    def __init__(self, spec: DistanceToInstability, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec, games)
        self._rng = rng
        self._noise = np.empty(games)
        # The limit that the noise must exceed, in units of 1/ε, for each number of votes for label 1.
        self._limits = (spec.effective_threshold - distances(spec.teachers)) * spec.epsilon
        self._majority = majorities(spec.teachers)

    def _answer(self, ones: np.ndarray) -> np.ndarray:
        stable = laplace(self._rng, self._noise) > self._limits[ones]
        return np.where(stable, self._majority[ones], np.int8(UNSTABLE))


class DistancesLaw(VotingLaw):
    outcomes = ((0, False), (1, False), (UNSTABLE, False))

    def _step_by_votes(self, measure: np.ndarray, ones: np.ndarray) -> np.ndarray:
        spec = self._spec
        ahead = (distances(spec.teachers)[ones, None] - spec.effective_threshold) * spec.epsilon
        after = np.zeros((3, *measure.shape))
        after[majorities(spec.teachers)[ones], np.arange(len(ones))] = measure * laplace_cdf(ahead)
        after[2] = measure * laplace_cdf(-ahead)
        return after
