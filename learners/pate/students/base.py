"""What the learners share in which a student learns from labels that an aggregator releases."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import attrs
import numpy as np

from arena.claims import Claim
from arena.concepts.line.thresholds import Thresholds
from arena.errors import InvalidArgument, Unsupported
from arena.replies import Hypothesis
from arena.sample import Training
from arena.settings import less_than, more_than, setting
from learners.pate.ensemble import Teacher, Voters
from learners.pate.ensemble.base import EnsembleLearner, teacher_setting
from learners.pate.students.passive import Service
from learners.pate.students.public_points import PublicPoints
from learners.pate.students.rules import Rule, concepts_of, rule_class


@attrs.frozen
class StudentLearner(EnsembleLearner):
    """Base of the specs: teachers on the private sample, an aggregator of their votes, a student who sees
    public points and the aggregator's answers alone. What it does with answers is post-processing, so the
    claim is the aggregator's.
    """

    protocols = ("Release",)

    teacher: Teacher = teacher_setting(Thresholds(range(1, 17)), "thresholds:1..16")
    student: Teacher | None = setting(None, help="what the student is; default: as the teachers")
    public: PublicPoints | None = setting(
        None,
        unit="points",
        help="the public points, as 0.5,1,2 or FILE.csv; default: those of a finite domain, once each",
    )
    epsilon: float = setting(1.0, unit="nats", help="ε of all answers together", check=more_than(0))
    delta: float = setting(
        1e-5, unit="probability", help="δ of all answers together", check=[more_than(0), less_than(1)]
    )

    def with_public_points(self, points: np.ndarray) -> Self:
        """The same learner with public points (m, ...)."""
        return attrs.evolve(self, public=PublicPoints(points))

    @property
    def learner_run(self) -> Teacher:
        """What the student is."""
        return self.teacher if self.student is None else self.student

    @property
    def points(self) -> np.ndarray:
        """(m, ...): the public points; Unsupported if there are none, InvalidArgument if they do not fit."""
        domain = self.teacher.domain
        if self.public is not None:
            points = self.public.points
        elif domain is not None:
            points = np.array(domain, np.float64)
        else:
            raise Unsupported(
                f"{self.name} needs public points, as {self.teacher} has no finite domain to take them from",
                remedy="Set public: in Python PublicPoints(points), else a file with a point a line.",
            )
        if points.shape[1:] != self.point_shape or self.learner_run.point_shape != self.point_shape:
            raise InvalidArgument(
                f"teachers, student and public points have one shape, {self.point_shape}",
                value=(points.shape[1:], self.learner_run.point_shape),
            )
        return points if self.concepts is None else self.concepts.check(points)

    @property
    @abstractmethod
    def aggregator_run(self) -> Voters:
        """The aggregator that the student asks."""

    @property
    def claim(self) -> Claim:
        return self.aggregator_run.claim

    def check_numbered(self) -> None:
        """Raises: Unsupported if what is released is no number, of which no law is told."""
        if rule_class(self.learner_run).concept_ndim:
            raise Unsupported(
                f"{self.name} tells its law where concepts are numbers",
                value=rule_class(self.learner_run),
                remedy="Audit it by playing, or give a small class as a matrix of its labels.",
            )

    @abstractmethod
    def learned(self, service: Service) -> list[Rule]:
        """What the student of each game learns from a trained aggregator at its table."""

    def start(self, games: int, rng: np.random.Generator) -> StudentsState:
        rule_class(self.learner_run)  # refuses what cannot be released before anything is asked
        return StudentsState(self, games, rng)


@attrs.frozen(eq=False)
class StudentsState:
    """Students at a table, each with a labelling service of its own."""

    spec: StudentLearner
    games: int
    rng: np.random.Generator

    def release(self, training: Training) -> Hypothesis:
        service = self.spec.aggregator_run.start(self.games, self.rng)
        service.train(training)
        student = self.spec.learner_run
        return Hypothesis(rule_class(student), concepts_of(student, self.spec.learned(service)))
