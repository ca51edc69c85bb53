"""noisy-votes: noisy majorities of one teacher per training example, for a fixed number of answers."""

from __future__ import annotations

import attrs
import numpy as np

from arena.privacy_curves import PureCurve
from arena.sample import Sample
from arena.settings import count_setting, setting
from learners.common.vote_laws import NoisyVotesLaw
from learners.mechanisms.accounting.composition import Guarantee, best_composition, pure_curve
from learners.mechanisms.noise.laplace_noise import laplace
from learners.predictors.vote_predictor import VotePredictor, VotePredictorState


@attrs.frozen
class NoisyVotes(VotePredictor):
    """Answers 1 if the mean vote of the teachers plus Lap(1/(n·ε′)) is at least 1/2; halts after R answers.

    Step 3(d) of GenericBBL, v2, without its subsets and rounds, with one teacher on each of n examples. One
    answer costs ε′, and R answers cost their composition. It halts with its last answer, in all games at
    once, and does not learn from queries.
    """

    name = "noisy-votes"
    theorem = "Claim D.1 of Private Everlasting Prediction, v2: the Laplace mechanism and composition"

    epsilon: float = setting(0.01, unit="nats", help="ε′ of one answer")
    answers: int = count_setting(1_000, help="R, answers after which it halts")
    slack: float = setting(1e-6, unit="probability", help="δ spent on advanced composition")

    def _cost(self) -> Guarantee:
        return best_composition(self.answers, self.epsilon, slack=self.slack)

    def _curve(self) -> PureCurve | None:
        return pure_curve(self.answers, self.epsilon)

    def law(self, sample: Sample) -> NoisyVotesLaw:
        scale = 1 / (self.size * self.epsilon)
        return NoisyVotesLaw(self.train_electorate(sample), scale=scale, answers=self.answers)

    def start(self, games: int, rng: np.random.Generator) -> NoisyVotesState:
        return NoisyVotesState(self, games, rng)


class NoisyVotesState(VotePredictorState):
    """noisy-votes in a batch of games."""

    def __init__(self, learner: NoisyVotes, games: int, rng: np.random.Generator) -> None:
        super().__init__(learner, games)
        self._rng = rng
        self._scale = 1 / (learner.size * learner.epsilon)
        self._noise = np.empty(games)
        self._left = learner.answers
        self.halted = np.zeros(games, bool)

    def predict(self, x: np.ndarray) -> np.ndarray:
        if self._left == 0:
            return np.zeros(self._games, bool)
        self._left -= 1
        laplace(self._rng, self._noise, self._scale)
        self._noise += self._teachers.votes(x)
        if self._left == 0:
            self.halted = np.ones(self._games, bool)  # all games at once, whatever the queries
        return self._noise >= 0.5
