"""pate-asq: a student who chooses the public points that the noisy votes of teachers label."""

from __future__ import annotations

from math import ceil, log, sqrt

import attrs
import numpy as np

from arena.errors import InvalidArgument, Unsupported
from arena.laws import Finite
from arena.sample import Sample
from arena.settings import at_least, check_value, count_setting, less_than, more_than, one_of, setting
from learners.mechanisms.parameter_checks import check_positive
from learners.pate.ensemble import Minimiser
from learners.pate.pate_gaussian import GaussianVotes, PateGaussian
from learners.pate.students.active import ActiveStudent, LabellingService, learn
from learners.pate.students.base import StudentLearner
from learners.pate.students.forced_label_student import DisagreementStudent, ForcedLabelStudent
from learners.pate.students.rules import LearnedRule

DISAGREEMENT, FORCED = "disagreement", "forced"
BUDGET = 0.3  # share of the public points that may be queried, as in section 5 of the paper
_MOST_SEQUENCES = 2**12  # sequences of answers that an output distribution enumerates, each with a student


@attrs.frozen
class PateAsq(StudentLearner):
    """Releases what a student learns from answers on public points that it chooses itself, at most ℓ of them.

    Algorithm 5 (PATE-ASQ) of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning. K
    teachers are trained on parts of the sample; the labelling service is pate-gaussian with ℓ answers. The
    student goes through the public points in a public random order and queries those that it is uncertain of:
    `DisagreementStudent` (Algorithm 4) or `ForcedLabelStudent` (as in the paper's experiments). Queries
    follow from answers alone, so the claim is that of ℓ answers, whether or not they are used. The release
    does not include their number.

    The ε that the paper calls ex post, the cost of the answers given, is no guarantee, since their number
    depends on noisy answers. `odometer` is one, for runs that release the number too.

    Raises: as pate-psq.
    """

    name = "pate-asq"
    theorem = "Theorem 2 (Algorithm 1) of Liu et al., and post-processing"
    common_random_numbers = True  # every game draws one random number for each of ℓ answers, used or not

    queries: int | None = count_setting(
        None, help="ℓ, the largest number of answers; default: three in ten of the public points"
    )
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
        return PateGaussian(
            teacher=self.teacher,
            teachers=self.teachers,
            queries=ceil(BUDGET * len(self.points)) if self.queries is None else self.queries,
            split=self.split,
            epsilon=self.epsilon,
            delta=self.delta,
        )

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
        """ε of the run, nats, if `answers` answers were given and their number is released too (`odometer`).

        It holds except with probability δ, and is below the claim's ε only if few answers were given.
        """
        service = self.aggregator_learner
        return odometer(answers, most=service.queries, sigma=service.effective_sigma, delta=self.delta)

    def law(self, sample: Sample) -> Finite:
        """The exact output distribution, over all sequences of answers.

        Raises: Unsupported if there are more than 4,096 (more than 12 answers), or if the student's concepts
        are not numbers.
        """
        service = self.aggregator_learner
        self.check_numeric()
        if 2**service.queries > _MOST_SEQUENCES:
            raise Unsupported(
                f"an output distribution may have at most {_MOST_SEQUENCES:,} sequences of answers",
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
    """ε(c) for c `answers`, nats, where c may depend on the answers, of which there are at most ℓ (`most`):

        ε(c) = c/(2σ²) + (1 + c/ℓ)·√(ℓ·ln(1/δ)/2)/σ.

    It holds if c is released together with the result, except with probability δ. Proof: docs/proofs/pate.md.

    Raises: InvalidArgument if a parameter is out of range.
    """
    check_positive(sigma=sigma)
    check_value("delta", delta, more_than(0), less_than(1))
    if not 0 <= answers <= most:
        raise InvalidArgument("answers must be at least 0 and at most the budget", value=answers)
    tail = sqrt(most * -log(delta) / 2) / sigma
    return answers / (2 * sigma**2) + (1 + answers / most) * tail
