"""Students that decide by the rules that fit so far whether to query a point: two active learners."""

from __future__ import annotations

from math import log, log2, sqrt

import attrs
import numpy as np

from arena.concepts import ConceptClass
from arena.messages import NO_LABEL, UNSTABLE
from arena.settings import at_least, at_most, less_than, more_than
from learners.pate.ensemble import Teacher
from learners.pate.students.active import ActiveStudent, Questions
from learners.pate.students.rules import LearnedRule, PublicPoints, fit_cached


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


_WEIGHT_FACTOR = 4  # between successive weights


@attrs.frozen(kw_only=True)
class ForcedLabelStudent(ActiveStudent):
    """Queries a point if the best rule that labels it differently is nearly as good as the best rule.

    After t points, let the best rule err on a share e of them, and the best rule that labels the new point
    differently on a share e'. The point is queried if e' − e ≤ β² + β·√e with β² = c·ln(t + 1)/t. Otherwise
    it gets the label of the best rule and counts among the t points. A point with the answer ⊥ does not
    count.

    The other rule is found by fitting the point with the other label and weight 1, 4, 16, ... until the rule
    gives it that label. For the minimiser of a class this is exact; logistic regression minimises another
    loss and may miss a better rule.

    Source: Dasgupta, Hsu, Monteleoni (2007), with inferred labels and the threshold as in the experiments of
    Yan, Chaudhuri, Javidi (2018), which those of Liu, Zhu, Chaudhuri, Wang follow. Deviations: the other rule
    is fitted instead of estimated by one gradient step, and the best rule is refitted after every answer.

    student: fits the rules; it must accept weights. constant: c.
    """

    student: Teacher
    constant: float = attrs.field(default=0.5, validator=more_than(0))

    def near(self, errors: int, forced: int, points: int) -> bool:
        """Whether a rule with `forced` errors on `points` points is nearly as good as one with `errors`."""
        if not points:
            return True
        square = self.constant * log(points + 1) / points
        return (forced - errors) / points <= square + sqrt(square * errors / points)

    def questions(self, points: np.ndarray) -> Questions:
        labels = _Labels(self.student, points)
        for position in range(len(points)):
            if not self._queries(labels, position):
                labels.infer(position)
                continue
            answer = yield position
            if answer == NO_LABEL:
                break
            if answer != UNSTABLE:
                labels.add_answer(position, answer)
        return labels.best_rule()

    def _queries(self, labels: _Labels, position: int) -> bool:
        """Whether the student queries the point at this position.

        The errors of a minimiser do not decrease as the weight grows, so the search may stop when there are
        too many; a weight above t forces the label if any concept can.
        """
        total, weight = int(labels.weights.sum()), 1
        while True:
            errors, relabelled = labels.force_label(position, weight)
            near = self.near(labels.errors, errors, total)
            if relabelled or not near:
                return near
            if weight > total:
                return False
            weight *= _WEIGHT_FACTOR


class _Labels:
    """The labels of one student: labels (m,), and weights (m,), which are 1 where there is a label.

    errors: the number of errors of the best rule.
    """

    def __init__(self, student: Teacher, points: np.ndarray) -> None:
        self._student = student
        self._points = PublicPoints(points)
        self.labels = np.zeros(len(points), np.int8)
        self.weights = np.zeros(len(points), np.int64)
        self._fit_best()

    def best_rule(self) -> LearnedRule:
        """The best rule for the labels."""
        return self._fit(self.labels, self.weights)[0]

    def infer(self, position: int) -> None:
        """Give a point the label of the best rule."""
        self.labels[position], self.weights[position] = self._best_labels[position], 1

    def force_label(self, position: int, weight: int) -> tuple[int, bool]:
        """Fit a rule with the opposite of the best rule's label for a point, at this weight.

        Returns the rule's errors, and whether it gives the point that label.
        """
        labels, weights = self.labels.copy(), self.weights.copy()
        labels[position], weights[position] = not self._best_labels[position], weight
        predictions = self._fit(labels, weights)[1]
        return self._count_errors(predictions), bool(predictions[position] == labels[position])

    def add_answer(self, position: int, answer: int) -> None:
        self.labels[position], self.weights[position] = answer, 1
        self._fit_best()

    def _fit_best(self) -> None:
        self._best_labels = self._fit(self.labels, self.weights)[1]
        self.errors = self._count_errors(self._best_labels)

    def _fit(self, labels: np.ndarray, weights: np.ndarray) -> tuple[LearnedRule, np.ndarray]:
        return fit_cached(self._student, self._points, labels, weights)

    def _count_errors(self, predictions: np.ndarray) -> int:
        return int((predictions != self.labels) @ self.weights)
