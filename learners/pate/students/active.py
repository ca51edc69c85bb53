"""Active students: each decides, point by point along a public stream, whether to ask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import TypeAlias

import attrs
import numpy as np

from arena.replies import NO_LABEL
from learners.pate.students.passive import Service, asked, prepared
from learners.pate.students.rules import Rule


@attrs.frozen(eq=False)
class Lesson:
    """What an active student has learned.

    asked: the places of the points that it asked about, in order. answers: what it was told, 0, 1 or ⊥.
    seen: how many points of the stream it looked at. cut: it wanted to ask more than the service answers.
    """

    rule: Rule
    asked: tuple[int, ...]
    answers: tuple[int, ...]
    seen: int
    cut: bool


# Yields the place of a point to ask about, is sent the answer, or NO_LABEL if there are no more answers.
Questions: TypeAlias = Generator[int, int, Lesson]


@attrs.frozen
class ActiveStudent(ABC):
    """A way to choose what to ask. It draws no coins."""

    @abstractmethod
    def questions(self, points: np.ndarray) -> Questions:
        """The questions of one game about points (m, ...), and what was learned."""


def learn(student: ActiveStudent, service: Service, points: np.ndarray) -> list[Lesson]:
    """What the student of each game of the service's table learns.

    The games ask together, each its own question. One that has done asks about the first point and ignores
    the answer: what nobody is told costs nothing. A student who wants more answers than the service gives is
    told that there are no more, and returns what it has learned so far.
    """
    prepared(service, points)
    games = [_Game(student.questions(points)) for _ in range(len(service.halted))]
    while any(game.lesson is None for game in games):
        halted = service.halted.copy()
        wanting = [g for g, game in enumerate(games) if game.lesson is None]
        answers = np.full(len(games), NO_LABEL, np.int8)
        if not halted[wanting].all():
            answers = asked(service, points[[game.place for game in games]])
        for g in wanting:
            games[g].tell(int(answers[g]))
    return [game.lesson for game in games if game.lesson is not None]


class _Game:
    """One student's questions, the next of which is about `place`."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self.lesson: Lesson | None = None
        self.place = 0
        self.tell(None)

    def tell(self, answer: int | None) -> None:
        try:
            self.place = self._questions.send(answer)  # type: ignore[arg-type]  # None starts a generator
        except StopIteration as done:
            self.lesson, self.place = done.value, 0
