"""What learners before Voting share: their settings, teachers at a table, and the law of their answers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, Protocol

import attrs
import numpy as np

from arena.concepts.line.thresholds import Thresholds
from arena.errors import InvalidArgument
from arena.laws import AnswerLaw
from arena.points import hash_rows, is_shared
from arena.sample import Sample, Training
from arena.settings import at_least, setting, whole
from learners.pate.ensemble.base import EnsembleLearner, teacher_setting
from learners.pate.ensemble.ensemble import Ensemble, trained
from learners.pate.ensemble.teacher import Teacher

_MOST_KEPT = 4_096  # points whose votes a table keeps


@attrs.frozen
class Voters(EnsembleLearner):
    """Base of the specs before Voting: the teachers answer ℓ queries by their vote."""

    protocols = ("Voting",)

    teacher: Teacher = teacher_setting(Thresholds(), "thresholds")
    queries: int = setting(100, help="ℓ, the answers before it halts", check=[whole, at_least(1)])

    @property
    def telling_margin(self) -> float:
        """How many votes below the tie one vote more or less shows most in a single answer, about."""
        return 0.0

    def ensemble(self, sample: Sample) -> Ensemble:
        """Its teachers, trained on a sample.

        Raises: InvalidArgument for points of another shape; as `learners.pate.ensemble.ensemble.trained` does.
        """
        if sample.points.shape[1:] != self.point_shape:
            raise InvalidArgument(
                f"{self.teacher} takes points of shape {self.point_shape}",
                value=sample.points.shape[1:],
                remedy="Write the features of a point after a colon: LogisticRegression:112.",
            )
        return trained(self.teacher, sample, self.teachers, self.split)


class Counting(Protocol):
    """Teachers that tell how many of them label points 1, as an `Ensemble` does."""

    def ones(self, points: np.ndarray) -> np.ndarray:
        """(m,) int64, of points (m, ...)."""

    def __hash__(self) -> int: ...


class VoteCounts:
    """The votes for 1 of several ensembles, remembered by point.

    Points are told apart by their numbers, or by a hash of 64 bits of their vectors.
    """

    def __init__(self, ensembles: Sequence[Counting]) -> None:
        self._ensembles = ensembles
        self._keys = np.zeros(0)
        self._counts = np.zeros((0, len(ensembles)), np.int64)
        self._prepared = self._keys, self._counts

    def ones(self, x: np.ndarray, which: Any) -> np.ndarray:
        """(n,) int64: how many teachers of ensemble which[g] label the point of game g 1; x is (n, ...), or
        one point (1, ...)."""
        keys = _keys(x)
        place, known = self._places(keys)
        if not known.all():
            kept = len(self._keys) - len(self._prepared[0])
            if kept + np.count_nonzero(~known) > _MOST_KEPT:
                self._keys, self._counts = self._prepared
                _, known = self._places(keys)
            self._learn(x[~known], keys[~known])
            place, _ = self._places(keys)
        return np.asarray(self._counts[place, which])

    def prepare(self, points: np.ndarray) -> None:
        """Count the votes at points (m, ...) at once, and never forget them."""
        self._learn(points, _keys(points))
        self._prepared = self._keys, self._counts

    def _places(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(n,): where each key is, and whether it is known."""
        if not len(self._keys):
            return np.zeros(len(keys), np.intp), np.zeros(len(keys), bool)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return place, self._keys[place] == keys

    def _learn(self, points: np.ndarray, keys: np.ndarray) -> None:
        new, first = np.unique(keys, return_index=True)
        unknown = ~self._places(new)[1]
        if not unknown.any():
            return
        new, first = new[unknown], first[unknown]
        counts = [ensemble.ones(points[first]) for ensemble in self._ensembles]
        merged = np.concatenate([self._keys.astype(new.dtype), new])
        order = np.argsort(merged)
        self._keys = merged[order]
        self._counts = np.concatenate([self._counts, np.stack(counts, axis=1)])[order]


@lru_cache(maxsize=16)
def vote_counts(*ensembles: Counting) -> VoteCounts:
    """The votes for 1 of these ensembles, the same for all tables of an audit, which ask the same points."""
    return VoteCounts(ensembles)


def _keys(points: np.ndarray) -> np.ndarray:
    """(n,): one number for each of points (n, ...), equal for equal points."""
    numbers = points.astype(np.float64) + 0.0  # -0.0 equals 0.0 but has other bits
    return numbers if numbers.ndim == 1 else hash_rows(numbers.reshape(len(numbers), prod(points.shape[1:])))


class VotersState:
    """Base of the seats: trains teachers and counts their votes. An algorithm gives `_answer`."""

    def __init__(self, spec: Voters, games: int) -> None:
        self._spec = spec
        self._games = games
        self._asked = 0
        self._halted = np.zeros(games, bool)

    @property
    def halted(self) -> np.ndarray:
        return self._halted

    def train(self, training: Training) -> None:
        """Train the teachers of every sample of the table, once for all its games."""
        self.hear([self._spec.ensemble(sample) for sample in training.samples], training.which)

    def hear(self, ensembles: Sequence[Counting], which: np.ndarray) -> None:
        """Count the votes of teachers that have been trained; which (n,) tells whose in each game."""
        self._votes_for_1 = vote_counts(*ensembles)
        self._which = which

    def prepare(self, points: np.ndarray) -> None:
        """Count the votes at points (m, ...) that may be asked about, all at once, which is much faster than
        one point after the other. Call it after `train`; it changes no answer.
        """
        self._votes_for_1.prepare(points)

    def predict(self, x: np.ndarray) -> np.ndarray:
        """One answer a game; after ℓ of them every game has halted."""
        if self._asked == self._spec.queries:
            return np.zeros(self._games, np.int8)
        self._asked += 1
        answers = self._answer(self.ones(x))
        if self._asked == self._spec.queries:
            self._halted = np.ones(self._games, bool)
        return answers

    def votes(self, x: Any) -> np.ndarray:
        """The mean votes (n,), for a player that seats the learner at a table of its own."""
        return self.ones(np.broadcast_to(x, (self._games, *self._spec.point_shape))) / self._spec.teachers

    def ones(self, x: np.ndarray) -> np.ndarray:
        """(n,) int64: how many teachers of each game label its point of x (n, ...) 1."""
        return self._votes_for_1.ones(x[:1] if is_shared(x) else x, self._which)

    @abstractmethod
    def _answer(self, ones: np.ndarray) -> np.ndarray:
        """The answers to queries with so many votes for 1 (n,); may halt games."""


class VotingLaw(AnswerLaw):
    """Base of the laws of answers: they depend on a point by its votes alone."""

    def __init__(self, spec: Any, sample: Sample) -> None:
        self._spec = spec
        self._ensemble = spec.ensemble(sample)
        self._votes_for_1 = vote_counts(self._ensemble)

    @property
    def last(self) -> int:
        return self._spec.queries

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        ones = self._votes_for_1.ones(x[:1] if is_shared(x) else x, 0)
        return self._after(measure, np.broadcast_to(ones, len(x)))

    @abstractmethod
    def _after(self, measure: np.ndarray, ones: np.ndarray) -> np.ndarray:
        """(k, n, m), as `step`, for queries with so many votes for 1 (n,)."""
