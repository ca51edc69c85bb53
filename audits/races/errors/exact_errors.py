"""error_D(c, h_r) of every hypothesis that a predictor answers with."""

from __future__ import annotations

from typing import Any, Protocol

import attrs
import numpy as np

from arena.concepts import ConceptClass

TEST_POINTS = 10_000  # of each game, where D has no finite list of examples


class Population(Protocol):
    """D for each game of a table. One that is a list of examples has `points` (k, ...), `labels` (n or 1, k)
    and `chances` (k,), too."""

    def draw(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Points (n, size, ...) and their labels (n, size)."""

    def truth(self, points: np.ndarray) -> np.ndarray:
        """The labels (n, k) of points (n, k, ...)."""


@attrs.frozen(eq=False)
class Exam:
    """What hypotheses are tried on: points, their labels, and the weight of each.

    Shapes: points (n, m, ...), labels (n, m) bool, weights (m,) of sum 1. least (n,): the error of the best
    concept of the class, which is what errors are told beyond.
    """

    points: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    least: np.ndarray

    @classmethod
    def of(
        cls, people: Population, concepts: ConceptClass, games: int, rng: np.random.Generator, size: int
    ) -> Exam:
        """All of D if that is a list; otherwise `size` points drawn from it, which the target explains."""
        if not hasattr(people, "chances"):
            points, labels = people.draw(rng, size)
            return cls(points, labels == 1, np.full(size, 1 / size), np.zeros(games))
        shape = (games, len(people.chances))
        points = np.broadcast_to(people.points, (games, *people.points.shape))  # type: ignore[attr-defined]
        chances = people.chances / people.chances.sum()
        least = _least(concepts, people.points, people.labels, chances)  # type: ignore[attr-defined]
        labels = np.broadcast_to(people.labels == 1, shape)  # type: ignore[attr-defined]
        return cls(points, labels, chances, np.broadcast_to(least, games))

    def errors(self, votes: np.ndarray) -> Errors:
        """The error of every hypothesis 1[vote >= cut]. Shapes: votes (n, m)."""
        order = np.argsort(votes, axis=1)
        gains = np.where(np.take_along_axis(self.labels, order, axis=1), 1.0, -1.0) * self.weights[order]
        lost = np.zeros((len(votes), votes.shape[1] + 1))
        np.cumsum(gains, axis=1, out=lost[:, 1:])
        # With no vote below the cut all points are labelled 1, and the error is the weight of label 0.
        lost += (~self.labels @ self.weights - self.least)[:, None]
        return Errors(np.take_along_axis(votes, order, axis=1), lost)


@attrs.frozen(eq=False)
class Errors:
    """votes (n, m) in order; lost (n, m + 1): the error where so many of them are below the cut."""

    votes: np.ndarray
    lost: np.ndarray

    def at(self, cuts: np.ndarray) -> np.ndarray:
        """The errors (n, j) of hypotheses with cuts (n, j)."""
        below = np.stack([np.searchsorted(*pair) for pair in zip(self.votes, cuts, strict=True)])
        return np.take_along_axis(self.lost, below, axis=1)


class Judge:
    """Listens to a `Watched` learner, and counts by its rounds 1 ... `rounds`.

    Shapes: (rounds, n) each, of games that had not halted. answers: how many were given. worst, total: the
    largest error of a hypothesis, and the sum of them. wrong: the answers that were not the truth.
    """

    def __init__(self, rounds: int, concepts: ConceptClass, *, size: int = TEST_POINTS) -> None:
        self._rounds = rounds
        self._concepts = concepts
        self._size = size
        self._at = 0

    def opens(self, people: Population, games: int, rng: np.random.Generator) -> None:
        """The game begins: D, and the coins that examine it."""
        self._people = people
        self._exam = Exam.of(people, self._concepts, games, rng, self._size)
        self.answers, self.worst, self.total, self.wrong = np.zeros((4, self._rounds, games))

    @property
    def least(self) -> np.ndarray:
        """(n,): the error of the best concept of the class."""
        return self._exam.least

    def answered(self, state: Any, x: np.ndarray, labels: np.ndarray, silent: np.ndarray) -> None:
        index = state.round.index
        if silent.all() or index > self._rounds:
            return
        if index != self._at:
            self._errors = self._exam.errors(state.votes_in_a_row(self._exam.points))
            self._at = index
        errors = self._errors.at(np.reshape(state.cuts, labels.shape))
        wrong = np.count_nonzero((labels == 1) != (self._people.truth(x) == 1), axis=1)
        live, here = ~silent, index - 1
        self.answers[here] += live * labels.shape[1]
        self.worst[here] = np.maximum(self.worst[here], np.where(live, errors.max(axis=1), 0))
        self.total[here] += live * errors.sum(axis=1)
        self.wrong[here] += live * wrong


def _least(concepts: ConceptClass, points: np.ndarray, labels: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """(n or 1,): the error of the best concept on a list of examples."""
    best = concepts.erm(points, labels.astype(np.int8), chances)
    said = concepts.labels(best, points)
    return (said != (labels == 1)) @ chances
