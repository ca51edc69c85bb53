"""The players of `arena experiment pate`: teachers, noisy answers and students, bound to an experiment."""

from __future__ import annotations

import contextlib
import importlib.util
import math
import warnings
from collections.abc import Iterator
from importlib import metadata

import attrs
import numpy as np

from arena import InvalidArgument, Sample
from audits.experiments.players import Learned, Request
from learners.pate.ensemble import Classifier, Ensemble, Teacher
from learners.pate.ensemble.ensemble import divide_sample
from learners.pate.pate_gaussian import PateGaussian
from learners.pate.students import (
    ActiveStudent,
    ForcedLabelStudent,
    GradientStepStudent,
    LabellingService,
    collect_answers,
    fit_answers,
    gaussian_epsilon,
    learn,
)

GRADIENT, FORCED = ACTIVE = ("gradient", "forced")


@attrs.frozen(kw_only=True)
class PatePlayers:
    """Teachers whose votes pate-gaussian answers with, and students, passive and active."""

    teacher: Teacher
    student: Teacher
    active: ActiveStudent

    def ones(self, sample: Sample, teachers: int, split: int, points: np.ndarray) -> np.ndarray:
        with _calmly():
            parts = divide_sample(sample, teachers, split)
            return Ensemble(tuple(self.teacher.train(part) for part in parts)).ones(points)

    def learn(self, request: Request) -> Learned:
        with _calmly():
            service = self._service(request)
            if request.active:
                lesson = learn(self.active, service, request.points)[0]
                return Learned(lesson.rule.label, len(lesson.asked))
            rule = fit_answers(self.student, request.points, collect_answers(service, request.points))[0]
            return Learned(rule.label, len(request.points))

    def spent(self, answers: int, *, of: int, epsilon: float, delta: float) -> float:
        sigma = PateGaussian(queries=of, epsilon=epsilon, delta=delta).effective_sigma
        return gaussian_epsilon(answers=answers, sigma=sigma, delta=delta)

    def describe(self) -> dict[str, object]:
        active = type(self.active).__name__
        settings = {
            name: getattr(self.active, name) for name in ("step", "constant") if hasattr(self.active, name)
        }
        told = ", ".join(f"{name}={value:g}" for name, value in settings.items())
        found: dict[str, object] = {"teacher": str(self.teacher), "student": str(self.student)}
        found["active student"] = f"{active}({told})"
        with contextlib.suppress(metadata.PackageNotFoundError):
            found["scikit-learn"] = metadata.version("scikit-learn")
        return found

    def _service(self, request: Request) -> LabellingService:
        counted = _Counted(
            {point.tobytes(): ones for point, ones in zip(request.points, request.ones, strict=True)}
        )
        if math.isinf(request.epsilon):
            return _Majority(counted, request.teachers, request.answers)
        spec = PateGaussian(
            teachers=request.teachers,
            queries=request.answers,
            epsilon=request.epsilon,
            delta=request.delta,
        )
        service = spec.start(1, request.noise)
        service.use_ensembles([counted], np.zeros(1, np.intp))
        return service


def players(
    teacher: str, student: str | None, *, features: int, active: str = GRADIENT, constant: float | None = None
) -> PatePlayers:
    """The players that the texts name, for points of so many features; a student is like the teachers unless
    it is named.

    active: gradient, or forced with rules of the student. constant: how readily it asks; None: its default.

    Raises: InvalidArgument if there is no such teacher, or if it does not learn from such points.
    """
    teaches = _teacher(teacher, features)
    learns = teaches if student is None else _teacher(student, features)
    given = {} if constant is None else {"constant": constant}
    asks: ActiveStudent = GradientStepStudent(**given)
    if active == FORCED:
        asks = ForcedLabelStudent(student=learns, **given)
    return PatePlayers(teacher=teaches, student=learns, active=asks)


def _teacher(text: str, features: int) -> Teacher:
    found = Teacher.from_text(text)
    if isinstance(found, Classifier) and found.features is None:
        found = attrs.evolve(found, features=features)
    if found.point_shape != (features,):
        raise InvalidArgument(
            f"the data have points of {features:,} variables, and {found} learns from others",
            value=found.point_shape,
            remedy="Name a classifier, as LogisticRegression, or a class of that dimension.",
        )
    return found


@attrs.frozen(eq=False)
class _Counted:
    """What is left of teachers: their votes for 1 at some points, which are known by their bytes."""

    found: dict[bytes, int]

    def ones(self, points: np.ndarray) -> np.ndarray:
        return np.array([self.found[point.tobytes()] for point in points], np.int64)


class _Majority:
    """Answers with the majority of the votes, without noise."""

    def __init__(self, counted: _Counted, teachers: int, most: int) -> None:
        self._counted, self._teachers, self._left = counted, teachers, most

    @property
    def halted(self) -> np.ndarray:
        return np.array([self._left == 0])

    def predict(self, x: np.ndarray) -> np.ndarray:
        self._left -= 1
        return (2 * self._counted.ones(x) >= self._teachers).astype(np.int8)


@contextlib.contextmanager
def _calmly() -> Iterator[None]:
    """On one thread: sums of so few numbers gain nothing from more, whose number their last bits hang on.
    Without warnings: a rule that has not quite converged is a rule still, and would say so each time."""
    with contextlib.ExitStack() as stack:
        if importlib.util.find_spec("threadpoolctl") is not None:  # it comes with scikit-learn
            from threadpoolctl import threadpool_limits  # slow to import

            stack.enter_context(threadpool_limits(limits=1))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        yield
