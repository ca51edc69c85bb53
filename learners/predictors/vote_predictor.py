"""Base of the predictors that answer from the mean vote of teachers, one trained on each example.

An `Electorate` is the teachers of one sample. `VotePredictor` and `VotePredictorState` are the bases of
configurations and running states. `SparseVotesState` and `SparseVotesLaw` are the running state and the
output distribution of those that compare noisy votes with hidden noisy thresholds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs
import numpy as np

from arena.concepts import ConceptClass, Thresholds
from arena.laws import AnswerLaw
from arena.points import is_shared
from arena.sample import Sample, Training
from arena.settings import at_least, setting, whole
from learners.common.fixed_size import FixedSizeLearner
from learners.common.teacher_ensembles import TeacherEnsembles
from learners.mechanisms.noise.quadrature import laplace_nodes
from learners.mechanisms.sparse_vector.above_threshold import AboveThreshold
from learners.mechanisms.sparse_vector.between_thresholds import BetweenThresholds

_MOST_DOMAIN = 1_024  # of a larger domain only the points of the sample and their neighbours are used
_MOST_VOTES = 64  # votes at which the quadrature of a hidden threshold has kinks

# From votes (u, 1) and nodes of the hidden number (q,), the probabilities of 0, of 1 and of firing, each (u,
# q).
AnswerProbabilities = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


@attrs.frozen(eq=False)
class Electorate:
    """The teachers of one sample.

    Shapes: concepts (C, ...), distinct; counts (C,), how many teachers hold each concept.
    """

    concept_class: ConceptClass
    sample: Sample
    concepts: np.ndarray
    counts: np.ndarray

    @classmethod
    def train(cls, sample: Sample, concept_class: ConceptClass) -> Electorate:
        """Train one teacher, an empirical risk minimiser, on each example of the sample.

        Raises: InvalidArgument for points outside the domain.
        """
        concept_class.check(sample.points)
        minimisers = concept_class.erm(sample.points[:, None], sample.labels[:, None])
        concepts, place = np.unique(minimisers, axis=0, return_inverse=True)
        counts = np.bincount(place.ravel(), weights=sample.counts, minlength=len(concepts))
        return cls(concept_class, sample, concepts, counts)

    def votes(self, x: np.ndarray) -> np.ndarray:
        """The mean votes (n,) in [0, 1] at points x (n, ...), or (1,) if x is one point for all games."""
        if is_shared(x):
            return self._votes_at(x[:1])
        points, which = np.unique(x, axis=0, return_inverse=True)
        return self._votes_at(points)[which.ravel()]

    def possible_votes(self) -> np.ndarray:
        """The distinct mean votes that can occur, in order; if there are more than 64, 64 evenly spaced ones.

        They are the kinks in the quadrature of `SparseVotesLaw`. At a vote that is not among them, a
        probability may be off by 2e-7. A vote changes only at the points of the sample; for vectors, only the
        votes at these points are used.
        """
        votes = np.unique(np.concatenate([self._votes_at(points) for points in self._points_of_change()]))
        places = np.linspace(0, len(votes) - 1, min(len(votes), _MOST_VOTES))
        return votes[np.round(places).astype(int)]

    def _votes_at(self, points: np.ndarray) -> np.ndarray:
        ones = self.concept_class.labels(self.concepts, points)
        return (self.counts @ ones.astype(np.float64)) / self.sample.size

    def _points_of_change(self) -> Iterator[np.ndarray]:
        """Points at which all votes occur."""
        points = self.sample.points
        domain = getattr(self.concept_class, "domain", None)
        if domain is not None and len(domain) <= _MOST_DOMAIN:
            yield np.array(domain)
        elif domain is not None:
            place = np.searchsorted(domain, points)
            for offset in (-1, 0, 1):
                yield np.array(domain)[np.clip(place + offset, 0, len(domain) - 1)]
        else:
            yield points
            if points.ndim == 1:
                yield np.nextafter(points.astype(np.float64), -np.inf)
                yield np.nextafter(points.astype(np.float64), np.inf)


@attrs.frozen
class VotePredictor(FixedSizeLearner):
    """Base of the predictors whose teachers are trained on one example each, `size` in all."""

    protocols = ("Figure1",)

    concepts: ConceptClass = setting(Thresholds(), help="the concept class C")
    size: int = setting(1_000, help="n, the number of training examples", check=[whole, at_least(1)])

    def train_electorate(self, sample: Sample) -> Electorate:
        """The teachers of one sample.

        Raises: Unsupported for a sample of another size; InvalidArgument for points outside the domain.
        """
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


class SparseVotesLaw(AnswerLaw):
    """The answers of a predictor that compares noisy votes with thresholds behind one hidden Laplace number.

    It answers 0 or 1 without halting, or *fires*: it answers 1 and draws a new hidden number; when it fires
    for the c-th time it answers 1 and halts.

    States: how often it has fired (c values) × the nodes of the hidden number (q), flattened: m = c·q. A game
    that halts keeps its last state.
    """

    outcomes = ((0, False), (1, False), (1, True))

    def __init__(
        self,
        electorate: Electorate,
        probabilities: AnswerProbabilities,
        *,
        scale: float,
        kinks: Callable[[np.ndarray], np.ndarray],
        halts: int,
    ) -> None:
        """probabilities: of 0, of 1 and of firing, as `AnswerProbabilities`, of sum 1. halts: c.

        scale: of the hidden number. kinks: from votes (v,), the hidden numbers at which a probability has a
        kink.
        """
        self._electorate = electorate
        self._probabilities = probabilities
        self._halts = halts
        self._nodes, self._weights = laplace_nodes(scale, kinks(electorate.possible_votes()))

    def start(self) -> np.ndarray:
        fresh = np.zeros((self._halts, len(self._nodes)))
        fresh[0] = self._weights
        return fresh.ravel()

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        votes, which = np.unique(self._electorate.votes(x), return_inverse=True)
        zero, one, fire = (
            probability[which.ravel(), None]
            for probability in self._probabilities(votes[:, None], self._nodes)
        )
        states = measure.reshape(len(measure), self._halts, len(self._nodes))
        after = np.zeros((3, *states.shape))
        np.multiply(states, zero, out=after[0])
        np.multiply(states, one, out=after[1])
        fired = states * fire
        after[1, :, 1:] += fired[:, :-1].sum(axis=2, keepdims=True) * self._weights
        after[2, :, -1] = fired[:, -1]
        return after.reshape(3, *measure.shape)
