"""The players of an experiment with noisy votes: teachers, aggregators and students."""

from __future__ import annotations

import contextlib
import importlib.util
import math
import warnings
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.sample import Sample
from learners.pate.ensemble import Classifier, Ensemble, Teacher, Voters
from learners.pate.ensemble.ensemble import divide_sample
from learners.pate.pate_gaussian import PateGaussian
from learners.pate.pate_svt import TIGHT, PateSvt
from learners.pate.students.active import ActiveStudent, learn
from learners.pate.students.forced_label_student import ForcedLabelStudent
from learners.pate.students.gradient_step_student import GradientStepStudent
from learners.pate.students.odometer import gaussian_epsilon
from learners.pate.students.passive import LabellingService, collect_answers, fit_answers

GRADIENT, FORCED = ACTIVE = ("gradient", "forced")
_UNLIMITED = 10**9  # teachers, which reach any threshold


@attrs.frozen(eq=False)
class TrainedPateStudent:
    """A student's rule, label: points (m, d) -> labels (m,) bool; and the number of answers it was given."""

    label: Callable[[np.ndarray], np.ndarray]
    answers: int


@attrs.frozen(kw_only=True)
class PateExperimentPlayers:
    """Teachers whose votes pate-gaussian or pate-svt answers with, and students, passive and active.

    Implements `audits.experiments.experiment_players.ExperimentPlayers`, where tasks are described.
    """

    teacher: Teacher
    student: Teacher
    active: ActiveStudent

    def count_ones(self, sample: Sample, teachers: int, split: int, points: np.ndarray) -> np.ndarray:
        with _train_reproducibly():
            parts = divide_sample(sample, teachers, split)
            return Ensemble(tuple(self.teacher.train(part) for part in parts)).ones(points)

    def train(self, task: Any) -> TrainedPateStudent:
        with _train_reproducibly():
            service = _start_service(task)
            if task.active:
                lesson = learn(self.active, service, task.points)[0]
                return TrainedPateStudent(lesson.rule.label, len(lesson.asked))
            answers = collect_answers(service, task.points)
            rule = fit_answers(self.student, task.points, answers)[0]
            return TrainedPateStudent(rule.label, int(((answers == 0) | (answers == 1)).sum()))

    def cost(self, answers: int, *, of: int, epsilon: float, delta: float) -> float:
        sigma = PateGaussian(queries=of, epsilon=epsilon, delta=delta).effective_sigma
        return gaussian_epsilon(answers=answers, sigma=sigma, delta=delta)

    def describe(self) -> dict[str, object]:
        names = [name for name in ("step", "constant") if hasattr(self.active, name)]
        settings = ", ".join(f"{name}={getattr(self.active, name):g}" for name in names)
        description: dict[str, object] = {"teacher": str(self.teacher), "student": str(self.student)}
        description["active student"] = f"{type(self.active).__name__}({settings})"
        with contextlib.suppress(metadata.PackageNotFoundError):
            description["scikit-learn"] = metadata.version("scikit-learn")
        return description


def make_players(
    teacher: str, student: str | None, *, features: int, active: str = GRADIENT, constant: float | None = None
) -> PateExperimentPlayers:
    """The players that the texts name, for points with so many features.

    student: by default like the teachers. active: "gradient", or "forced" with rules of the student.
    constant: how readily the active student asks; by default its own.

    Raises: InvalidArgument if there is no such teacher, or it does not learn from such points.
    """
    teachers = _read_teacher(teacher, features)
    passive = teachers if student is None else _read_teacher(student, features)
    settings = {} if constant is None else {"constant": constant}
    asking: ActiveStudent = GradientStepStudent(**settings)
    if active == FORCED:
        asking = ForcedLabelStudent(student=passive, **settings)
    return PateExperimentPlayers(teacher=teachers, student=passive, active=asking)


def _read_teacher(text: str, features: int) -> Teacher:
    teacher = Teacher.from_text(text)
    if isinstance(teacher, Classifier) and teacher.features is None:
        teacher = attrs.evolve(teacher, features=features)
    if teacher.point_shape != (features,):
        raise InvalidArgument(
            f"the data have points of {features:,} variables, and {teacher} learns from others",
            value=teacher.point_shape,
            remedy="Name a classifier, as LogisticRegression, or a class of that dimension.",
        )
    return teacher


def _start_service(task: Any) -> LabellingService:
    votes = zip(task.points, task.ones, strict=True)
    ensemble = _CountedVotes({point.tobytes(): ones for point, ones in votes})
    if math.isinf(task.epsilon):
        return _MajorityService(ensemble, task.teachers, task.answers)
    settings = {"queries": task.answers, "epsilon": task.epsilon, "delta": task.delta}
    learner: Voters
    if task.screened:
        learner = _screen_votes(task.teachers, settings)
    else:
        learner = PateGaussian(teachers=task.teachers, **settings)
    service = learner.start(1, task.noise)
    service.use_ensembles([ensemble], np.zeros(1, np.intp))
    return service


def _screen_votes(teachers: int, settings: dict[str, Any]) -> PateSvt:
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
    with contextlib.ExitStack() as stack:
        if importlib.util.find_spec("threadpoolctl") is not None:  # it comes with scikit-learn
            from threadpoolctl import threadpool_limits  # slow to import

            stack.enter_context(threadpool_limits(limits=1))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        yield
