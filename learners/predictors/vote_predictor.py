"""Base of the predictors that answer from the mean vote of teachers, one trained on each example.

`SparseVotesState` is the running state of those that compare noisy votes with hidden noisy thresholds.
"""

from __future__ import annotations

from abc import abstractmethod

import attrs
import numpy as np

from arena.claims import Claim, PrivacyUnit
from arena.concepts import ConceptClass, Thresholds
from arena.privacy_curves import PrivacyCurve
from arena.sample import Sample, Training
from arena.settings import count_setting, setting
from learners.common.fixed_size import FixedSizeLearner
from learners.common.teacher_ensembles import TeacherEnsembles
from learners.common.vote_laws import Electorate
from learners.mechanisms.accounting.composition import Guarantee
from learners.mechanisms.sparse_vector.above_threshold import AboveThreshold
from learners.mechanisms.sparse_vector.between_thresholds import BetweenThresholds


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
