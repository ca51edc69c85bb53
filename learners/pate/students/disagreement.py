"""Disagreement-based active learning with a version space that is written out: Algorithm 4."""

from __future__ import annotations

from math import log, log2, sqrt

import attrs
import numpy as np

from arena.concepts import ConceptClass
from arena.errors import InvalidArgument
from arena.replies import NO_LABEL
from learners.pate.students.active import ActiveStudent, Lesson, Questions
from learners.pate.students.rules import Rule


@attrs.frozen(kw_only=True)
class Disagreement(ActiveStudent):
    """Asks about a point if two concepts of the version space label it differently.

    Algorithm 4 of Liu, Zhu, Chaudhuri, Wang, Revisiting Model-Agnostic Private Learning (after Hanneke,
    2014). The version space is kept as the labellings that the class realises on the stream: no other point
    is ever asked about, so labellings are all that the algorithm sees of concepts. After points 1, 2, 4, 8,
    ... a concept stays if it errs on at most j·U(j, γ_j) answers more than the best,

        j·U = c'·(d·ln θ + ln(1/γ_j)) + c'·√(j·Err(h*)·(d·ln θ + ln(1/γ_j))),  γ_j = γ/log₂(2j)².

    Deviations: θ is one number in place of θ(d/j) and θ(Err(h*)), which it should bound; the output is the
    first concept with the fewest errors in the version space when the stream or the answers end, where the
    paper takes any of that after the last power of 2. An answer ⊥ counts as asked and tells nothing.

    constant: c'; 0 keeps only the best, which is for labels without noise. gamma: γ. theta: at least 1; 2 is
    that of thresholds. best_error: Err(h*), 0 in the realizable case.
    """

    concepts: ConceptClass
    constant: float = 0.5
    gamma: float = 0.05
    theta: float = 2.0
    best_error: float = 0.0

    def __attrs_post_init__(self) -> None:
        rules = {
            "constant must be at least 0": self.constant >= 0,
            "gamma must be between 0 and 1": 0 < self.gamma < 1,
            "theta must be at least 1": self.theta >= 1,
            "best_error must be a probability": 0 <= self.best_error <= 1,
        }
        for rule, holds in rules.items():
            if not holds:
                raise InvalidArgument(rule, value=getattr(self, rule.split()[0]))

    def slack(self, j: int) -> float:
        """j·U(j, γ_j): how many errors more than the best a concept may make after j points and stay."""
        complexity = self.concepts.vc_dimension * log(self.theta) + log(log2(2 * j) ** 2 / self.gamma)
        return self.constant * (complexity + sqrt(j * self.best_error * complexity))

    def questions(self, points: np.ndarray) -> Questions:
        ways = self.concepts.dichotomies(points)
        labels, concepts = ways.labels, ways.concepts
        wrong = np.zeros(len(labels), int)
        asked: list[int] = []
        answers: list[int] = []
        seen, cut = len(points), False
        for place in range(len(points)):
            column = labels[:, place]
            if column.any() and not column.all():
                answer = yield place
                if answer == NO_LABEL:
                    seen, cut = place, True
                    break
                asked.append(place)
                answers.append(answer)
                if answer in (0, 1):
                    wrong += column != answer
            j = place + 1
            if j & place == 0:  # a power of 2
                stay = wrong <= wrong.min() + self.slack(j)
                labels, concepts, wrong = labels[stay], concepts[stay], wrong[stay]
        best = concepts[wrong.argmin()]
        rule = Rule(lambda points: self.concepts.labels(best[None], points)[0], np.asarray(best))
        return Lesson(rule, tuple(asked), tuple(answers), seen, cut)
