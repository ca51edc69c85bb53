"""Students that decide which public points of a stream to query, and those that query all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import Protocol, TypeAlias

import attrs
import numpy as np

from arena.messages import NO_LABEL
from learners.pate.ensemble import Teacher
from learners.pate.students.rules import LearnedRule, fit_rules


class LabellingService(Protocol):
    """A labelling service for n games, such as a running aggregator that has been trained."""

    @property
    def halted(self) -> np.ndarray:
        """(n,) bool: the games in which it has halted."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        """The answers (n,) to x (n, ...): 0, 1 or UNSTABLE (⊥)."""


def collect_answers(service: LabellingService, points: np.ndarray) -> np.ndarray:
    """The answers to all points in order, `NO_LABEL` after the service has halted.

    Shapes: points (m, ...); result (n, m) int8.
    """
    prepare_service(service, points)
    answers = np.full((len(service.halted), len(points)), NO_LABEL, np.int8)
    for position, point in enumerate(points):
        if service.halted.all():
            break
        answers[:, position] = ask(service, np.broadcast_to(point, (len(answers), *point.shape)))
    return answers


def prepare_service(service: LabellingService, points: np.ndarray) -> None:
    """Announce the points that may be queried to a service that can make use of it."""
    prepare = getattr(service, "prepare", None)
    if prepare is not None:
        prepare(points)


def ask(service: LabellingService, x: np.ndarray) -> np.ndarray:
    """The answers (n,) to x (n, ...), `NO_LABEL` where the service had halted before."""
    halted = service.halted.copy()
    return np.where(halted, NO_LABEL, service.predict(x)).astype(np.int8)


def fit_answers(student: Teacher, points: np.ndarray, answers: np.ndarray) -> list[LearnedRule]:
    """The rule of each game, fitted to its answers (steps 4 and 5 of Algorithm 3).

    Points without a label are left out. For a minimiser this is the same as giving them the labels of its own
    rule: that adds no errors to the rule, so it is still a minimiser.

    Shapes: points (m, ...), answers (n, m).
    """
    labelled = (answers == 0) | (answers == 1)
    return fit_rules(student, points, np.where(labelled, answers, 0), labelled.astype(np.int8))


@attrs.frozen(eq=False)
class LearningResult:
    """The result of an active student.

    asked: the positions of the points that it queried, in order. answers: 0, 1 or ⊥. seen: the number of
    points of the stream that it examined. cut: whether it stopped because the service gave no more answers.
    """

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
    """The results of the students, one for each game of the service.

    All games query at once, each its own point. A student that has finished queries the first point and
    ignores the answer, which costs nothing. A student that needs more answers than the service gives receives
    NO_LABEL and returns its result so far.
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
    """The queries of one student about `points` points; the next one is about the point at `position`."""

    def __init__(self, questions: Questions, points: int) -> None:
        self._questions = questions
        self._points = points
        self._asked: list[int] = []
        self._answers: list[int] = []
        self.result: LearningResult | None = None
        self.position = 0
        self.advance(None)

    def advance(self, answer: int | None) -> None:
        """Give the answer to the last query, or NO_LABEL; None before the first query."""
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
