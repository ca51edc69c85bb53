"""above-threshold: AboveThreshold itself as a predictor, every training example its own teacher."""

from __future__ import annotations

import attrs
import numpy as np

from arena.claims import TRAINING_EXAMPLE, Claim
from arena.sample import Sample
from arena.settings import at_least, at_most, more_than, setting, whole
from learners.mechanisms.accounting.composition import basic_composition
from learners.mechanisms.noise.laplace_noise import laplace_cdf
from learners.mechanisms.sparse_vector.above_threshold import AboveThreshold
from learners.predictors.vote_predictor import SparseVotesLaw, SparseVotesState, VotePredictor


@attrs.frozen
class AboveThresholdPredictor(VotePredictor):
    """Answers 1 where the noisy mean vote of teachers, one trained on each example, is at or above a noisy
    threshold, and halts after so many ones.

    AboveThreshold (Algorithm 1) of Dwork and Roth (2014): of n examples, each moves the mean vote by 1/n at
    most, so the threshold has noise Lap(2/(εn)), drawn afresh after every 1, and each vote Lap(4/(εn)).
    Zeros cost nothing, each 1 costs ε. It learns nothing from queries and protects training examples only.
    """

    name = "above-threshold"
    theorem = "Theorem 3.23 of Dwork and Roth, The Algorithmic Foundations of DP, and basic composition"

    epsilon: float = setting(0.5, unit="nats", help="ε of one halt", check=more_than(0))
    threshold: float = setting(
        0.5, unit="fraction", help="the mean vote that counts as above", check=[at_least(0), at_most(1)]
    )
    halts: int = setting(1, help="c, answers 1 before it halts", check=[whole, at_least(1)])

    @property
    def claim(self) -> Claim:
        epsilon, delta = basic_composition(self.halts, self.epsilon)
        return Claim(epsilon=epsilon, delta=delta, protects=(TRAINING_EXAMPLE,))

    @property
    def common_random_numbers(self) -> bool:
        """Where it halts at its first 1: then no game draws a second threshold."""
        return self.halts == 1

    def law(self, sample: Sample) -> SparseVotesLaw:
        """The threshold's noise is hidden. It has a kink where the threshold meets a vote."""
        unit = 4 / (self.epsilon * self.size)

        def chances(votes: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            ahead = (self.threshold + noise - votes) / unit
            return laplace_cdf(ahead), np.zeros_like(ahead), laplace_cdf(-ahead)

        return SparseVotesLaw(
            self.electorate(sample),
            chances,
            scale=unit / 2,
            kinks=lambda votes: votes - self.threshold,
            halts=self.halts,
        )

    def start(self, games: int, rng: np.random.Generator) -> SparseVotesState:
        mechanism = AboveThreshold(
            games,
            rng,
            threshold=self.threshold,
            epsilon=self.epsilon,
            sensitivity=1 / self.size,
            halts=self.halts,
        )
        return SparseVotesState(self, games, mechanism)
