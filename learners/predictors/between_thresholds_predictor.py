"""between-thresholds: BetweenThresholds as a predictor, with one teacher per training example."""

from __future__ import annotations

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.sample import Sample
from arena.settings import at_least, at_most, less_than, more_than, setting, whole
from learners.mechanisms.accounting.composition import best_composition
from learners.mechanisms.noise.laplace_noise import laplace_between, laplace_cdf
from learners.mechanisms.sparse_vector.between_thresholds import BetweenThresholds, delta_of_gap
from learners.predictors.vote_predictor import SparseVotesLaw, SparseVotesState, VotePredictor


@attrs.frozen
class BetweenThresholdsPredictor(VotePredictor):
    """Answers every query by BetweenThresholds on the mean vote of one teacher per training example.

    Lemma C.3 and Observation 2 of Private Everlasting Prediction, v1: the central mechanism of GenericBBL,
    without its subsets and rounds. It does not learn from queries, and protects training examples only.
    """

    name = "between-thresholds"
    theorem = "Lemma C.3 and Observation 2 of Private Everlasting Prediction, v1"

    epsilon: float = setting(0.5, unit="nats", help="ε′ of one halt", check=[more_than(0), at_most(1)])
    alpha: float = setting(
        0.25, unit="fraction", help="the thresholds are 1/2 ± alpha", check=[more_than(0), less_than(0.5)]
    )
    halts: int = setting(1, help='c, outcomes "between" after which it halts', check=[whole, at_least(1)])
    slack: float = setting(
        1e-6, unit="probability", help="δ spent on advanced composition", check=[more_than(0), less_than(1)]
    )

    @property
    def claim(self) -> Claim:
        delta = delta_of_gap(epsilon=self.epsilon, gap=2 * self.alpha, size=self.size)
        if delta >= 1:
            return Claim(epsilon=np.inf, delta=1, protects=(PrivacyUnit.TRAINING_EXAMPLE,))
        epsilon, delta = best_composition(self.halts, self.epsilon, delta, slack=self.slack)
        return Claim(epsilon=epsilon, delta=min(delta, 1.0), protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    @property
    def common_random_numbers(self) -> bool:
        """Whether it halts at its first "between", so that no game draws a second μ."""
        return self.halts == 1

    def law(self, sample: Sample) -> SparseVotesLaw:
        """The hidden number is μ; kinks: where a threshold equals a vote, and where the thresholds cross."""
        lower, upper = 0.5 - self.alpha, 0.5 + self.alpha
        unit = 6 / (self.epsilon * self.size)

        def probabilities(votes: np.ndarray, mu: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            low, high = (lower + mu - votes) / unit, (upper - mu - votes) / unit
            return laplace_cdf(low), laplace_cdf(-np.maximum(low, high)), laplace_between(low, high)

        return SparseVotesLaw(
            self.train_electorate(sample),
            probabilities,
            scale=unit / 3,
            kinks=lambda votes: np.concatenate([[self.alpha], votes - lower, upper - votes]),
            halts=self.halts,
        )

    def start(self, games: int, rng: np.random.Generator) -> SparseVotesState:
        mechanism = BetweenThresholds(
            games,
            rng,
            lower=0.5 - self.alpha,
            upper=0.5 + self.alpha,
            epsilon=self.epsilon,
            size=self.size,
            halts=self.halts,
        )
        return SparseVotesState(self, games, mechanism)
