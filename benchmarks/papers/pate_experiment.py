"""Section 5 of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning.

A data set is split at random into private, public and test examples. A teacher is trained on each hundred
private ones, and students learn from noisy votes on the public points: a passive student (psq) asks about all
of them, an active one (asq) about at most 30 %; np is without noise. psq-svt is a passive student whose
answers a sparse vector gives, Algorithm 2 with the least λ and w, and the largest T that so many teachers can
reach. All answers to a student together cost ε at δ = 1/n.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
from threadpoolctl import threadpool_limits

from arena import Sample
from arena.privacy_curves import GaussianCurve
from arena.randomness import block_seed, generator
from audits.data.one_hot import OneHotData
from learners.pate.independent_answers import PateGaussian
from learners.pate.screening import TIGHT, PateSvt
from learners.pate.students import ActiveStudent, LabellingService, collect_answers, fit_answers, learn
from learners.pate.teacher import Teacher
from learners.pate.voters import Ensemble, Voters, divide_sample

NOISELESS, NOISY, SVT = ("psq-np", "asq-np"), ("psq", "asq"), "psq-svt"
PRIVATE_SHARE, PUBLIC_SHARE = 0.8, 0.02  # the rest is the test set
TEACHER_EXAMPLES = 100
BUDGET = 0.3  # the fraction of the public points that an active student may ask about
_ROUNDING = 1e-9  # of a share times a number of examples
_SPLIT_SEEDS = 2**32  # the seed of the teachers' partition is below
_UNLIMITED = 10**9  # teachers, which reach any threshold


@attrs.frozen
class Row:
    """A row of the table: a method, and the ε of all its answers together (nats; infinite without noise)."""

    method: str
    epsilon: float

    @property
    def active(self) -> bool:
        return self.method.startswith("asq")


@attrs.frozen(eq=False, kw_only=True)
class PateExperiment:
    """The data, the teachers, passive and active students, the rows of the table, and the random seed."""

    data: OneHotData
    teacher: Teacher
    student: Teacher
    active: ActiveStudent
    rows: tuple[Row, ...]
    seed: int = 0

    @property
    def private(self) -> int:
        """The number of examples that teachers are trained on; rounded down, as in the paper's Table 3."""
        return math.floor(PRIVATE_SHARE * len(self.data.labels) + _ROUNDING)

    @property
    def public(self) -> int:
        """The number of points that students may ask about; rounded up, as there."""
        return math.ceil(PUBLIC_SHARE * len(self.data.labels) - _ROUNDING)

    @property
    def teachers(self) -> int:
        """K."""
        return round(self.private / TEACHER_EXAMPLES)

    @property
    def delta(self) -> float:
        return 1 / self.private

    def count_answers(self, row: Row) -> int:
        """ℓ, the maximal number of answers to a student."""
        return round(BUDGET * self.public) if row.active else self.public

    def play_split(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Play split `index`, which depends on nothing but the experiment and the index.

        There are three streams of random numbers: the split of the data, the teachers' partition of the
        private part, and the noise. The students of all rows draw the same noise from its beginning, so that
        rows are compared on common random numbers and no row depends on others.

        Shapes, for k rows: answers (k,), the number of answers to each row's student; confusions (k + 1, 2,
        2), at [r, y, l] the test examples with label y that row r labels l, the last for the vote of all
        teachers without noise.
        """
        data, teachers = self.data, self.teachers
        seeds = block_seed(self.seed, index).spawn(3)
        order = generator(seeds[0]).permutation(len(data.labels))
        private, public, tested = np.split(order, np.cumsum([self.private, self.public]))
        public_points, test_points = (data.points[part].astype(np.float64) for part in (public, tested))
        sample = Sample(data.points[private], data.labels[private])
        partition = int(generator(seeds[1]).integers(_SPLIT_SEEDS))
        points = np.concatenate([public_points, test_points])
        answers, predictions = [], []
        with _train_reproducibly():
            parts = divide_sample(sample, teachers, partition)
            ones = Ensemble(tuple(self.teacher.train(part) for part in parts)).ones(points)
            for row in self.rows:
                votes = ones[: len(public_points)]
                label, asked = self.train_student(row, public_points, votes, generator(seeds[2]))
                answers.append(asked)
                predictions.append(label(test_points))
        predictions.append(2 * ones[len(public_points) :] >= teachers)
        confusions = [count_confusion(data.labels[tested], predicted) for predicted in predictions]
        return np.array(answers), np.array(confusions)

    def train_student(
        self, row: Row, points: np.ndarray, ones: np.ndarray, noise: np.random.Generator
    ) -> tuple[Callable[[np.ndarray], np.ndarray], int]:
        """A student's rule, points (m, d) -> labels (m,) bool; and the number of answers it was given.

        Shapes: points (m, d) float64; ones (m,), how many teachers label each point 1.
        """
        service = self._start_service(row, points, ones, noise)
        if row.active:
            lesson = learn(self.active, service, points)[0]
            return lesson.rule.label, len(lesson.asked)
        answers = collect_answers(service, points)
        rule = fit_answers(self.student, points, answers)[0]
        return rule.label, int(((answers == 0) | (answers == 1)).sum())

    def cost(self, row: Row, answers: int) -> float:
        """ε at δ (nats) of so many answers, had their number been fixed; infinite without noise.

        The cost of a sparse vector depends on the answers ⊥ and labels of a whole run, so it is the row's.
        """
        if math.isinf(row.epsilon) or row.method == SVT:
            return row.epsilon
        if not answers:
            return 0.0
        settings = {"queries": self.count_answers(row), "epsilon": row.epsilon, "delta": self.delta}
        sigma = PateGaussian(**settings).effective_sigma
        return GaussianCurve(math.sqrt(answers) / sigma).epsilon(self.delta)

    def _start_service(
        self, row: Row, points: np.ndarray, ones: np.ndarray, noise: np.random.Generator
    ) -> LabellingService:
        votes = zip(points, ones, strict=True)
        ensemble = _CountedVotes({point.tobytes(): count for point, count in votes})
        answers = self.count_answers(row)
        if math.isinf(row.epsilon):
            return _MajorityService(ensemble, self.teachers, answers)
        settings = {"queries": answers, "epsilon": row.epsilon, "delta": self.delta}
        learner: Voters
        if row.method == SVT:
            learner = screen_votes(self.teachers, settings)
        else:
            learner = PateGaussian(teachers=self.teachers, **settings)
        service = learner.start(1, noise)
        service.use_ensembles([ensemble], np.zeros(1, np.intp))
        return service


def screen_votes(teachers: int, settings: dict[str, Any]) -> PateSvt:
    """pate-svt with the largest T whose threshold a vote of three to one reaches, or T = 1.

    Raises: InvalidArgument if so few teachers cannot reach the threshold at T = 1.
    """
    learner = PateSvt(teachers=teachers, unstable=1, calibration=TIGHT, **settings)
    for unstable in range(2, learner.queries):
        more = attrs.evolve(learner, teachers=_UNLIMITED, unstable=unstable)
        if more.effective_threshold > teachers / 4:
            break
        learner = attrs.evolve(learner, unstable=unstable)
    return learner


@attrs.frozen(eq=False)
class _CountedVotes:
    """Stands for an ensemble: the votes for 1 at some points, which are known by their bytes."""

    counts: dict[bytes, int]

    def ones(self, points: np.ndarray) -> np.ndarray:
        return np.array([self.counts[point.tobytes()] for point in points], np.int64)


class _MajorityService:
    """Answers with the majority of the votes, without noise."""

    def __init__(self, ensemble: _CountedVotes, teachers: int, answers: int) -> None:
        self._ensemble, self._teachers, self._remaining = ensemble, teachers, answers

    @property
    def halted(self) -> np.ndarray:
        return np.array([self._remaining == 0])

    def predict(self, x: np.ndarray) -> np.ndarray:
        self._remaining -= 1
        return (2 * self._ensemble.ones(x) >= self._teachers).astype(np.int8)


@contextlib.contextmanager
def _train_reproducibly() -> Iterator[None]:
    """On one thread: the last bits of sums depend on the number of threads, and so few numbers gain nothing.

    Warnings are off, since every rule that has not quite converged would cause one.
    """
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# Measures (n,) of confusions (n, 2, 2), by label and prediction. A share of no examples counts as 0.


def count_confusion(labels: np.ndarray, predicted: np.ndarray) -> np.ndarray:
    """(2, 2): at [y, l] the number of examples with label y that are labelled l; labels, predicted: (m,)."""
    counts = np.bincount(2 * labels.astype(np.int64) + predicted.astype(np.int64), minlength=4)
    return counts.reshape(2, 2)


def measure_accuracy(confusions: np.ndarray) -> np.ndarray:
    return np.asarray(np.trace(confusions, axis1=1, axis2=2) / confusions.sum(axis=(1, 2)))


def measure_balanced_accuracy(confusions: np.ndarray) -> np.ndarray:
    """The mean over both labels of the share of their examples that are labelled correctly."""
    correct = np.diagonal(confusions, axis1=1, axis2=2)
    return np.asarray((correct / np.maximum(confusions.sum(axis=2), 1)).mean(axis=1))


def measure_f1(confusions: np.ndarray) -> np.ndarray:
    """The F1 score of label 1."""
    total = confusions[:, 1].sum(axis=1) + confusions[:, :, 1].sum(axis=1)
    return np.asarray(2 * confusions[:, 1, 1] / np.maximum(total, 1))
