"""above-threshold: AboveThreshold as a predictor, with one teacher per training example."""

from __future__ import annotations

import attrs
import numpy as np

from arena.privacy_curves import PureCurve
from arena.sample import Sample
from arena.settings import at_least, at_most, count_setting, setting
from learners.common.vote_laws import SparseVotesLaw
from learners.mechanisms.accounting.composition import Guarantee, basic_composition, pure_curve
from learners.mechanisms.noise.laplace_noise import laplace_cdf
from learners.mechanisms.sparse_vector.above_threshold import AboveThreshold
from learners.predictors.vote_predictor import SparseVotesState, VotePredictor


@attrs.frozen
class AboveThresholdPredictor(VotePredictor):
    """Answers 1 if the noisy mean vote of the teachers is at or above a noisy threshold; halts after c ones.

    AboveThreshold (Algorithm 1) of Dwork and Roth (2014), with one teacher on each of n examples: each vote
    has noise Lap(4/(εn)) and the threshold Lap(2/(εn)), drawn anew after every 1. Answers 0 cost nothing,
    each 1 costs ε. It does not learn from queries.
    """

    name = "above-threshold"
    theorem = "Theorem 3.23 of Dwork and Roth, The Algorithmic Foundations of DP, and basic composition"

    epsilon: float = setting(0.5, unit="nats", help="ε of one halt")
    threshold: float = setting(
        0.5,
        unit="fraction",
        help="the mean vote from which on the answer is 1",
        check=[at_least(0), at_most(1)],
    )
    halts: int = count_setting(1, help="c, answers 1 after which it halts")

    def _cost(self) -> Guarantee:
        return basic_composition(self.halts, self.epsilon)

    def _curve(self) -> PureCurve | None:
        return pure_curve(self.halts, self.epsilon)

    @property
    def common_random_numbers(self) -> bool:
        """Whether it halts at its first 1, so that no game draws a second threshold."""
        return self.halts == 1

    def law(self, sample: Sample) -> SparseVotesLaw:
        """The hidden number is the noise of the threshold; kinks are where the threshold equals a vote."""
        unit = 4 / (self.epsilon * self.size)

        def probabilities(votes: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            distance = (self.threshold + noise - votes) / unit
            return laplace_cdf(distance), np.zeros_like(distance), laplace_cdf(-distance)

        return SparseVotesLaw(
            self.train_electorate(sample),
            probabilities,
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
