"""What an experiment requires of its teachers and students."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import attrs
import numpy as np

from arena import Sample
from audits.registry.players import LEARNERS

ACTIVE = ("gradient", "forced")  # kinds of active students
_LEARNER = "pate-psq"  # which provides the players


@attrs.frozen(eq=False, kw_only=True)
class StudentTask:
    """A student's task: public points, labelled by the noisy votes of teachers.

    active: the student chooses which points to ask about; otherwise it asks about every point. screened: a
    sparse vector screens the answers, in place of Gaussian noise.
    epsilon, delta: the privacy cost of all answers together; an infinite ε means no noise. answers: ℓ, the
    maximal number of answers. teachers: K. noise: random numbers of the answers.
    Shapes: points (m, d) float64; ones (m,), how many teachers label each point 1.
    """

    active: bool
    epsilon: float
    delta: float
    answers: int
    teachers: int
    points: np.ndarray
    ones: np.ndarray
    noise: np.random.Generator
    screened: bool = False


class TrainedStudent(Protocol):
    """A student after its task. answers: how many answers it was given."""

    answers: int

    @property
    def label(self) -> Callable[[np.ndarray], np.ndarray]:
        """Its rule: points (m, d) -> labels (m,) bool."""


class ExperimentPlayers(Protocol):
    """Teachers, labelling services and students. It is sent to worker processes."""

    def count_ones(self, sample: Sample, teachers: int, split: int, points: np.ndarray) -> np.ndarray:
        """(m,): how many teachers, trained on parts of the sample, label each of the points (m, d) 1.

        split: the seed of the partition.
        """

    def train(self, task: StudentTask) -> TrainedStudent:
        """Train a student. It draws no random numbers but those of the noise."""

    def cost(self, answers: int, *, of: int, epsilon: float, delta: float) -> float:
        """ε at δ (nats) of so many answers, their number fixed, if `of` of them cost `epsilon`."""

    def describe(self) -> dict[str, object]:
        """Everything about the players that figures depend on, as plain data."""


def find_players(teacher: str, student: str | None, **settings: Any) -> ExperimentPlayers:
    """The players that pate-psq provides for an experiment; arguments and errors of its `experiment_players`.

    teacher, student: texts, as in its setting `teacher`. settings: features, the dimension of points; active,
    of ACTIVE; constant, how readily an active student asks. None stands for the default.
    """
    players: ExperimentPlayers = LEARNERS.find(_LEARNER).experiment_players(teacher, student, **settings)
    return players
