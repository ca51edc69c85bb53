"""steady-thresholds: SteadyThresholds as a predictor, with one teacher per training example."""

from __future__ import annotations

import attrs
import numpy as np

from arena.sample import Sample
from arena.settings import at_most, count_setting, less_than, more_than, setting
from learners.common.vote_laws import SteadyThresholdsLaw
from learners.mechanisms.accounting.composition import Guarantee
from learners.mechanisms.sparse_vector.steady_thresholds import SteadyThresholds, steady_thresholds_cost
from learners.predictors.vote_predictor import VotePredictor, VotePredictorState


@attrs.frozen
class SteadyThresholdsPredictor(VotePredictor):
    """Answers 1 if the mean vote of the teachers plus Lap(1/(n·ε′)) is at least 1/2.

    With one teacher on each of n examples. It halts with the c-th answer whose noisy vote lies within alpha
    of 1/2. This replaces step 3(d) in section 6.1 of Private Everlasting Prediction, v2, without the rounds
    and without noise on thresholds (`SteadyThresholds`). It does not learn from queries.
    """

    name = "steady-thresholds"
    theorem = "the claim proved in docs/proofs/steady_thresholds.md"

    epsilon: float = setting(0.04, unit="nats", help="ε′ of one answer", check=[more_than(0), at_most(1)])
    alpha: float = setting(
        0.25, unit="fraction", help="the thresholds are 1/2 ± alpha", check=[more_than(0), less_than(0.5)]
    )
    halts: int = count_setting(4, help='c, outcomes "between" after which it halts')
    slack: float = setting(1e-6, unit="probability", help="δ")

    def _cost(self) -> Guarantee:
        gap = 2 * self.alpha * self.size * self.epsilon
        return steady_thresholds_cost(self.halts, self.epsilon, gap=gap, slack=self.slack)

    def law(self, sample: Sample) -> SteadyThresholdsLaw:
        return SteadyThresholdsLaw(
            self.train_electorate(sample),
            alpha=self.alpha,
            epsilon=self.epsilon,
            size=self.size,
            halts=self.halts,
        )

    def start(self, games: int, rng: np.random.Generator) -> SteadyThresholdsState:
        return SteadyThresholdsState(self, games, rng)


class SteadyThresholdsState(VotePredictorState):
    """steady-thresholds in a batch of games."""

    def __init__(self, learner: SteadyThresholdsPredictor, games: int, rng: np.random.Generator) -> None:
        super().__init__(learner, games)
        self._mechanism = SteadyThresholds(
            games,
            rng,
            lower=0.5 - learner.alpha,
            upper=0.5 + learner.alpha,
            epsilon=learner.epsilon,
            size=learner.size,
            halts=learner.halts,
        )

    @property
    def halted(self) -> np.ndarray:
        return self._mechanism.halted

    def predict(self, x: np.ndarray) -> np.ndarray:
        votes = np.broadcast_to(self._teachers.votes(x), (self._games,))
        return self._mechanism.respond(votes[:, None])[:, 0]
