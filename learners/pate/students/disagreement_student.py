"""Disagreement-based active learning with an explicit version space: Algorithm 4 of the PATE paper."""

from __future__ import annotations

from math import log, log2, sqrt

import attrs
import numpy as np

from arena.concepts import ConceptClass
from arena.replies import NO_LABEL
from arena.settings import at_least, at_most, less_than, more_than
from learners.pate.students.active import ActiveStudent, Questions
from learners.pate.students.rules import LearnedRule


@attrs.frozen(kw_only=True)
class DisagreementStudent(ActiveStudent):
    """Queries a point if two concepts of the version space label it differently.

    Algorithm 4 of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning (after Hanneke,
    2014). The version space is kept as the labellings that the class realises on the stream, since no other
    point is ever queried. After points j = 1, 2, 4, 8, ... a concept remains if it errs on at most j·U(j,
    γ_j) answers more than the best,

        j·U = c'·(d·ln θ + ln(1/γ_j)) + c'·√(j·Err(h*)·(d·ln θ + ln(1/γ_j))),  γ_j = γ/log₂(2j)².

    Deviations: θ is one number instead of θ(d/j) and θ(Err(h*)), which it should bound. The result is the
    first concept with the fewest errors when the stream or the answers end, where the paper uses any concept
    of the version space after the last power of 2. An answer ⊥ counts as a query and removes no concept.

    constant: c'; 0 keeps only the best concepts, for labels without noise. gamma: γ. theta: at least 1; for
    thresholds it is 2. best_error: Err(h*), 0 in the realizable case.
    """

    concepts: ConceptClass
    constant: float = attrs.field(default=0.5, validator=at_least(0))
    gamma: float = attrs.field(default=0.05, validator=[more_than(0), less_than(1)])
    theta: float = attrs.field(default=2.0, validator=at_least(1))
    best_error: float = attrs.field(default=0.0, validator=[at_least(0), at_most(1)])

    def slack(self, j: int) -> float:
        """j·U(j, γ_j): the errors in excess of the best at which a concept remains after j points."""
        complexity = self.concepts.vc_dimension * log(self.theta) + log(log2(2 * j) ** 2 / self.gamma)
        return self.constant * (complexity + sqrt(j * self.best_error * complexity))

    def questions(self, points: np.ndarray) -> Questions:
        dichotomies = self.concepts.dichotomies(points)
        labels, concepts = dichotomies.labels, dichotomies.concepts
        wrong = np.zeros(len(labels), int)
        for position in range(len(points)):
            column = labels[:, position]
            if column.any() and not column.all():
                answer = yield position
                if answer == NO_LABEL:
                    break
                if answer in (0, 1):
                    wrong += column != answer
            j = position + 1
            if j & position == 0:  # a power of 2
                remains = wrong <= wrong.min() + self.slack(j)
                labels, concepts, wrong = labels[remains], concepts[remains], wrong[remains]
        best = concepts[wrong.argmin()]
        return LearnedRule(lambda points: self.concepts.labels(best[None], points)[0], np.asarray(best))
