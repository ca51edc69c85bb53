"""svt-1: the sparse vector technique as Lyu, Su and Li put it right."""

from __future__ import annotations

import attrs

from learners.zoo.svt_base import HaltingSparseVector, threshold_setting


@attrs.frozen
class Svt1(HaltingSparseVector):
    """Sparse vector with ρ ~ Lap(2/ε), drawn once, and ν ~ Lap(4c/ε); stops after c ⊤. Algorithm 1 of Lyu,
    Su, Li, Understanding the Sparse Vector Technique for Differential Privacy (2017).

    The claim is ε, for any number of queries. At ε = 0.1, c = 1, T = 0.5 and m = 10 the exact value at the
    inputs of StatDP is 0.0885.
    """

    name = "svt-1"
    theorem = "Algorithm 1 of Lyu, Su, Li (2017), and the proof there"

    threshold: float = threshold_setting(0.5)

    @property
    def hidden(self) -> float:
        return 2 / self.epsilon

    @property
    def scale(self) -> float:
        return 4 * self.halts / self.epsilon
