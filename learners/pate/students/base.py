"""The base of the learners in which a student learns from an aggregator's answers."""

from __future__ import annotations

from abc import abstractmethod
from typing import Self

import attrs
import numpy as np

from arena.claims import Claim
from arena.concepts.line import Thresholds
from arena.errors import InvalidArgument, Unsupported
from arena.laws import Finite
from arena.messages import Hypothesis
from arena.sample import Training
from arena.settings import setting
from learners.common.learner_bases import ReleaseLearner, RunningRelease
from learners.pate.ensemble import Teacher, Voters
from learners.pate.ensemble.voters import EnsembleLearner, teacher_setting
from learners.pate.students.active import LabellingService
from learners.pate.students.rules import LearnedRule, PublicPoints, rule_class, stack_concepts


@attrs.frozen
class StudentLearner(EnsembleLearner, ReleaseLearner):
    """Base of the learners with teachers, an aggregator of their votes, and a student.

    The student uses only public points and the aggregator's answers, which is post-processing. So the claim
    is the aggregator's.
    """

    teacher: Teacher = teacher_setting(Thresholds(range(1, 17)), "thresholds:1..16")
    student: Teacher | None = setting(None, help="the type of the student; default: that of the teachers")
    public: PublicPoints | None = setting(
        None,
        unit="points",
        help="the public points, as 0.5,1,2 or FILE.csv; default: each point of a finite domain once",
    )
    epsilon: float = setting(1.0, unit="nats", help="ε of all answers together")
    delta: float = setting(1e-5, unit="probability", help="δ of all answers together")

    def with_public_points(self, points: np.ndarray) -> Self:
        """The same learner with public points (m, ...)."""
        return attrs.evolve(self, public=PublicPoints(points))

    @property
    def effective_student(self) -> Teacher:
        """The type of the student."""
        return self.teacher if self.student is None else self.student

    @property
    def points(self) -> np.ndarray:
        """(m, ...): the public points.

        Raises: Unsupported if there are none; InvalidArgument if their shape is wrong.
        """
        domain = self.teacher.domain
        if self.public is not None:
            points = self.public.points
        elif domain is not None:
            points = np.array(domain, np.float64)
        else:
            raise Unsupported(
                f"{self.name} needs public points, since {self.teacher} has no finite domain",
                remedy="Set public: in Python PublicPoints(points), or a file with a point on each line.",
            )
        if points.shape[1:] != self.point_shape or self.effective_student.point_shape != self.point_shape:
            raise InvalidArgument(
                f"teachers, student and public points must have the same shape, {self.point_shape}",
                value=(points.shape[1:], self.effective_student.point_shape),
            )
        return points if self.concepts is None else self.concepts.check(points)

    @property
    @abstractmethod
    def aggregator_learner(self) -> Voters:
        """The aggregator that answers the student's queries."""

    @property
    def claim(self) -> Claim:
        return self.aggregator_learner.claim

    def check_numeric(self) -> None:
        """Raises: Unsupported if released concepts are not numbers, so that there is no output
        distribution."""
        if rule_class(self.effective_student).concept_ndim:
            raise Unsupported(
                f"{self.name} has an exact output distribution only if concepts are numbers",
                value=rule_class(self.effective_student),
                remedy="Audit it by playing games, or give a small class as a matrix of its labels.",
            )

    def law_of_rules(self, rules: list[LearnedRule], probabilities: np.ndarray) -> Finite:
        """The distribution of the released concept, if these rules have these probabilities."""
        values, which = np.unique(stack_concepts(self.effective_student, rules), return_inverse=True)
        return Finite(values, np.bincount(which.ravel(), weights=probabilities))

    @abstractmethod
    def learn_rules(self, service: LabellingService) -> list[LearnedRule]:
        """The rule of the student of each game, learned from a running aggregator that is trained."""

    def start(self, games: int, rng: np.random.Generator) -> RunningRelease:
        rule_class(self.effective_student)  # refuses students without releasable rules before any query
        return super().start(games, rng)

    def release(self, training: Training, rng: np.random.Generator) -> Hypothesis:
        service = self.aggregator_learner.start(training.games, rng)
        service.train(training)
        student = self.effective_student
        return Hypothesis(rule_class(student), stack_concepts(student, self.learn_rules(service)))
