"""svt-2: the sparse vector technique of Dwork and Roth's book."""

from __future__ import annotations

import attrs

from learners.zoo.svt_base import HaltingSvtLearner


@attrs.frozen
class Svt2(HaltingSvtLearner):
    """Sparse vector with ρ ~ Lap(2c/ε), drawn afresh after each "above", and ν ~ Lap(4c/ε); stops after c of
    these.

    Algorithm Sparse of Dwork and Roth, The Algorithmic Foundations of Differential Privacy (2014), section
    3.6; Algorithm 2 of Lyu, Su, Li (2017). The claim is ε, for any number of queries.
    """

    name = "svt-2"
    theorem = "Theorem 3.25 of The Algorithmic Foundations of Differential Privacy (Dwork, Roth 2014)"
    renewed = True

    @property
    def threshold_scale(self) -> float:
        return 2 * self.halts / self.epsilon

    @property
    def noise_scale(self) -> float:
        return 4 * self.halts / self.epsilon
