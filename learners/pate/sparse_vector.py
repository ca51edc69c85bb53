"""sparse-vector: answers only whether the teachers' vote is far from a tie."""

from __future__ import annotations

from math import log, sqrt

import attrs

from arena.claims import Claim, PrivacyUnit
from arena.settings import count_setting
from learners.mechanisms.accounting.composition import optimal_composition, pure_curve
from learners.pate.ensemble.screening import Screening, largest_distance


@attrs.frozen
class SparseVector(Screening):
    """Answers 1 if dist + Lap(2λ) > w + Lap(λ), else ⊥; halts after T answers ⊥, or ℓ answers.

    Algorithm 6 (the sparse vector technique) of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private
    Learning, in the form of Dwork and Roth (The Algorithmic Foundations of Differential Privacy, 2014,
    Algorithm 2): λ = √(32T ln(1/δ))/ε, and a threshold with fresh noise after each ⊥. The queries are the
    `distances`, whose sensitivity is 1. `sparse-vector-printed` is the algorithm as the paper prints it.

    Privacy: a run is (2/λ, 0)-DP. The claim is the least ε at δ of min(T, ℓ) runs by Theorem 3.3 of Kairouz,
    Oh, Viswanath (2015), about half of the ε for which λ is chosen, since the printed λ is twice what
    advanced composition needs.
    """

    name = "sparse-vector"
    theorem = "Dwork and Roth (2014), Theorem 3.23, and Theorem 3.3 of Kairouz, Oh, Viswanath (2015)"

    teachers: int = count_setting(1_001, help="K, the number of teachers")

    @property
    def claim(self) -> Claim:
        run = 2 / self.effective_scale
        epsilon, delta = optimal_composition(self.runs, run, slack=self.delta)
        return Claim(
            epsilon=epsilon,
            delta=delta,
            protects=(PrivacyUnit.TRAINING_EXAMPLE,),
            curve=pure_curve(self.runs, run),
        )

    @property
    def _default_scale(self) -> float:
        return sqrt(32 * self.unstable * log(1 / self.delta)) / self.epsilon

    @property
    def _default_threshold(self) -> float:
        """Half way between a tie and agreement of all teachers; the algorithm leaves it open."""
        return largest_distance(self.teachers) / 2
