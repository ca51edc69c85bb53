"""Teachers trained on disjoint parts of a sample, their votes, and the bases of learners that use them."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, Protocol

import attrs
import numpy as np

from arena.concepts import ConceptClass
from arena.concepts.line import Thresholds
from arena.errors import InvalidArgument, Unsupported
from arena.laws import AnswerLaw
from arena.players import Learner
from arena.sample import Sample, Training, hash_rows, is_shared
from arena.settings import count_setting, setting
from learners.pate.teacher import Minimiser, Teacher, TrainedTeacher

_CACHED_TEACHERS = 4_096


@attrs.frozen(eq=False)
class Ensemble:
    """K trained teachers. Teachers with equal parts are the same object."""

    teachers: tuple[TrainedTeacher, ...]

    def votes(self, points: np.ndarray) -> np.ndarray:
        """(K, m) bool: the labels of each teacher for points (m, ...)."""
        return np.stack([teacher(points) for teacher in self.teachers])

    def ones(self, points: np.ndarray) -> np.ndarray:
        """(m,) int64: the number of teachers with label 1 for each of points (m, ...)."""
        ones = np.zeros(len(points), np.int64)
        for teacher, times in Counter(self.teachers).items():
            ones += times * teacher(points)
        return ones


@lru_cache(maxsize=64)
def train_ensemble(teacher: Teacher, sample: Sample, size: int, split: int) -> Ensemble:
    """The ensemble of `size` teachers, each trained on its part of the sample (steps 1 and 2 of Algorithm 3).

    The division is public, so neighbouring samples share all teachers except one; equal parts are trained
    once. Raises: Unsupported if there are fewer examples than teachers; InvalidArgument as `Teacher.train`.
    """
    if sample.size < size:
        raise Unsupported(
            f"{size:,} teachers need at least as many examples",
            value=sample.size,
            remedy=f"Set teachers to {sample.size:,} or less, or give more data.",
        )
    return Ensemble(tuple(_train(teacher, part) for part in divide_sample(sample, size, split)))


def divide_sample(sample: Sample, size: int, split: int) -> list[Sample]:
    """Disjoint random parts for `size` teachers, of equal size up to 1, by the seed `split`."""
    first, which = sample.kinds()
    points, labels = sample.points[first], sample.labels[first]
    order = np.random.default_rng([split, sample.size]).permutation(sample.size)
    examples = np.repeat(which, sample.counts)[order]
    parts: dict[bytes, Sample] = {}
    by_teacher = []
    for teacher in range(size):
        rows = np.sort(examples[teacher::size])
        key = rows.tobytes()
        if key not in parts:
            distinct, counts = np.unique(rows, return_counts=True)
            parts[key] = Sample(points[distinct], labels[distinct], counts)
        by_teacher.append(parts[key])
    return by_teacher


_train = lru_cache(maxsize=_CACHED_TEACHERS)(lambda teacher, part: teacher.train(part))


def _check_teacher(instance: Any, attribute: attrs.Attribute[Any], value: Any) -> None:
    if not isinstance(value, Teacher):
        raise InvalidArgument(
            "teacher must be a Teacher", value=value, remedy="Use Teacher.from_text(...) for a text."
        )


def teacher_setting(concepts: ConceptClass, text: str) -> Any:
    return setting(
        Minimiser(concepts, text),
        help="the type of each teacher: a concept class, for its empirical risk minimiser, or a classifier "
        "of scikit-learn with settings and the features of a point: LogisticRegression(C=0.5):112",
        check=_check_teacher,
    )


@attrs.frozen
class EnsembleLearner(Learner):
    """Base of the learners with K teachers on public parts of the sample: a replaced example changes one
    vote."""

    teacher: Teacher
    teachers: int = count_setting(101, help="K, the number of teachers")
    split: int = count_setting(0, help="seed of the public split of the sample", least=0)

    @property
    def concepts(self) -> ConceptClass | None:
        return self.teacher.concepts if isinstance(self.teacher, Minimiser) else None

    @property
    def point_shape(self) -> tuple[int, ...]:
        return self.teacher.point_shape

    @property
    def sample_size(self) -> int:
        return self.teachers


_CACHED_POINTS = 4_096  # points whose votes are kept


@attrs.frozen
class Voters(EnsembleLearner):
    """Base of the learners for Voting: the teachers answer ℓ queries by their vote."""

    protocols = ("Voting",)

    teacher: Teacher = teacher_setting(Thresholds(), "thresholds")
    queries: int = count_setting(100, help="ℓ, the number of answers before it halts")

    @property
    def critical_margin(self) -> float:
        """About how many votes below a tie one more vote changes the distribution of an answer most."""
        return 0.0

    def ensemble(self, sample: Sample) -> Ensemble:
        if sample.points.shape[1:] != self.point_shape:
            raise InvalidArgument(
                f"{self.teacher} takes points of shape {self.point_shape}",
                value=sample.points.shape[1:],
                remedy="Write the features of a point after a colon: LogisticRegression:112.",
            )
        return train_ensemble(self.teacher, sample, self.teachers, self.split)


class VotingTeachers(Protocol):
    """Trained teachers that count their votes for label 1, such as an `Ensemble`."""

    def ones(self, points: np.ndarray) -> np.ndarray:
        """(m,) int64: the number of teachers with label 1 for each of points (m, ...)."""

    def __hash__(self) -> int: ...


class VoteCounts:
    """The votes for label 1 of several ensembles, cached by point, or by a 64-bit hash of a vector."""

    def __init__(self, ensembles: Sequence[VotingTeachers]) -> None:
        self._ensembles = ensembles
        self._keys = np.zeros(0)
        self._counts = np.zeros((0, len(ensembles)), np.int64)
        self._prepared = self._keys, self._counts

    def ones(self, x: np.ndarray, which: Any) -> np.ndarray:
        """(n,) int64: the votes for label 1 of ensemble which[g] at point g of x, (n, ...) or (1, ...)."""
        keys = _keys(x)
        position, cached = self._find(keys)
        if not cached.all():
            count = len(self._keys) - len(self._prepared[0])
            if count + np.count_nonzero(~cached) > _CACHED_POINTS:
                self._keys, self._counts = self._prepared
                _, cached = self._find(keys)
            self._add(x[~cached], keys[~cached])
            position, _ = self._find(keys)
        return np.asarray(self._counts[position, which])

    def prepare(self, points: np.ndarray) -> None:
        """Count the votes at points (m, ...) at once, and keep them in the cache for good."""
        self._add(points, _keys(points))
        self._prepared = self._keys, self._counts

    def _find(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not len(self._keys):
            return np.zeros(len(keys), np.intp), np.zeros(len(keys), bool)
        position = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return position, self._keys[position] == keys

    def _add(self, points: np.ndarray, keys: np.ndarray) -> None:
        new, first = np.unique(keys, return_index=True)
        missing = ~self._find(new)[1]
        if not missing.any():
            return
        new, first = new[missing], first[missing]
        counts = [ensemble.ones(points[first]) for ensemble in self._ensembles]
        merged = np.concatenate([self._keys.astype(new.dtype), new])
        order = np.argsort(merged)
        self._keys = merged[order]
        self._counts = np.concatenate([self._counts, np.stack(counts, axis=1)])[order]


@lru_cache(maxsize=16)
def vote_counts(*ensembles: VotingTeachers) -> VoteCounts:
    """The vote counts of these ensembles, shared by the batches of an audit, which query the same points."""
    return VoteCounts(ensembles)


def _keys(points: np.ndarray) -> np.ndarray:
    """(n,): a cache key for each of points (n, ...), equal for equal points."""
    numbers = points.astype(np.float64) + 0.0  # -0.0 equals 0.0 but has other bits
    return numbers if numbers.ndim == 1 else hash_rows(numbers.reshape(len(numbers), prod(points.shape[1:])))


class VotersState:
    """Base of the running learners: trains teachers and counts votes. A subclass implements `_answer`."""

    def __init__(self, spec: Voters, games: int) -> None:
        self._spec = spec
        self._games = games
        self._answered = 0
        self.halted = np.zeros(games, bool)

    def train(self, training: Training) -> None:
        self.use_ensembles([self._spec.ensemble(sample) for sample in training.samples], training.which)

    def use_ensembles(self, ensembles: Sequence[VotingTeachers], which: np.ndarray) -> None:
        """Use trained teachers; which (n,) is the ensemble of each game."""
        self._vote_counts = vote_counts(*ensembles)
        self._which = which

    def prepare(self, points: np.ndarray) -> None:
        """Count the votes at points (m, ...) that may be queried, after `train`; it changes no answer."""
        self._vote_counts.prepare(points)

    def predict(self, x: np.ndarray) -> np.ndarray:
        if self._answered == self._spec.queries:
            return np.zeros(self._games, np.int8)
        self._answered += 1
        answers = self._answer(self.ones(x))
        if self._answered == self._spec.queries:
            self.halted = np.ones(self._games, bool)
        return answers

    def votes(self, x: Any) -> np.ndarray:
        """The mean votes (n,), for an adversary that simulates the learner."""
        return self.ones(np.broadcast_to(x, (self._games, *self._spec.point_shape))) / self._spec.teachers

    def ones(self, x: np.ndarray) -> np.ndarray:
        """(n,) int64: the votes for label 1 in each game at its point of x (n, ...)."""
        return self._vote_counts.ones(x[:1] if is_shared(x) else x, self._which)

    @abstractmethod
    def _answer(self, ones: np.ndarray) -> np.ndarray:
        """The answers to queries with `ones` (n,) votes for label 1; may halt games."""


class VotingLaw(AnswerLaw):
    """Base of the distributions of answers, which depend on a point only through its votes."""

    def __init__(self, spec: Any, sample: Sample) -> None:
        self._spec = spec
        self._vote_counts = vote_counts(spec.ensemble(sample))
        self.last = spec.queries

    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        ones = self._vote_counts.ones(x[:1] if is_shared(x) else x, 0)
        return self._step_by_votes(measure, np.broadcast_to(ones, len(x)))

    @abstractmethod
    def _step_by_votes(self, measure: np.ndarray, ones: np.ndarray) -> np.ndarray:
        """(k, n, m), as `step`, for queries with `ones` (n,) votes for label 1."""
