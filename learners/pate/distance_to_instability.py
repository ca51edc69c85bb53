"""distance-to-instability: answers with the majority if its noisy distance from a tie is large."""

from __future__ import annotations

from math import log, ulp

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.messages import UNSTABLE
from arena.sample import Sample
from arena.settings import at_least, count_setting, less_than, setting
from learners.mechanisms.accounting import optimal_composition
from learners.mechanisms.noise import laplace, laplace_cdf
from learners.pate.ensemble import Voters, VotersState, VotingLaw
from learners.pate.ensemble.screening import check_reach, distances, majorities


@attrs.frozen
class DistanceToInstability(Voters):
    """Answers 1[Σ_k h_k(x) ≥ K/2] if dist + Lap(1/ε) > Γ = ln(1/δ)/ε, else ⊥.

    Algorithm 7 (the distance to instability framework) of Liu, Zhu, Chaudhuri, Wang, Revisiting
    Model-Agnostic Private Learning, for the majority's label; dist is how many votes may change without
    changing the label (`distances`). The algorithm is for one answer; ℓ answers are composed.

    Privacy: one answer is (ε, δ/2)-DP, where Lemma 48 has δ, and ℓ answers compose by Theorem 3.3 of Kairouz,
    Oh, Viswanath (2015). Proof: docs/proofs/pate.md.

    Raises: InvalidArgument if Γ is so high that the answer is ⊥ more often than not even if all teachers
    agree.
    """

    name = "distance-to-instability"
    theorem = "Lemma 48 (Algorithm 7) of Liu et al., with half its δ; Kairouz, Oh, Viswanath (2015)"
    common_random_numbers = True  # every game draws one random number for each answer

    queries: int = count_setting(1, help="ℓ, the number of answers before it halts")
    epsilon: float = setting(1.0, unit="nats", help="ε of one answer")
    delta: float = setting(1e-5, unit="probability", help="δ of one answer, for which Γ is chosen")
    threshold: float | None = setting(None, unit="votes", help="Γ; default: ln(1/δ)/ε", check=at_least(0))
    slack: float = setting(
        0.0,
        unit="probability",
        help="δ for the composition of answers; 0: basic composition",
        check=[at_least(0), less_than(1)],
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
        epsilon, delta = optimal_composition(self.queries, self.epsilon, leak, slack=self.slack)
        return Claim(epsilon=epsilon, delta=delta, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    def law(self, sample: Sample) -> DistancesLaw:
        return DistancesLaw(self, sample)

    def start(self, games: int, rng: np.random.Generator) -> DistanceToInstabilityState:
        return DistanceToInstabilityState(self, games, rng)


class DistanceToInstabilityState(VotersState):
    """A running distance-to-instability."""

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
    """The output distribution of distance-to-instability: independent answers, hence one state."""

    outcomes = ((0, False), (1, False), (UNSTABLE, False))

    def _step_by_votes(self, measure: np.ndarray, ones: np.ndarray) -> np.ndarray:
        spec = self._spec
        ahead = (distances(spec.teachers)[ones, None] - spec.effective_threshold) * spec.epsilon
        after = np.zeros((3, *measure.shape))
        after[majorities(spec.teachers)[ones], np.arange(len(ones))] = measure * laplace_cdf(ahead)
        after[2] = measure * laplace_cdf(-ahead)
        return after
