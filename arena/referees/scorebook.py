"""Counts of mistakes while online games are played: the learner's, and those of the best concept."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import attrs
import numpy as np

from arena.concepts.base import ConceptClass
from arena.concepts.consistency import Hindsight, check_hindsight
from arena.errors import InvalidArgument
from arena.sample import freeze
from arena.settings import at_least, check_value, whole


def _read_marks(marks: Iterable[int]) -> tuple[int, ...]:
    return tuple(marks)


@attrs.frozen(kw_only=True)
class Scorebook:
    """What to count: the mistakes after each of strictly increasing rounds (`marks`), and those of the best
    concept of a class with a finite domain, if any. Raises: InvalidArgument or Unsupported."""

    marks: tuple[int, ...] = attrs.field(converter=_read_marks)
    concepts: ConceptClass | None = attrs.field(default=None)

    @marks.validator
    def _check_marks(self, attribute: object, marks: tuple[int, ...]) -> None:
        for mark in marks:
            check_value("a mark", mark, whole, at_least(1))
        if not all(low < high for low, high in pairwise(marks)):
            raise InvalidArgument("marks must increase strictly", value=marks)

    @concepts.validator
    def _check_concepts(self, attribute: object, concepts: ConceptClass | None) -> None:
        if concepts is not None:
            check_hindsight(concepts)

    def check(self, rounds: int) -> None:
        if self.marks and self.marks[-1] > rounds:
            raise InvalidArgument(
                f"a mark must be a round of the game, of T = {rounds}", value=self.marks[-1]
            )


@attrs.frozen(eq=False, kw_only=True)
class MistakeCounts:
    """The mistakes of n games up to each of k rounds `marks` (k,): the learner's (k, n), and the least (k,
    n), of the best concept of the class in hindsight, or None without a class."""

    marks: np.ndarray = attrs.field(converter=freeze)
    mistakes: np.ndarray = attrs.field(converter=freeze)
    least: np.ndarray | None

    @classmethod
    def join(cls, book: Scorebook, parts: list[MistakeCounts]) -> MistakeCounts:
        """The counts of several batches with this scorebook as those of one batch."""
        empty = np.zeros((len(book.marks), 0), np.int64)
        least: list[Any] = [part.least for part in parts]
        return cls(
            marks=np.array(book.marks, np.int64),
            mistakes=np.concatenate([empty, *(part.mistakes for part in parts)], axis=1),
            least=None if book.concepts is None else freeze(np.concatenate([empty, *least], axis=1)),
        )


class OpenScorebook:
    def __init__(self, book: Scorebook, games: int) -> None:
        self._marks = book.marks
        self._hindsight = None if book.concepts is None else Hindsight(book.concepts, games)
        self._mistakes = np.zeros((len(book.marks), games), np.int64)
        self._least = np.zeros_like(self._mistakes)
        self._written = 0

    def note(self, round: int, x: np.ndarray, y: np.ndarray, mistakes: np.ndarray) -> None:
        """Take the examples of a round, x (n, ...) and y (n,), and the mistakes so far, (n,)."""
        if self._hindsight is not None:
            self._hindsight.add(x, y)
        if self._written == len(self._marks) or round != self._marks[self._written]:
            return
        self._mistakes[self._written] = mistakes
        if self._hindsight is not None:
            self._least[self._written] = self._hindsight.least()
        self._written += 1

    def read(self) -> MistakeCounts:
        return MistakeCounts(
            marks=np.array(self._marks, np.int64),
            mistakes=self._mistakes,
            least=None if self._hindsight is None else freeze(self._least),
        )
