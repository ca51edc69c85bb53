"""noisy-votes: noisy majorities of one teacher per training example, for a fixed number of answers."""

from __future__ import annotations

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.laws import AnswerLaw
from arena.sample import Sample
from arena.settings import at_least, less_than, more_than, setting, whole
from learners.mechanisms.accounting.composition import best_composition
from learners.mechanisms.noise.laplace_noise import laplace, laplace_cdf
from learners.predictors.vote_predictor import Electorate, VotePredictor, VotePredictorState


@attrs.frozen
class NoisyVotes(VotePredictor):
    """Answers 1 if the mean vote of the teachers plus Lap(1/(n·ε′)) is at least 1/2; halts after R answers.

    Step 3(d) of GenericBBL, v2, without its subsets and rounds. One teacher is trained on each of n examples,
    so that an example moves the mean vote by at most 1/n: one answer costs ε′, and R answers cost their
    composition. It halts with its last answer, in all games at once. It does not learn from queries, and
    protects training examples only.
    """

    name = "noisy-votes"
    theorem = "Claim D.1 of Private Everlasting Prediction, v2: the Laplace mechanism and composition"

    epsilon: float = setting(0.01, unit="nats", help="ε′ of one answer", check=more_than(0))
    answers: int = setting(1_000, help="R, answers after which it halts", check=[whole, at_least(1)])
    slack: float = setting(
        1e-6, unit="probability", help="δ spent on advanced composition", check=[more_than(0), less_than(1)]
    )

    @property
    def claim(self) -> Claim:
        epsilon, delta = best_composition(self.answers, self.epsilon, slack=self.slack)
        return Claim(epsilon=epsilon, delta=delta, protects=(PrivacyUnit.TRAINING_EXAMPLE,))

    @property
    def common_random_numbers(self) -> bool:
        """Every game draws one number per query."""
        return True

    def law(self, sample: Sample) -> NoisyVotesLaw:
        return NoisyVotesLaw(self, self.train_electorate(sample))

    def start(self, games: int, rng: np.random.Generator) -> NoisyVotesState:
        return NoisyVotesState(self, games, rng)


class NoisyVotesLaw(AnswerLaw):
    """Independent answers, hence one state (m = 1). Every game halts with the last answer."""

    def __init__(self, learner: NoisyVotes, electorate: Electorate) -> None:
        self._electorate = electorate
        self._scale = 1 / (learner.size * learner.epsilon)
        self._answers = learner.answers

    @property
    def last(self) -> int:
        return self._answers

    def start(self) -> np.ndarray:
        return np.ones(1)

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        distance = (0.5 - self._electorate.votes(x)[:, None]) / self._scale
        return np.stack([measure * laplace_cdf(distance), measure * laplace_cdf(-distance)])


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
