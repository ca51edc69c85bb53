"""sparse-vector and sparse-vector-printed: the sparse vector technique on the votes of teachers."""

from __future__ import annotations

from math import log, sqrt

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.messages import UNSTABLE
from arena.sample import Sample
from arena.settings import count_setting
from learners.mechanisms.above_threshold import RestartBudget
from learners.mechanisms.accounting import optimal_composition, pure_curve
from learners.mechanisms.noise import NoisyValues, laplace
from learners.pate.ensemble.screening import (
    Screening,
    ScreeningLaw,
    distances,
    largest_distance,
    threshold_nodes,
)
from learners.pate.ensemble.voters import VotersState


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


@attrs.frozen
class SparseVectorPrinted(SparseVector):
    """Algorithm 6 of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning, as printed.

    The errors, compared with `sparse-vector`:

    - λ = √(32T ln(1/δ)/ε), with ε under the root: too little noise for ε < 1.
    - After the first ⊥ the threshold is w + 1 without noise for the rest of the game.
    - It continues while c ≤ T, so up to T + 1 answers ⊥.

    The claim is that of Lemma 45: (ε, δ) with ε = 32T ln(1/δ)/λ². The constant 32 is so large that it is
    false only for small ε.
    """

    name = "sparse-vector-printed"
    theorem = "Lemma 45 of Liu et al., of the listing as printed: false for small ε"
    common_random_numbers = True  # every game draws one threshold, and one random number for each answer

    @property
    def claim(self) -> Claim:
        variance = 32 * self.unstable * log(1 / self.delta)
        epsilon = self.epsilon if self.scale is None else variance / self.scale**2
        return Claim(epsilon=epsilon, delta=self.delta, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    @property
    def _default_scale(self) -> float:
        return sqrt(32 * self.unstable * log(1 / self.delta) / self.epsilon)

    def law(self, sample: Sample) -> ScreeningLaw:
        noiseless = np.ones(1), np.ones(1)
        return ScreeningLaw(
            self, sample, first=threshold_nodes(self), later=noiseless, halts=self.unstable + 1
        )

    def start(self, games: int, rng: np.random.Generator) -> SparseVectorPrintedState:
        return SparseVectorPrintedState(self, games, rng)


class SparseVectorPrintedState(VotersState):
    """A running sparse-vector-printed."""

    def __init__(self, spec: SparseVectorPrinted, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec, games)
        unit = 2 * spec.effective_scale  # of noisy values
        self._distances = distances(spec.teachers)
        self._noisy = NoisyValues(games, rng, scale=unit)
        self._budget = RestartBudget(games, spec.unstable + 1)
        self._halted = self._budget.halted
        self._thresholds = spec.effective_threshold / unit + laplace(rng, np.empty(games), 1 / 2)
        self._later_threshold = (spec.effective_threshold + 1) / unit

    def _answer(self, ones: np.ndarray) -> np.ndarray:
        """The answers; also ⊥ in games that have halted."""
        below = self._noisy.draw(self._distances[ones]) <= self._thresholds
        if below.any():
            self._thresholds[self._budget.spend(below)] = self._later_threshold
            np.putmask(self._thresholds, self._budget.halted, -np.inf)
        return np.where(below | self._budget.halted, np.int8(UNSTABLE), np.int8(1))
