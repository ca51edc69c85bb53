"""Predictors that answer from the mean vote of teachers, one trained on each example: what they share.

An `Electorate` counts the teachers of one sample by concept. `VotePredictor` and `VotePredictorState` are the bases
of specs and seats, `SparseVotesState` is a seat and `SparseVotesLaw` the law of answers where noisy votes are
compared with hidden, noisy thresholds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Self

import attrs
import numpy as np

from arena.concepts import ConceptClass, Thresholds
from arena.errors import Unsupported
from arena.laws import AnswerLaw
from arena.players import Learner
from arena.points import shared
from arena.sample import Sample, Training
from arena.settings import at_least, setting, whole
from learners.common.teachers import TeacherEnsembles
from learners.mechanisms.noise.quadrature import laplace_nodes
from learners.mechanisms.sparse_vector.above_threshold import AboveThreshold
from learners.mechanisms.sparse_vector.between_thresholds import BetweenThresholds

_MOST_DOMAIN = 1_024  # of a larger domain only points of the sample and their neighbours are looked at
_MOST_VOTES = 64

Chances = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


@attrs.frozen(eq=False)
class Electorate:
    """The teachers of one sample.

    Shapes: concepts (C, ...), distinct; counts (C,), how many teachers hold each.
    """

    concept_class: ConceptClass
    sample: Sample
    concepts: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, name: str, sample: Sample, concept_class: ConceptClass, size: int) -> Electorate:
        """One teacher, an empirical risk minimiser, for each example of the sample.

        name, size: of the learner, and of the sample that it is set for.
        Raises: Unsupported for a sample of another size; InvalidArgument for points outside the domain.
        """
        check_sample_size(name, sample, size)
        concept_class.check(sample.points)
        held = concept_class.erm(sample.points[:, None], sample.labels[:, None])
        concepts, place = np.unique(held, axis=0, return_inverse=True)
        counts = np.bincount(place.ravel(), weights=sample.counts, minlength=len(concepts))
        return cls(concept_class, sample, concepts, counts)

    def votes(self, x: np.ndarray) -> np.ndarray:
        """The mean vote at each point of x (n, ...): (n,) in [0, 1], or (1,) where x is one point for all."""
        if shared(x):
            return self._votes_at(x[:1])
        points, which = np.unique(x, axis=0, return_inverse=True)
        return self._votes_at(points)[which.ravel()]

    def possible_votes(self) -> np.ndarray:
        """The distinct mean votes that can occur, in order; 64 of them, evenly spaced, if there are more.

        A vote changes only at the points of the sample; vectors are looked at where the sample has them. For
        the quadrature of `SparseVotesLaw`: at a vote that is not among them a chance may be off by 2e-7.
        """
        votes = np.unique(np.concatenate([self._votes_at(points) for points in self._telling_points()]))
        few = np.linspace(0, len(votes) - 1, min(len(votes), _MOST_VOTES))
        return votes[np.round(few).astype(int)]

    def _votes_at(self, points: np.ndarray) -> np.ndarray:
        ones = self.concept_class.labels(self.concepts, points)
        return (self.counts @ ones.astype(np.float64)) / self.sample.size

    def _telling_points(self) -> Iterator[np.ndarray]:
        points = self.sample.points
        domain = getattr(self.concept_class, "domain", None)
        if domain is not None and len(domain) <= _MOST_DOMAIN:
            yield np.array(domain)
        elif domain is not None:
            place = np.searchsorted(domain, points)
            for beside in (-1, 0, 1):
                yield np.array(domain)[np.clip(place + beside, 0, len(domain) - 1)]
        else:
            yield points
            if points.ndim == 1:
                yield np.nextafter(points.astype(np.float64), -np.inf)
                yield np.nextafter(points.astype(np.float64), np.inf)


def check_sample_size(name: str, sample: Sample, size: int) -> None:
    """Raises: Unsupported if the sample has another size than the learner `name` is set for."""
    if sample.size != size:
        raise Unsupported(
            f"{name} is set for {size:,} example{'s' if size > 1 else ''}",
            value=sample.size,
            remedy="Set size to the size of the sample.",
        )


@attrs.frozen
class VotePredictor(Learner):
    """Base of the specs: set for `size` examples, each of which trains a teacher."""

    protocols = ("Figure1",)

    concepts: ConceptClass = setting(Thresholds(), help="the concept class C")
    size: int = setting(1_000, help="n, the examples it is trained on", check=[whole, at_least(1)])

    @property
    def sample_size(self) -> int:
        return self.size

    def sized_for(self, sample_size: int) -> Self:
        """Set for exactly so many examples."""
        return attrs.evolve(self, size=sample_size)

    def electorate(self, sample: Sample) -> Electorate:
        """The teachers of one sample; raises as `Electorate.of` does."""
        return Electorate.of(self.name, sample, self.concepts, self.size)


class VotePredictorState:
    """Base of the seats: trains teachers, tells their votes. An algorithm gives `predict` and `halted`."""

    def __init__(self, spec: VotePredictor, games: int) -> None:
        self._spec = spec
        self._games = games

    def train(self, training: Training) -> None:
        """One teacher for each example of every game; raises as `Electorate.of` does."""
        held = [self._spec.electorate(sample) for sample in training.samples]
        every = np.concatenate([electorate.concepts for electorate in held])
        concepts, place = np.unique(every, axis=0, return_inverse=True)
        whose = np.repeat(np.arange(len(held)), [len(electorate.counts) for electorate in held])
        counts = np.zeros((len(held), len(concepts)))
        counts[whose, place.ravel()] = np.concatenate([electorate.counts for electorate in held])
        self._teachers = TeacherEnsembles(
            self._spec.concepts, concepts, counts[training.which], self._spec.size
        )

    def votes(self, x: np.ndarray | float) -> np.ndarray:
        """The mean votes (n,), for a player that seats the learner at a table of its own."""
        return self._teachers.votes(np.broadcast_to(x, (self._games, *self._spec.point_shape)))


class SparseVotesState(VotePredictorState):
    """A predictor at a table whose mean votes go through the sparse vector, with its halts."""

    def __init__(
        self, spec: VotePredictor, games: int, mechanism: AboveThreshold | BetweenThresholds
    ) -> None:
        super().__init__(spec, games)
        self._mechanism = mechanism

    @property
    def halted(self) -> np.ndarray:
        return self._mechanism.halted

    def predict(self, x: np.ndarray) -> np.ndarray:
        return self._mechanism.respond(self._teachers.votes(x))


class SparseVotesLaw(AnswerLaw):
    """Answers 0 or 1 by comparing a noisy vote with thresholds behind one hidden Laplace number, or fires:
    answers 1 and draws the hidden number afresh, and at the last of its halts answers 1 and halts.

    States: the halts spent (c of them) x the nodes of the hidden number (q), flattened: m = c·q. A game that
    halts keeps the state that it had.
    """

    outcomes = ((0, False), (1, False), (1, True))

    def __init__(
        self,
        electorate: Electorate,
        chances: Chances,
        *,
        scale: float,
        kinks: Callable[[np.ndarray], np.ndarray],
        halts: int,
    ) -> None:
        """scale: of the hidden number. kinks: votes (v,) -> where in it the chances have a kink.

        chances: votes (u, 1), nodes (q,) -> the chances of 0, of 1 and of firing, each (u, q), of sum 1.
        """
        self._electorate = electorate
        self._chances = chances
        self._halts = halts
        self._nodes, self._weights = laplace_nodes(scale, kinks(electorate.possible_votes()))

    def start(self) -> np.ndarray:
        fresh = np.zeros((self._halts, len(self._nodes)))
        fresh[0] = self._weights
        return fresh.ravel()

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        votes, which = np.unique(self._electorate.votes(x), return_inverse=True)
        zero, one, fires = (
            chance[which.ravel(), None] for chance in self._chances(votes[:, None], self._nodes)
        )
        states = measure.reshape(len(measure), self._halts, len(self._nodes))
        after = np.zeros((3, *states.shape))
        np.multiply(states, zero, out=after[0])
        np.multiply(states, one, out=after[1])
        fired = states * fires
        after[1, :, 1:] += fired[:, :-1].sum(axis=2, keepdims=True) * self._weights
        after[2, :, -1] = fired[:, -1]
        return after.reshape(3, *measure.shape)
