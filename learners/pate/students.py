"""Students: they learn rules from a service's answers on public points, all of them or those they choose."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from math import log, log2, sqrt
from typing import Protocol, TypeAlias

import attrs
import numpy as np

from arena.concepts import ConceptClass
from arena.messages import NO_LABEL, UNSTABLE
from arena.settings import at_least, at_most, less_than, more_than
from learners.pate.rules import LearnedRule, PublicPoints, fit_cached, fit_rules
from learners.pate.teacher import Teacher


class LabellingService(Protocol):
    """A labelling service for n games, such as a running aggregator that has been trained."""

    @property
    def halted(self) -> np.ndarray:
        """(n,) bool: the games in which it has halted."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        """The answers (n,) to x (n, ...): 0, 1 or UNSTABLE (⊥)."""


def collect_answers(service: LabellingService, points: np.ndarray) -> np.ndarray:
    """(n, m) int8: the answers to all points (m, ...) in order, `NO_LABEL` after the service has halted."""
    prepare_service(service, points)
    answers = np.full((len(service.halted), len(points)), NO_LABEL, np.int8)
    for position, point in enumerate(points):
        if service.halted.all():
            break
        answers[:, position] = ask(service, np.broadcast_to(point, (len(answers), *point.shape)))
    return answers


def prepare_service(service: LabellingService, points: np.ndarray) -> None:
    prepare = getattr(service, "prepare", None)
    if prepare is not None:
        prepare(points)


def ask(service: LabellingService, x: np.ndarray) -> np.ndarray:
    halted = service.halted.copy()
    return np.where(halted, NO_LABEL, service.predict(x)).astype(np.int8)


def fit_answers(student: Teacher, points: np.ndarray, answers: np.ndarray) -> list[LearnedRule]:
    """The rule of each game, fitted to its answers (n, m) at points (m, ...), without those that are no label
    (steps 4 and 5 of Algorithm 3)."""
    labelled = (answers == 0) | (answers == 1)
    return fit_rules(student, points, np.where(labelled, answers, 0), labelled.astype(np.int8))


@attrs.frozen(eq=False)
class LearningResult:
    """The result of an active student. asked: the positions of the points that it queried. answers: 0, 1 or
    ⊥. seen: the points that it examined. cut: whether the service gave no more answers."""

    rule: LearnedRule
    asked: tuple[int, ...]
    answers: tuple[int, ...]
    seen: int
    cut: bool


# Yields the position of a point to query and receives the answer. Returns the rule, at the latest when it
# receives NO_LABEL, since there are no more answers.
Questions: TypeAlias = Generator[int, int, LearnedRule]


@attrs.frozen
class ActiveStudent(ABC):
    """A method of choosing queries. It is deterministic."""

    @abstractmethod
    def questions(self, points: np.ndarray) -> Questions:
        """The queries of one game about points (m, ...), in order; returns the rule."""


def learn(student: ActiveStudent, service: LabellingService, points: np.ndarray) -> list[LearningResult]:
    """The results of the students, one for each game of the service, which query at once.

    One that has finished queries the first point and ignores the answer; one that needs more answers than
    there are receives NO_LABEL.
    """
    prepare_service(service, points)
    games = [_Dialogue(student.questions(points), len(points)) for _ in range(len(service.halted))]
    while any(game.result is None for game in games):
        halted = service.halted.copy()
        running = [g for g, game in enumerate(games) if game.result is None]
        answers = np.full(len(games), NO_LABEL, np.int8)
        if not halted[running].all():
            answers = ask(service, points[[game.position for game in games]])
        for g in running:
            games[g].advance(int(answers[g]))
    return [game.result for game in games if game.result is not None]


class _Dialogue:
    def __init__(self, questions: Questions, points: int) -> None:
        self._questions = questions
        self._points = points
        self._asked: list[int] = []
        self._answers: list[int] = []
        self.result: LearningResult | None = None
        self.position = 0
        self.advance(None)

    def advance(self, answer: int | None) -> None:
        if answer is not None and answer != NO_LABEL:
            self._asked.append(self.position)
            self._answers.append(answer)
        try:
            self.position = self._questions.send(answer)  # type: ignore[arg-type]  # None starts a generator
        except StopIteration as done:
            cut = answer == NO_LABEL
            seen = self.position if cut else self._points
            self.result = LearningResult(done.value, tuple(self._asked), tuple(self._answers), seen, cut)
            self.position = 0


@attrs.frozen(kw_only=True)
class DisagreementStudent(ActiveStudent):
    """Queries a point if two concepts of the version space label it differently.

    Algorithm 4 of Liu, Zhu, Chaudhuri, Wang (after Hanneke, 2014). After j = 1, 2, 4, 8, ... points a concept
    remains if it errs on at most j·U(j, γ_j) (`slack`) answers more than the best, with γ_j = γ/log₂(2j)².

    Deviations: θ is one number instead of θ(d/j) and θ(Err(h*)), which it should bound. The result is the
    first concept with the fewest errors, where the paper uses any of the last version space. An answer ⊥
    counts as a query and removes no concept. constant: c'; 0 keeps only the best concepts. best_error:
    Err(h*).
    """

    concepts: ConceptClass
    constant: float = attrs.field(default=0.5, validator=at_least(0))
    gamma: float = attrs.field(default=0.05, validator=[more_than(0), less_than(1)])
    theta: float = attrs.field(default=2.0, validator=at_least(1))
    best_error: float = attrs.field(default=0.0, validator=[at_least(0), at_most(1)])

    def slack(self, j: int) -> float:
        """j·U(j, γ_j) = c'·(k + √(j·Err(h*)·k)) with k = d·ln θ + ln(1/γ_j)."""
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

    After t points, let the shares of errors be e of the best rule and e' of the best that labels the new
    point differently. It is queried if e' − e ≤ β² + β·√e with β² = c·ln(t + 1)/t; otherwise it gets the
    label of the best rule. The other rule is fitted with the other label at weight 1, 4, 16, ...: exact for
    minimisers.

    Source: Dasgupta, Hsu, Monteleoni (2007), with the threshold of Yan, Chaudhuri, Javidi (2018). Deviations:
    the other rule is fitted instead of estimated by a gradient step, and the best rule is refitted after
    every answer.
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
        """Whether it queries this point; a minimiser's errors do not fall with the weight."""
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
    """The labels of one student (m,), weights (m,) of 1 where there is one, and `errors` of the best rule."""

    def __init__(self, student: Teacher, points: np.ndarray) -> None:
        self._student = student
        self._points = PublicPoints(points)
        self.labels = np.zeros(len(points), np.int8)
        self.weights = np.zeros(len(points), np.int64)
        self._fit_best()

    def best_rule(self) -> LearnedRule:
        return self._fit(self.labels, self.weights)[0]

    def infer(self, position: int) -> None:
        self.labels[position], self.weights[position] = self._best_labels[position], 1

    def force_label(self, position: int, weight: int) -> tuple[int, bool]:
        """The errors of a rule fitted to the opposite label at this weight, and whether it gives that
        label."""
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
