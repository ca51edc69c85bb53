"""svt-4: the sparse vector technique of Lee and Clifton, whose noise does not grow with c."""

from __future__ import annotations

import attrs

from learners.zoo.svt_base import HaltingSparseVector, threshold_setting


@attrs.frozen
class Svt4(HaltingSparseVector):
    """Sparse vector with ρ ~ Lap(4/ε), drawn once, and ν ~ Lap(4/(3ε)) whatever c; stops after c ⊤. Lee,
    Clifton, Top-k Frequent Itemsets via Differentially Private FP-trees (2014); Algorithm 4 of Lyu, Su, Li,
    Understanding the Sparse Vector Technique for Differential Privacy (2017).

    The slip: the noise of the queries is enough for monotone queries and one ⊤. It claims ε; what holds is
    (1 + 6c)ε/4. At ε = 0.1, c = 1, T = 1 and m = 10 the exact value at the inputs of StatDP is 0.1725.
    """

    name = "svt-4"
    theorem = "none: too little noise on the queries; (1 + 6c)ε/4 holds (Lyu, Su, Li 2017)"

    threshold: float = threshold_setting(1.0)

    @property
    def hidden(self) -> float:
        return 4 / self.epsilon

    @property
    def scale(self) -> float:
        return 4 / (3 * self.epsilon)
