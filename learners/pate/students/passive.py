"""Passive students: every public point is asked about."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from arena.replies import NO_LABEL
from learners.pate.ensemble import Teacher
from learners.pate.students.rules import Rule, fitted_each


class Service(Protocol):
    """A labelling service at a table of n games: a seated aggregator that has been trained."""

    @property
    def halted(self) -> np.ndarray:
        """(n,) bool: the games in which it answers no more."""

    def predict(self, x: np.ndarray) -> np.ndarray:
        """The answers (n,) to x (n, ...): 0, 1 or UNSTABLE (⊥)."""


def answers_of(service: Service, points: np.ndarray) -> np.ndarray:
    """The answers about every point, in order, `NO_LABEL` from where the service has halted.

    Shapes: points (m, ...); result (n, m) int8.
    """
    prepared(service, points)
    answers = np.full((len(service.halted), len(points)), NO_LABEL, np.int8)
    for place, point in enumerate(points):
        if service.halted.all():
            break
        answers[:, place] = asked(service, np.broadcast_to(point, (len(answers), *point.shape)))
    return answers


def prepared(service: Service, points: np.ndarray) -> None:
    """Tell a service that can make use of it which points it may be asked about."""
    prepare = getattr(service, "prepare", None)
    if prepare is not None:
        prepare(points)


def asked(service: Service, x: np.ndarray) -> np.ndarray:
    """The answers (n,) to x (n, ...), `NO_LABEL` where the service had halted before."""
    silent = service.halted.copy()
    return np.where(silent, NO_LABEL, service.predict(x)).astype(np.int8)


def taught(student: Teacher, points: np.ndarray, answers: np.ndarray) -> list[Rule]:
    """The rule that each game's answers make (steps 4 and 5 of Algorithm 3).

    A point without a label is left out. For a minimiser this is the same as to give it the label that the
    student's own rule gives it: that adds no error to the rule, so it stays a minimiser.

    Shapes: points (m, ...), answers (n, m).
    """
    labelled = (answers == 0) | (answers == 1)
    return fitted_each(student, points, np.where(labelled, answers, 0), labelled.astype(np.int8))
