"""What learners before Voting share: their settings, teachers at a table, and the law of their answers."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import attrs
import numpy as np

from arena.concepts import ConceptClass
from arena.concepts.thresholds import Thresholds
from arena.laws import AnswerLaw
from arena.players import Learner
from arena.points import shared
from arena.sample import Sample, Training
from arena.settings import at_least, setting, whole
from learners.ensemble.ensemble import Ensemble, trained
from learners.ensemble.teacher import Minimiser, Teacher

_MOST_KEPT = 64  # points whose votes a table keeps


@attrs.frozen
class Voters(Learner):
    """Base of the specs: K teachers, trained on disjoint parts of the sample, answer ℓ queries by their vote.

    A replaced example changes the part of one teacher, so that votes change by one at most. How the sample is
    parted is public, and nothing of privacy rests on it.
    """

    protocols = ("Voting",)

    teacher: Teacher = setting(
        Minimiser(Thresholds(), "thresholds"),
        help="what each teacher is: a concept class, for its empirical risk minimiser, or a classifier of "
        "scikit-learn, its settings, and the features of a point: LogisticRegression(C=0.5):112",
    )
    teachers: int = setting(101, help="K, the teachers", check=[whole, at_least(1)])
    queries: int = setting(100, help="ℓ, the answers before it halts", check=[whole, at_least(1)])
    split: int = setting(0, help="seed of the public split of the sample", check=[whole, at_least(0)])

    @property
    def concepts(self) -> ConceptClass | None:
        """The class of the teachers, if they are minimisers of one."""
        return self.teacher.concepts if isinstance(self.teacher, Minimiser) else None

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.teacher.point_shape

    @property
    def sample_size(self) -> int:
        return self.teachers

    def ensemble(self, sample: Sample) -> Ensemble:
        """Its teachers, trained on a sample; raises as `learners.ensemble.ensemble.trained` does."""
        return trained(self.teacher, sample, self.teachers, self.split)


class SeatedVoters:
    """Base of the seats: trains teachers and counts their votes. An algorithm gives `_answer`."""

    def __init__(self, spec: Voters, games: int) -> None:
        self._spec = spec
        self._games = games
        self._asked = 0
        self._halted = np.zeros(games, bool)
        self._kept: dict[bytes, np.ndarray] = {}
        self._prepared: dict[bytes, np.ndarray] = {}

    @property
    def halted(self) -> np.ndarray:
        return self._halted

    def train(self, training: Training) -> None:
        """Train the teachers of every sample of the table, once for all its games."""
        self._ensembles = [self._spec.ensemble(sample) for sample in training.samples]
        self._which = training.which

    def predict(self, x: np.ndarray) -> np.ndarray:
        """One answer a game; after ℓ of them every game has halted."""
        if self._asked == self._spec.queries:
            return np.zeros(self._games, np.int8)
        self._asked += 1
        answers = self._answer(self.ones(x))
        if self._asked == self._spec.queries:
            self._halted = np.ones(self._games, bool)
        return answers

    def prepare(self, points: np.ndarray) -> None:
        """Count the votes at points (m, ...) that may be asked about, all at once, which is much faster than
        one point after the other. Call it after `train`; it changes no answer.
        """
        counted = np.stack([ensemble.ones(points) for ensemble in self._ensembles], axis=1)
        self._prepared = {point.tobytes(): votes for point, votes in zip(points, counted, strict=True)}

    def votes(self, x: Any) -> np.ndarray:
        """The mean votes (n,), for a player that seats the learner at a table of its own."""
        return self.ones(np.broadcast_to(x, (self._games, *self._spec.point_shape))) / self._spec.teachers

    def ones(self, x: np.ndarray) -> np.ndarray:
        """(n,) int64: how many teachers of each game label its point of x (n, ...) 1."""
        if shared(x):
            return self._ones_at(x[:1])[0][self._which]
        points, place = np.unique(x, axis=0, return_inverse=True)
        return self._ones_at(points)[place.ravel(), self._which]

    def _ones_at(self, points: np.ndarray) -> np.ndarray:
        """(m, samples): the votes for 1 at points (m, ...)."""
        keys = [point.tobytes() for point in points]
        if all(key in self._prepared for key in keys):
            return np.array([self._prepared[key] for key in keys]).reshape(len(keys), len(self._ensembles))
        new = [place for place, key in enumerate(keys) if key not in self._kept]
        if len(self._kept) + len(new) > _MOST_KEPT:
            self._kept.clear()
            new = list(range(len(keys)))
        if new:
            counted = np.stack([ensemble.ones(points[new]) for ensemble in self._ensembles], axis=1)
            self._kept.update(zip((keys[place] for place in new), counted, strict=True))
        kept = np.array([self._kept[key] for key in keys], np.int64)
        return kept.reshape(len(keys), len(self._ensembles))

    @abstractmethod
    def _answer(self, ones: np.ndarray) -> np.ndarray:
        """The answers to queries with so many votes for 1 (n,); may halt games."""


class VotingLaw(AnswerLaw):
    """Base of the laws of answers: they depend on a point by its votes alone."""

    def __init__(self, spec: Any, sample: Sample) -> None:
        self._spec = spec
        self._ensemble = spec.ensemble(sample)

    @property
    def last(self) -> int:
        return self._spec.queries

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        points, place = np.unique(x, axis=0, return_inverse=True)
        ones = self._ensemble.ones(points)
        return self._after(measure, ones[place.ravel()])

    @abstractmethod
    def _after(self, measure: np.ndarray, ones: np.ndarray) -> np.ndarray:
        """(k, n, m), as `step`, for queries with so many votes for 1 (n,)."""
