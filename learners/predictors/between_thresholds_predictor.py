"""between-thresholds: BetweenThresholds as a predictor, with one teacher per training example."""

from __future__ import annotations

import attrs
import numpy as np

from arena.sample import Sample
from arena.settings import at_most, count_setting, less_than, more_than, setting
from learners.common.vote_laws import SparseVotesLaw, between_thresholds_law
from learners.mechanisms.accounting.composition import Guarantee, best_composition
from learners.mechanisms.sparse_vector.between_thresholds import BetweenThresholds, delta_of_gap
from learners.predictors.vote_predictor import SparseVotesState, VotePredictor


@attrs.frozen
class BetweenThresholdsPredictor(VotePredictor):
    """Answers every query by BetweenThresholds on the mean vote of one teacher per training example.

    Lemma C.3 and Observation 2 of Private Everlasting Prediction, v1: the central mechanism of GenericBBL,
    without its subsets and rounds. It does not learn from queries.
    """

    name = "between-thresholds"
    theorem = "Lemma C.3 and Observation 2 of Private Everlasting Prediction, v1"

    epsilon: float = setting(0.5, unit="nats", help="ε′ of one halt", check=[more_than(0), at_most(1)])
    alpha: float = setting(
        0.25, unit="fraction", help="the thresholds are 1/2 ± alpha", check=[more_than(0), less_than(0.5)]
    )
    halts: int = count_setting(1, help='c, outcomes "between" after which it halts')
    slack: float = setting(1e-6, unit="probability", help="δ spent on advanced composition")

    def _cost(self) -> Guarantee:
        delta = delta_of_gap(epsilon=self.epsilon, gap=2 * self.alpha, size=self.size)
        if delta >= 1:
            return Guarantee(np.inf, 1)
        epsilon, delta = best_composition(self.halts, self.epsilon, delta, slack=self.slack)
        return Guarantee(epsilon, min(delta, 1.0))

    @property
    def common_random_numbers(self) -> bool:
        """Whether it halts at its first "between", so that no game draws a second μ."""
        return self.halts == 1

    def law(self, sample: Sample) -> SparseVotesLaw:
        return between_thresholds_law(
            self.train_electorate(sample),
            alpha=self.alpha,
            epsilon=self.epsilon,
            size=self.size,
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
