"""static-erm, and predictors that answer from the mean vote of teachers, one trained on each example."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

import attrs
import numpy as np

from arena.claims import Claim
from arena.concepts import ConceptClass, Thresholds
from arena.laws import AnswerLaw
from arena.privacy_curves import PrivacyCurve, PureCurve
from arena.sample import Sample, Training, is_shared
from arena.settings import at_least, at_most, count_setting, less_than, more_than, setting
from learners.common.learner_bases import BaselineLearner, FixedSizeLearner, claim_for_example
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
    """Base of the predictors with a teacher on each of `size` examples, of which one moves the mean vote by
    1/size."""

    protocols = ("Figure1",)

    concepts: ConceptClass = setting(Thresholds(), help="the concept class C")
    size: int = count_setting(1_000, help="n, the number of training examples")

    @property
    def claim(self) -> Claim:
        return claim_for_example(*self._cost(), curve=self._curve())

    @abstractmethod
    def _cost(self) -> Guarantee:
        """The cost of a training example."""

    def _curve(self) -> PrivacyCurve | None:
        return None

    @property
    def common_random_numbers(self) -> bool:
        """Every game draws one number per query."""
        return True

    def train_electorate(self, sample: Sample) -> Electorate:
        self.check_sample_size(sample)
        return Electorate.train(sample, self.concepts)


class VoteMechanism(Protocol):
    @property
    def halted(self) -> np.ndarray:
        """(n,) bool."""

    def respond(self, values: np.ndarray) -> np.ndarray:
        """The labels (n,) from the mean votes (n,)."""


class VotePredictorState:
    """A running predictor: it trains and polls teachers, and a mechanism answers from their votes."""

    def __init__(self, learner: VotePredictor, games: int, mechanism: VoteMechanism) -> None:
        self._learner = learner
        self._games = games
        self._mechanism = mechanism

    @property
    def halted(self) -> np.ndarray:
        return self._mechanism.halted

    def train(self, training: Training) -> None:
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

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self._mechanism.respond(self._teachers.votes(x))


@attrs.frozen
class AboveThresholdPredictor(VotePredictor):
    """Answers 1 if the noisy mean vote of the teachers is at or above a noisy threshold; halts after c ones.

    Algorithm 1 of Dwork and Roth (2014): votes have noise Lap(4/(εn)), and the threshold Lap(2/(εn)), drawn
    anew after every 1, which costs ε.
    """

    name = "above-threshold"
    theorem = "Theorem 3.23 of Dwork and Roth, The Algorithmic Foundations of DP, and basic composition"

    epsilon: float = setting(0.5, unit="nats", help="ε of one halt")
    threshold: float = setting(
        0.5, unit="fraction", help="the least mean vote of an answer 1", check=[at_least(0), at_most(1)]
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
        """The hidden number is the noise of the threshold; kinks are where that equals a vote."""
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

    def start(self, games: int, rng: np.random.Generator) -> VotePredictorState:
        threshold, epsilon, sensitivity = self.threshold, self.epsilon, 1 / self.size
        mechanism = AboveThreshold(
            games, rng, threshold=threshold, epsilon=epsilon, sensitivity=sensitivity, halts=self.halts
        )
        return VotePredictorState(self, games, mechanism)


@attrs.frozen
class CloseVotesPredictor(VotePredictor):
    """Base of the predictors that halt with the c-th answer whose noisy vote is close to 1/2."""

    epsilon: float = setting(0.5, unit="nats", help="ε′ of one halt", check=[more_than(0), at_most(1)])
    alpha: float = setting(
        0.25, unit="fraction", help="the thresholds are 1/2 ± alpha", check=[more_than(0), less_than(0.5)]
    )
    halts: int = count_setting(1, help='c, outcomes "between" after which it halts')
    slack: float = setting(1e-6, unit="probability", help="δ spent on advanced composition")

    @property
    def _rule(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "size": self.size, "halts": self.halts}


@attrs.frozen
class BetweenThresholdsPredictor(CloseVotesPredictor):
    """Answers every query by BetweenThresholds on the mean vote of one teacher per training example: the
    central mechanism of GenericBBL, v1, without its subsets and rounds."""

    name = "between-thresholds"
    theorem = "Lemma C.3 and Observation 2 of Private Everlasting Prediction, v1"

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
        return between_thresholds_law(self.train_electorate(sample), alpha=self.alpha, **self._rule)

    def start(self, games: int, rng: np.random.Generator) -> VotePredictorState:
        lower, upper = 0.5 - self.alpha, 0.5 + self.alpha
        mechanism = BetweenThresholds(games, rng, lower=lower, upper=upper, **self._rule)
        return VotePredictorState(self, games, mechanism)


@attrs.frozen
class NoisyVotes(VotePredictor):
    """Answers 1 if the mean vote of the teachers plus Lap(1/(n·ε′)) is at least 1/2; halts after R answers.

    Step 3(d) of GenericBBL, v2, without its subsets and rounds.
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

    def start(self, games: int, rng: np.random.Generator) -> VotePredictorState:
        return VotePredictorState(self, games, NoisyAnswers(self, games, rng))


