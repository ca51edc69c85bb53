"""PATE on a source: teachers drawn at once, with the aggregators and students of learners/pate."""

from __future__ import annotations

import attrs
import numpy as np

from arena.concepts import Thresholds
from benchmarks.theorems.pate.setup.sources import LineSource, Tsybakov
from learners.pate.independent_answers import PateGaussian
from learners.pate.screening import TIGHT, PateSvt
from learners.pate.students import (
    DisagreementStudent,
    LabellingService,
    LearningResult,
    collect_answers,
    fit_answers,
    learn,
)
from learners.pate.teacher import Minimiser
from learners.pate.voters import Voters

CLASS = Thresholds()
DELTA = 1e-6
GAMMA = 0.05  # the failure probability of the theorems
# K = VOTES_PER_SIGMA·σ: teachers that agree are two σ from a tie. Theorem 28 has 6√(2 ln 2n).
VOTES_PER_SIGMA = 4.0
# K = VOTES_PER_THRESHOLD·w: teachers that agree are w/2 votes above the threshold w.
VOTES_PER_THRESHOLD = 3.0


@attrs.frozen(eq=False)
class ThresholdVotes:
    """Stands for an ensemble of thresholds: their sorted t."""

    thresholds: np.ndarray

    def ones(self, points: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.thresholds, points, side="right")


def draw_teachers(source: LineSource, teachers: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """(K,) sorted: the minimisers' thresholds, each for `size` examples of its own.

    Without noise the minimiser is the least point from 1/2 on, and is drawn as such.
    """
    if isinstance(source, Tsybakov) and source.realizable:
        least = 0.5 - np.expm1(np.log1p(-rng.random(teachers)) / size)
        return np.sort(np.where(least < 1, least, np.inf))
    rows = max(1, 2**22 // size)
    parts = [
        CLASS.erm(*source.draw((min(rows, teachers - start), size), rng))
        for start in range(0, teachers, rows)
    ]
    return np.sort(np.concatenate(parts))


def gaussian(answers: int, epsilon: float, teachers: int | None = None) -> PateGaussian:
    """pate-gaussian with so many answers, and K by its noise unless it is given."""
    learner = PateGaussian(queries=answers, epsilon=epsilon, delta=DELTA)
    many = round(VOTES_PER_SIGMA * learner.effective_sigma) if teachers is None else teachers
    return attrs.evolve(learner, teachers=max(1, many))


def sparse(answers: int, epsilon: float, unstable: int, teachers: int | None = None) -> PateSvt:
    """pate-svt with the least λ and w for T answers ⊥, and K by its threshold unless it is given."""
    learner = PateSvt(
        teachers=10**9,
        queries=answers,
        epsilon=epsilon,
        delta=DELTA,
        unstable=unstable,
        calibration=TIGHT,
    )
    if teachers is None:
        teachers = round(VOTES_PER_THRESHOLD * learner.effective_threshold)
    return attrs.evolve(learner, teachers=teachers)


def start(learner: Voters, thresholds: np.ndarray, rng: np.random.Generator) -> LabellingService:
    """The aggregator, running with these teachers."""
    service = learner.start(1, rng)
    service.use_ensembles([ThresholdVotes(thresholds)], np.zeros(1, np.intp))
    return service


def questions(m: int) -> int:
    """ℓ of Theorem 22 for α = 1/m, d = 1 and θ = 2, with C_2 = 1, and no more than m."""
    logs = np.log(2) + np.log(np.log(m) / (GAMMA / 2))
    return min(m, round(2 * (1 + np.log(m)) * logs))


def learn_threshold(
    source: LineSource, learner: Voters, n: int, m: int, rng: np.random.Generator, *, active: bool = False
) -> float:
    """The t that a student learns from n private examples and m public points."""
    teachers = draw_teachers(source, learner.teachers, n // learner.teachers, rng)
    service = start(learner, teachers, rng)
    points = rng.random(m)
    if active:
        return float(learn_actively(service, points).rule.concept)
    return learn_passively(service, points)[0]


def learn_passively(service: LabellingService, points: np.ndarray) -> tuple[float, np.ndarray]:
    """Algorithm 3: the student's t, and the answers (m,)."""
    answers = collect_answers(service, points)
    rule = fit_answers(Minimiser(CLASS), points, answers)[0]
    return float(rule.concept), answers[0]


def learn_actively(service: LabellingService, points: np.ndarray, **settings: float) -> LearningResult:
    """Algorithm 5 with Algorithm 4. `rule.concept` of the result is the student's t."""
    return learn(DisagreementStudent(concepts=CLASS, **settings), service, points)[0]
