"""Passive students, which query every public point."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from arena.replies import NO_LABEL
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
