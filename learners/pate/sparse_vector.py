"""sparse-vector: tells where the teachers' vote is far from a tie, and nothing else."""

from __future__ import annotations

from math import log, sqrt

import attrs

from arena.claims import Claim, PrivacyUnit
from arena.settings import at_least, setting, whole
from learners.mechanisms.accounting.composition import optimal_composition
from learners.pate.ensemble.screening import Screening, farthest


@attrs.frozen
class SparseVector(Screening):
    """Answers ⊤, told as 1, where dist + Lap(2λ) > w + Lap(λ), else ⊥; halts after T of these, or ℓ answers.

    Algorithm 6 (the sparse vector technique) of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private
    Learning, as Dwork and Roth have it (The Algorithmic Foundations of Differential Privacy, 2014, Algorithm
    2): λ = √(32T ln(1/δ))/ε and a threshold with fresh noise after each ⊥. Asked about `distances`, whose
    sensitivity is 1. `sparse-vector-printed` is what the paper prints.

    A run is (2/λ, 0)-DP; the claim is the least ε at δ of min(T, ℓ) of them, by Theorem 3.3 of Kairouz, Oh,
    Viswanath (2015): about half of the ε that λ is chosen for, since the printed λ is twice what advanced
    composition needs.
    """

    name = "sparse-vector"
    theorem = "Dwork and Roth (2014), Theorem 3.23, and Theorem 3.3 of Kairouz, Oh, Viswanath (2015)"

    teachers: int = setting(1_001, help="K, the teachers", check=[whole, at_least(1)])

    @property
    def claim(self) -> Claim:
        epsilon, delta = optimal_composition(self.runs, 2 / self.scale_run, slack=self.delta)
        return Claim(epsilon=epsilon, delta=delta, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    @property
    def _default_scale(self) -> float:
        return sqrt(32 * self.unstable * log(1 / self.delta)) / self.epsilon

    @property
    def _default_threshold(self) -> float:
        """Half way between a tie and teachers of one mind; the algorithm is given any."""
        return farthest(self.teachers) / 2
