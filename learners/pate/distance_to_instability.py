"""distance-to-instability: the votes of teachers, told where their noisy distance from a tie is large."""

from __future__ import annotations

from math import log, ulp

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.replies import UNSTABLE
from arena.sample import Sample
from arena.settings import at_least, less_than, more_than, setting, whole
from learners.mechanisms.accounting.composition import optimal_composition
from learners.mechanisms.noise.laplace_noise import laplace, laplace_cdf
from learners.pate.ensemble import Voters, VotersState, VotingLaw
from learners.pate.ensemble.screening import check_reach, distances, majorities


@attrs.frozen
class DistanceToInstability(Voters):
    """Answers 1[Σ_k h_k(x) ≥ K/2] where dist + Lap(1/ε) > Γ = ln(1/δ)/ε, else ⊥.

    Algorithm 7 (the distance to instability framework) of Liu, Zhu, Chaudhuri, Wang, Revisiting
    Model-Agnostic Private Learning, of the majority's label; dist is how many votes may change before the
    label does (`distances`). It is an algorithm for one answer; ℓ of them compose.

    One answer is (ε, τ)-DP with τ = P[Lap(1/ε) > Γ], which is δ/2 where Lemma 48 has δ. Where neighbours
    have one label, only the answer's being ⊥ tells them apart: (ε, 0). Where they have two, dist is 0 in both
    and each label is told with chance τ: (0, τ), which is attained. ℓ answers are claimed by Theorem 3.3 of
    Kairouz, Oh, Viswanath (2015).

    Raises: InvalidArgument where Γ is so high that even teachers of one mind would be answered ⊥ more often
    than not.
    """

    name = "distance-to-instability"
    theorem = "Lemma 48 (Algorithm 7) of Liu et al., with half its δ; Kairouz, Oh, Viswanath (2015)"

    queries: int = setting(1, help="ℓ, the answers before it halts", check=[whole, at_least(1)])
    epsilon: float = setting(1.0, unit="nats", help="ε of one answer", check=more_than(0))
    delta: float = setting(
        1e-5,
        unit="probability",
        help="δ of one answer, that Γ is chosen for",
        check=[more_than(0), less_than(1)],
    )
    threshold: float | None = setting(None, unit="votes", help="Γ; default: ln(1/δ)/ε", check=at_least(0))
    slack: float = setting(
        0.0,
        unit="probability",
        help="δ spent on composing answers; 0: their ε's add up",
        check=[at_least(0), less_than(1)],
    )

    def __attrs_post_init__(self) -> None:
        check_reach(self.threshold_run, self.teachers)

    @property
    def threshold_run(self) -> float:
        """Γ."""
        return log(1 / self.delta) / self.epsilon if self.threshold is None else self.threshold

    @property
    def telling_margin(self) -> float:
        """Where the distance is at Γ; at a tie the answer is ⊥ almost surely."""
        return self.threshold_run + 1

    @property
    def claim(self) -> Claim:
        told = max(float(laplace_cdf(np.array(-self.threshold_run * self.epsilon))), ulp(0.0))
        epsilon, delta = optimal_composition(self.queries, self.epsilon, told, slack=self.slack)
        return Claim(epsilon=epsilon, delta=delta, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    @property
    def common_random_numbers(self) -> bool:
        """Every game draws one number an answer."""
        return True

    def law(self, sample: Sample) -> DistancesLaw:
        return DistancesLaw(self, sample)

    def start(self, games: int, rng: np.random.Generator) -> DistanceToInstabilityState:
        return DistanceToInstabilityState(self, games, rng)


class DistanceToInstabilityState(VotersState):
    """distance-to-instability at a table."""

    def __init__(self, spec: DistanceToInstability, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec, games)
        self._rng = rng
        self._noise = np.empty(games)
        # What the noise has to exceed, in units of 1/ε, for each number of votes for 1.
        self._limits = (spec.threshold_run - distances(spec.teachers)) * spec.epsilon
        self._majority = majorities(spec.teachers)

    def _answer(self, ones: np.ndarray) -> np.ndarray:
        told = laplace(self._rng, self._noise) > self._limits[ones]
        return np.where(told, self._majority[ones], np.int8(UNSTABLE))


class DistancesLaw(VotingLaw):
    """The law of distance-to-instability: independent answers."""

    outcomes = ((0, False), (1, False), (UNSTABLE, False))

    def start(self) -> np.ndarray:
        return np.ones(1)

    def _after(self, measure: np.ndarray, ones: np.ndarray) -> np.ndarray:
        spec = self._spec
        ahead = (distances(spec.teachers)[ones, None] - spec.threshold_run) * spec.epsilon
        after = np.zeros((3, *measure.shape))
        after[majorities(spec.teachers)[ones], np.arange(len(ones))] = measure * laplace_cdf(ahead)
        after[2] = measure * laplace_cdf(-ahead)
        return after
