"""pate-psq and pate-asq: students who learn from the noisy votes of teachers on public points."""

from __future__ import annotations

from abc import abstractmethod
from math import ceil, log, sqrt
from typing import Any, Self, TypeVar

import attrs
import numpy as np

from arena.claims import Claim
from arena.concepts.line import Thresholds
from arena.errors import InvalidArgument, Unsupported
from arena.laws import AnswerLaw, Finite
from arena.messages import NO_LABEL, Hypothesis
from arena.sample import Sample, Training
from arena.settings import at_least, count_setting, less_than, more_than, one_of, setting
from learners.common.learner_bases import ReleaseLearner, RunningRelease
from learners.pate.independent_answers import GaussianVotes, PateGaussian
from learners.pate.rules import LearnedRule, PublicPoints, rule_class, stack_concepts
from learners.pate.screening import PateSvt
from learners.pate.students import (
    ActiveStudent,
    DisagreementStudent,
    ForcedLabelStudent,
    LabellingService,
    collect_answers,
    fit_answers,
    learn,
)
from learners.pate.teacher import Minimiser, Teacher
from learners.pate.voters import EnsembleLearner, Voters, teacher_setting

V = TypeVar("V", bound=Voters)


@attrs.frozen
class StudentLearner(EnsembleLearner, ReleaseLearner):
    """Base of the learners with teachers, an aggregator of their votes, and a student, who uses only public
    points and the answers: the claim is the aggregator's."""

    teacher: Teacher = teacher_setting(Thresholds(range(1, 17)), "thresholds:1..16")
    student: Teacher | None = setting(None, help="the type of the student; default: that of the teachers")
    public: PublicPoints | None = setting(
        None, unit="points", help="the public points, as 0.5,1,2 or FILE.csv; default: a finite domain"
    )
    epsilon: float = setting(1.0, unit="nats", help="ε of all answers together")
    delta: float = setting(1e-5, unit="probability", help="δ of all answers together")

    def with_public_points(self, points: np.ndarray) -> Self:
        return attrs.evolve(self, public=PublicPoints(points))

    @property
    def effective_student(self) -> Teacher:
        """The type of the student."""
        return self.teacher if self.student is None else self.student

    @property
    def points(self) -> np.ndarray:
        """(m, ...): the public points. Raises: Unsupported without any; InvalidArgument for a wrong shape."""
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

    def _build_aggregator(self, kind: type[V], queries: int, **settings: Any) -> V:
        names = "teacher", "teachers", "split", "epsilon", "delta"
        return kind(queries=queries, **{name: getattr(self, name) for name in names}, **settings)

    @property
    def claim(self) -> Claim:
        return self.aggregator_learner.claim

    def check_numeric(self) -> None:
        """Raises: Unsupported if concepts are not numbers, so that there is no output distribution."""
        if rule_class(self.effective_student).concept_ndim:
            raise Unsupported(
                f"{self.name} has an exact output distribution only if concepts are numbers",
                value=rule_class(self.effective_student),
                remedy="Audit it by playing games, or give a small class as a matrix of its labels.",
            )

    def law_of_rules(self, rules: list[LearnedRule], probabilities: np.ndarray) -> Finite:
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


GAUSSIAN, SVT = "gaussian", "svt"
_MOST_SEQUENCES = 2**14  # sequences of answers that an output distribution enumerates


