"""Predictors that answer from the mean vote of teachers, one trained on each example.

above-threshold and between-thresholds compare noisy votes with hidden noisy thresholds; noisy-votes and
steady-thresholds add fresh noise to every vote."""

from __future__ import annotations

from abc import abstractmethod

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.concepts import ConceptClass, Thresholds
from arena.privacy_curves import PrivacyCurve, PureCurve
from arena.sample import Sample, Training
from arena.settings import at_least, at_most, count_setting, less_than, more_than, setting
from learners.common.learner_bases import FixedSizeLearner
from learners.common.teacher_votes import (
    Electorate,
    NoisyVotesLaw,
    SparseVotesLaw,
    SteadyThresholdsLaw,
    TeacherEnsembles,
    between_thresholds_law,
)
from learners.mechanisms.accounting import Guarantee, basic_composition, best_composition, pure_curve
from learners.mechanisms.noise import laplace, laplace_cdf
from learners.mechanisms.sparse_vector import AboveThreshold, BetweenThresholds, delta_of_gap
from learners.mechanisms.steady_thresholds import SteadyThresholds, steady_thresholds_cost


@attrs.frozen
class VotePredictor(FixedSizeLearner):
    """Base of the predictors whose teachers are trained on one example each, `size` in all.

    One example moves the mean vote by at most 1/size. They do not learn from queries, and protect training
    examples only. A subclass defines `_cost`.
    """

    protocols = ("Figure1",)

    concepts: ConceptClass = setting(Thresholds(), help="the concept class C")
    size: int = count_setting(1_000, help="n, the number of training examples")

    @property
    def claim(self) -> Claim:
        epsilon, delta = self._cost()
        return Claim(
            epsilon=epsilon, delta=delta, protects=(PrivacyUnit.TRAINING_EXAMPLE,), curve=self._curve()
        )

    @abstractmethod
    def _cost(self) -> Guarantee:
        """The cost of a training example."""

    def _curve(self) -> PrivacyCurve | None:
        """The privacy curve of this cost, if there is one."""
        return None

    @property
    def common_random_numbers(self) -> bool:
        """Every game draws one number per query."""
        return True

    def train_electorate(self, sample: Sample) -> Electorate:
        """The teachers of a sample. Raises: Unsupported for another size; otherwise as `Electorate.train`."""
        self.check_sample_size(sample)
        return Electorate.train(sample, self.concepts)


class VotePredictorState:
    """Base of the running states: it trains and polls teachers. A subclass adds `predict` and `halted`."""

    def __init__(self, learner: VotePredictor, games: int) -> None:
        self._learner = learner
        self._games = games

    def train(self, training: Training) -> None:
        """Train one teacher on each example of every game. Raises: as `VotePredictor.train_electorate`."""
        electorates = [self._learner.train_electorate(sample) for sample in training.samples]
        all_concepts = np.concatenate([electorate.concepts for electorate in electorates])
        concepts, columns = np.unique(all_concepts, axis=0, return_inverse=True)
        rows = np.repeat(np.arange(len(electorates)), [len(e.counts) for e in electorates])
        counts = np.zeros((len(electorates), len(concepts)))
        counts[rows, columns.ravel()] = np.concatenate([e.counts for e in electorates])
        self._teachers = TeacherEnsembles(
            self._learner.concepts, concepts, counts[training.which], self._learner.size
        )

    def votes(self, x: np.ndarray | float) -> np.ndarray:
        """The mean votes (n,) at x. For adversaries that simulate the learner."""
        return self._teachers.votes(np.broadcast_to(x, (self._games, *self._learner.point_shape)))


class SparseVotesState(VotePredictorState):
    """A predictor whose mean votes go through a sparse vector mechanism, which also halts games."""

    def __init__(
        self, learner: VotePredictor, games: int, mechanism: AboveThreshold | BetweenThresholds
    ) -> None:
        super().__init__(learner, games)
        self._mechanism = mechanism

    @property
    def halted(self) -> np.ndarray:
        return self._mechanism.halted

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self._mechanism.respond(self._teachers.votes(x))


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
