"""svt-4: the sparse vector technique of Lee and Clifton, whose noise does not grow with c."""

from __future__ import annotations

import attrs

from learners.zoo.svt_base import HaltingSvtLearner


@attrs.frozen
class Svt4(HaltingSvtLearner):
    """Sparse vector with ρ ~ Lap(4/ε), drawn once, and ν ~ Lap(4/(3ε)) for every c; stops after c answers
    "above".

    Lee, Clifton, Top-k Frequent Itemsets via Differentially Private FP-trees (2014); Algorithm 4 of Lyu, Su,
    Li (2017). The error: the noise of the queries is enough only for monotone queries and one "above". It
    claims ε; what holds is (1 + 6c)ε/4.
    """

    name = "svt-4"
    theorem = "none: too little noise on the queries; (1 + 6c)ε/4 holds (Lyu, Su, Li 2017)"

    @property
    def threshold_scale(self) -> float:
        return 4 / self.epsilon

    @property
    def noise_scale(self) -> float:
        return 4 / (3 * self.epsilon)