@attrs.frozen
class PatePsq(StudentLearner):
    """Releases what a student learns from an aggregator's answers on all public points.

    Algorithm 3 (PATE-PSQ) of Liu, Zhu, Chaudhuri, Wang, with ℓ = m answers for m public points; those with ⊥,
    or without a label, are left out. Releases a Hypothesis of the student's class, or of linear rules (n, d +
    1). Raises: Unsupported without public points, for fewer examples than teachers, or a student whose rules
    are not concepts; InvalidArgument for public points outside the domain.
    """

    name = "pate-psq"
    theorem = "Theorem 2 (Algorithms 1 and 2) of Liu et al., and post-processing"

    aggregator: str = setting(GAUSSIAN, help="gaussian or svt, as in pate-svt", check=one_of(GAUSSIAN, SVT))
    unstable: int = count_setting(3, help="T, the number of answers ⊥ before pate-svt halts")
    calibration: str | None = setting(None, help="calibration of the aggregator's noise; default: its own")

    @property
    def common_random_numbers(self) -> bool:
        """Whether its aggregator supports them."""
        return self.aggregator_learner.common_random_numbers

    @property
    def aggregator_learner(self) -> Voters:
        settings: dict[str, Any] = {} if self.calibration is None else {"calibration": self.calibration}
        if self.aggregator == SVT:
            return self._build_aggregator(PateSvt, len(self.points), unstable=self.unstable, **settings)
        return self._build_aggregator(PateGaussian, len(self.points), **settings)

    def learn_rules(self, service: LabellingService) -> list[LearnedRule]:
        return fit_answers(self.effective_student, self.points, collect_answers(service, self.points))

    def law(self, sample: Sample) -> Finite:
        """The exact output distribution. Raises: Unsupported for more than 16,384 sequences of answers (15
        public points, with Gaussian noise), or concepts that are no numbers."""
        self.check_numeric()
        answers, probabilities = _answer_sequences(self.aggregator_learner, sample, self.points)
        return self.law_of_rules(fit_answers(self.effective_student, self.points, answers), probabilities)


