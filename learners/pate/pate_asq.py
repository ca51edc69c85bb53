"""pate-asq: a student who decides which public points the noisy votes of teachers should label."""

from __future__ import annotations

from math import ceil

import attrs
import numpy as np

from arena.errors import Unsupported
from arena.laws import Finite
from arena.sample import Sample
from arena.settings import at_least, less_than, more_than, one_of, setting, whole
from learners.pate.ensemble import Minimiser
from learners.pate.pate_gaussian import GaussianVotes, PateGaussian
from learners.pate.students.active import ActiveStudent, learn
from learners.pate.students.base import StudentLearner
from learners.pate.students.disagreement import Disagreement
from learners.pate.students.forced_label import ForcedLabel
from learners.pate.students.odometer import gaussian_epsilon, odometer
from learners.pate.students.passive import Service
from learners.pate.students.rules import Rule, concepts_of

DISAGREEMENT, FORCED = "disagreement", "forced"
BUDGET = 0.3  # of the public points, as in section 5 of the paper
_MOST_STRINGS = 2**12  # of answers that a law goes through, each a student


@attrs.frozen
class PateAsq(StudentLearner):
    """Trains K teachers on parts of the sample; a student goes through the public points in a public random
    order, asks about those that it is unsure of, ℓ at most, and releases what it has learned.

    Algorithm 5 (PATE-ASQ) of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning: the
    labelling service is pate-gaussian with ℓ answers, the student `Disagreement` (Algorithm 4) or
    `ForcedLabel` (as in their experiments). Questions follow from answers alone, so the claim is that of ℓ
    answers (ε, δ), asked for or not. What is released does not say how many were.

    The ε that the paper calls ex post is `spent`: what as many answers as were given would cost if their
    number had been fixed. It is no guarantee, as that number follows from noisy answers. `odometer` is one,
    for those who release the number, too.

    Raises: as pate-psq.
    """

    name = "pate-asq"
    theorem = "Theorem 2 (Algorithm 1) of Liu et al., and post-processing"

    queries: int | None = setting(
        None,
        help="ℓ, the answers there are to be had; default: three in ten of the public points",
        check=[whole, at_least(1)],
    )
    method: str | None = setting(
        None,
        help="how it chooses: disagreement (Algorithm 4) or forced (with an oracle of weighted labels); "
        "default: the former for a concept class, the latter for a classifier",
        check=one_of(DISAGREEMENT, FORCED),
    )
    constant: float | None = setting(
        None, help="how generous it is to rules with more errors; default: the method's", check=more_than(0)
    )
    gamma: float = setting(
        0.05, unit="probability", help="γ of Algorithm 4", check=[more_than(0), less_than(1)]
    )
    theta: float = setting(2.0, help="θ of Algorithm 4, the disagreement coefficient", check=at_least(1))
    best_error: float = setting(
        0.0, unit="probability", help="Err(h*) of Algorithm 4", check=[at_least(0), less_than(1)]
    )

    @property
    def common_random_numbers(self) -> bool:
        """Every game draws one number for each of ℓ answers, asked for or not."""
        return True

    @property
    def stream(self) -> np.ndarray:
        """(m, ...): the public points in the order in which the student meets them."""
        points = self.points
        return points[np.random.default_rng([self.split, len(points)]).permutation(len(points))]

    @property
    def aggregator_run(self) -> PateGaussian:
        return PateGaussian(
            teacher=self.teacher,
            teachers=self.teachers,
            queries=ceil(BUDGET * len(self.points)) if self.queries is None else self.queries,
            split=self.split,
            epsilon=self.epsilon,
            delta=self.delta,
        )

    @property
    def method_run(self) -> ActiveStudent:
        """How the student chooses its questions."""
        student = self.learner_run
        method = self.method or (DISAGREEMENT if isinstance(student, Minimiser) else FORCED)
        given = {} if self.constant is None else {"constant": self.constant}
        if method == FORCED:
            return ForcedLabel(student=student, **given)
        if not isinstance(student, Minimiser):
            raise Unsupported(
                "a version space is written out for concept classes only",
                value=str(student),
                remedy="Set method to forced.",
            )
        return Disagreement(
            concepts=student.concepts,
            gamma=self.gamma,
            theta=self.theta,
            best_error=self.best_error,
            **given,
        )

    def spent(self, answers: int) -> float:
        """The ε, at the claim's δ, of so many answers if their number had been fixed beforehand, nats."""
        service = self.aggregator_run
        return gaussian_epsilon(answers=answers, sigma=service.sigma_run, delta=self.delta)

    def odometer(self, answers: int) -> float:
        """The ε of the run, nats, if so many answers were given and this is released, too (`odometer`).

        It holds except with probability δ, and is below the claim's ε only where few answers were given.
        """
        service = self.aggregator_run
        return odometer(answers, most=service.queries, sigma=service.sigma_run, delta=self.delta)

    def law(self, sample: Sample) -> Finite:
        """Exact, over all strings of answers.

        Raises: Unsupported if there are more than 4,096 (more than 12 answers), or if the student's concepts
        are no numbers.
        """
        service = self.aggregator_run
        self.check_numbered()
        if 2**service.queries > _MOST_STRINGS:
            raise Unsupported(
                f"a law goes through at most {_MOST_STRINGS:,} strings of answers",
                value=f"{service.queries} answers",
                remedy="Audit it by playing, or set queries.",
            )
        every = _EveryAnswer(service.law(sample), service.queries)
        values, which = np.unique(concepts_of(self.learner_run, self.learned(every)), return_inverse=True)
        return Finite(values, np.bincount(which.ravel(), weights=every.chances))

    def learned(self, service: Service) -> list[Rule]:
        stream = self.stream
        lessons = learn(self.method_run, service, stream)
        while not service.halted.all():  # the coins of answers that nobody asked for keep games in step
            service.predict(np.broadcast_to(stream[0], (len(lessons), *stream[0].shape)))
        return [lesson.rule for lesson in lessons]


class _EveryAnswer:
    """A service whose games are given every string of answers, one each; `chances` (2^ℓ,) are theirs."""

    def __init__(self, law: GaussianVotes, most: int) -> None:
        self._law, self._left = law, most
        self._strings = np.arange(2**most)
        self.chances = np.ones(len(self._strings))
        self.halted = np.zeros(len(self._strings), bool)

    def predict(self, x: np.ndarray) -> np.ndarray:
        self._left -= 1
        answers = self._strings >> self._left & 1
        told = self._law.step(np.ones((len(x), 1)), x)
        self.chances *= told[answers, np.arange(len(x)), 0]
        if not self._left:
            self.halted = np.ones_like(self.halted)
        return answers