class NoisyAnswers:
    def __init__(self, learner: NoisyVotes, games: int, rng: np.random.Generator) -> None:
        self._rng = rng
        self._scale = 1 / (learner.size * learner.epsilon)
        self._noise = np.empty(games)
        self._left = learner.answers
        self.halted = np.zeros(games, bool)

    def respond(self, values: np.ndarray) -> np.ndarray:
        if self._left == 0:
            return np.zeros(len(self.halted), bool)
        self._left -= 1
        laplace(self._rng, self._noise, self._scale)
        self._noise += values
        if self._left == 0:
            self.halted = np.ones(len(self.halted), bool)  # all games at once, whatever the queries
        return self._noise >= 0.5


@attrs.frozen
class SteadyThresholdsPredictor(CloseVotesPredictor):
    """Answers 1 if the mean vote of the teachers plus Lap(1/(n·ε′)) is at least 1/2.

    It halts with the c-th answer whose noisy vote lies within alpha of 1/2: section 6.1 of Private
    Everlasting Prediction, v2, without the rounds and without noise on thresholds (`SteadyThresholds`).
    """

    name = "steady-thresholds"
    theorem = "the claim proved in docs/proofs/steady_thresholds.md"

    epsilon: float = setting(0.04, unit="nats", help="ε′ of one answer", check=[more_than(0), at_most(1)])
    halts: int = count_setting(4, help='c, outcomes "between" after which it halts')
    slack: float = setting(1e-6, unit="probability", help="δ of the composition")

    def _cost(self) -> Guarantee:
        gap = 2 * self.alpha * self.size * self.epsilon
        return steady_thresholds_cost(self.halts, self.epsilon, gap=gap, slack=self.slack)

    def law(self, sample: Sample) -> SteadyThresholdsLaw:
        return SteadyThresholdsLaw(self.train_electorate(sample), alpha=self.alpha, **self._rule)

    def start(self, games: int, rng: np.random.Generator) -> SteadyThresholdsState:
        lower, upper = 0.5 - self.alpha, 0.5 + self.alpha
        mechanism = SteadyThresholds(games, rng, lower=lower, upper=upper, **self._rule)
        return SteadyThresholdsState(self, games, mechanism)


class SteadyThresholdsState(VotePredictorState):
    def predict(self, x: np.ndarray) -> np.ndarray:
        return self._mechanism.respond(self._teachers.votes(x)[:, None])[:, 0]


@attrs.frozen
class StaticErm(BaselineLearner):
    """The static predictor of section 3 of Private Everlasting Prediction: h_r = h_0, fitted to the sample.

    It claims nothing (ε = ∞). Audit it against a claim of your own (`--epsilon`).
    """

    name = "static-erm"
    protocols = ("Figure1",)

    concepts: ConceptClass = setting(Thresholds(), help="the concept class C")

    def law(self, sample: Sample) -> StaticErmLaw:
        return StaticErmLaw(self.concepts, self.concepts.erm(sample.points, sample.labels, sample.counts))

    def start(self, games: int, rng: np.random.Generator) -> StaticErmState:
        return StaticErmState(self.concepts, games)


class StaticErmLaw(AnswerLaw):
    def __init__(self, concepts: ConceptClass, fitted: np.ndarray) -> None:
        self._class = concepts
        self._fitted = fitted[None]

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        ones = self._class.labels(self._fitted, x[:1] if is_shared(x) else x)[0, :, None]
        return np.stack([measure * ~ones, measure * ones])


class StaticErmState:
    def __init__(self, concepts: ConceptClass, games: int) -> None:
        self._class = concepts
        self.halted = np.zeros(games, bool)

    def train(self, training: Training) -> None:
        fitted = [self._class.erm(s.points, s.labels, s.counts) for s in training.samples]
        self._concepts = np.array(fitted)[training.which]

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self._class.label(self._concepts, x)