def _answer_sequences(
    aggregator: Voters, sample: Sample, points: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The possible sequences of answers (s, m) of an aggregator, and their probabilities (s,), of sum 1."""
    law = aggregator.law(sample)
    assert isinstance(law, AnswerLaw)
    answers, measures = np.full((1, len(points)), NO_LABEL, np.int8), law.start()[None]
    running = np.ones(1, bool)
    for place, point in enumerate(points):
        count = int(running.sum())
        if count * len(law.outcomes) > _MOST_SEQUENCES:
            raise Unsupported(
                f"an output distribution may have at most {_MOST_SEQUENCES:,} sequences of answers",
                value=f"{len(points)} public points",
                remedy="Audit it by playing games, or give fewer public points.",
            )
        parts = law.step(measures[running], np.broadcast_to(point, (count, *point.shape)))
        extended = np.repeat(answers[running][None], len(parts), axis=0)
        extended[:, :, place] = np.array([label for label, _ in law.outcomes])[:, None]
        continues = np.repeat([not halts for _, halts in law.outcomes], count)
        answers = np.concatenate([answers[~running], extended.reshape(-1, len(points))])
        measures = np.concatenate([measures[~running], parts.reshape(-1, parts.shape[2])])
        running = np.concatenate([running[~running], continues])
        possible = measures.any(axis=1)
        answers, measures, running = answers[possible], measures[possible], running[possible]
    probabilities = measures.sum(axis=1)
    return answers, probabilities / probabilities.sum()


DISAGREEMENT, FORCED = "disagreement", "forced"
BUDGET = 0.3  # share of the public points that may be queried, as in section 5 of the paper
_MOST_STUDENTS = 2**12  # sequences of answers that an output distribution enumerates, each with a student


@attrs.frozen
class PateAsq(StudentLearner):
    """Releases what a student learns from answers on public points that it chooses itself, at most ℓ of them.

    Algorithm 5 (PATE-ASQ) of Liu, Zhu, Chaudhuri, Wang, with pate-gaussian. The student goes through the
    public points in a public random order and queries those that it is uncertain of: `DisagreementStudent`
    (Algorithm 4) or `ForcedLabelStudent`. The claim is that of ℓ answers, used or not. The paper's ex-post ε
    is no guarantee, as the number of answers depends on noisy answers; `odometer` is one, for runs that
    release the number too. Raises: as pate-psq.
    """

    name = "pate-asq"
    theorem = "Theorem 2 (Algorithm 1) of Liu et al., and post-processing"
    common_random_numbers = True  # every game draws one random number for each of ℓ answers, used or not

    queries: int | None = count_setting(None, help="ℓ, most answers; default: 3 in 10 of the public points")
    method: str | None = setting(
        None,
        help="how it chooses queries: disagreement (Algorithm 4) or forced (by fitting weighted labels); "
        "default: the former for a concept class, the latter for a classifier",
        check=one_of(DISAGREEMENT, FORCED),
    )
    constant: float | None = setting(
        None, help="tolerance for rules with more errors; default: the method's", check=more_than(0)
    )
    gamma: float = setting(0.05, unit="probability", help="γ of Algorithm 4")
    theta: float = setting(2.0, help="θ of Algorithm 4, the disagreement coefficient", check=at_least(1))
    best_error: float = setting(
        0.0, unit="probability", help="Err(h*) of Algorithm 4", check=[at_least(0), less_than(1)]
    )

    @property
    def stream(self) -> np.ndarray:
        """(m, ...): the public points in the order in which the student goes through them."""
        points = self.points
        return points[np.random.default_rng([self.split, len(points)]).permutation(len(points))]

    @property
    def aggregator_learner(self) -> PateGaussian:
        queries = ceil(BUDGET * len(self.points)) if self.queries is None else self.queries
        return self._build_aggregator(PateGaussian, queries)

    @property
    def active_student(self) -> ActiveStudent:
        """How the student chooses its queries."""
        student = self.effective_student
        method = self.method or (DISAGREEMENT if isinstance(student, Minimiser) else FORCED)
        settings = {} if self.constant is None else {"constant": self.constant}
        if method == FORCED:
            return ForcedLabelStudent(student=student, **settings)
        if not isinstance(student, Minimiser):
            raise Unsupported(
                "a version space can be enumerated only for a concept class",
                value=str(student),
                remedy="Set method to forced.",
            )
        return DisagreementStudent(
            concepts=student.concepts,
            gamma=self.gamma,
            theta=self.theta,
            best_error=self.best_error,
            **settings,
        )

    def odometer(self, answers: int) -> float:
        """ε of the run, nats, if `answers` answers were given and their number is released too
        (`odometer`)."""
        service = self.aggregator_learner
        return odometer(answers, most=service.queries, sigma=service.effective_sigma, delta=self.delta)

    def law(self, sample: Sample) -> Finite:
        """The exact output distribution. Raises: Unsupported for more than 4,096 sequences of answers (12
        answers), or concepts that are no numbers."""
        service = self.aggregator_learner
        self.check_numeric()
        if 2**service.queries > _MOST_STUDENTS:
            raise Unsupported(
                f"an output distribution may have at most {_MOST_STUDENTS:,} sequences of answers",
                value=f"{service.queries} answers",
                remedy="Audit it by playing games, or set queries.",
            )
        every = _EveryAnswerService(service.law(sample), service.queries)
        return self.law_of_rules(self.learn_rules(every), every.probabilities)

    def learn_rules(self, service: LabellingService) -> list[LearnedRule]:
        stream = self.stream
        results = learn(self.active_student, service, stream)
        while not service.halted.all():  # unused answers draw random numbers too, the same in both worlds
            service.predict(np.broadcast_to(stream[0], (len(results), *stream[0].shape)))
        return [result.rule for result in results]


class _EveryAnswerService:
    """A service in whose games every sequence of answers occurs once, with `probabilities` (2^ℓ,)."""

    def __init__(self, law: GaussianVotes, most: int) -> None:
        self._law, self._left = law, most
        self._sequences = np.arange(2**most)
        self.probabilities = np.ones(len(self._sequences))
        self.halted = np.zeros(len(self._sequences), bool)

    def predict(self, x: np.ndarray) -> np.ndarray:
        self._left -= 1
        answers = self._sequences >> self._left & 1
        step = self._law.step(np.ones((len(x), 1)), x)
        self.probabilities *= step[answers, np.arange(len(x)), 0]
        if not self._left:
            self.halted = np.ones_like(self.halted)
        return answers


def odometer(answers: int, *, most: int, sigma: float, delta: float) -> float:
    """ε(c) = c/(2σ²) + (1 + c/ℓ)·√(ℓ·ln(1/δ)/2)/σ for c `answers`, nats, of at most ℓ (`most`), where c may
    depend on the answers and is released with the result, except with probability δ: docs/proofs/pate.md.

    Raises: InvalidArgument if there are more answers.
    """
    if not 0 <= answers <= most:
        raise InvalidArgument("answers must be at least 0 and at most the budget", value=answers)
    tail = sqrt(most * -log(delta) / 2) / sigma
    return answers / (2 * sigma**2) + (1 + answers / most) * tail
