"""svt-1: the sparse vector technique as corrected by Lyu, Su and Li."""

from __future__ import annotations

import attrs

from learners.zoo.svt_base import HaltingSvtLearner, threshold_setting


@attrs.frozen
class Svt1(HaltingSvtLearner):
    """Sparse vector with ρ ~ Lap(2/ε), drawn once, and ν ~ Lap(4c/ε); stops after c answers "above".

    Algorithm 1 of Lyu, Su, Li, Understanding the Sparse Vector Technique for Differential Privacy (2017). The
    claim is ε, for any number of queries.
    """

    name = "svt-1"
    theorem = "Algorithm 1 of Lyu, Su, Li (2017), and the proof there"

    threshold: float = threshold_setting(0.5)

    @property
    def threshold_scale(self) -> float:
        return 2 / self.epsilon

    @property
    def noise_scale(self) -> float:
        return 4 * self.halts / self.epsilon
