"""What an experiment asks of those who teach and learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import attrs
import numpy as np

from arena import Sample


@attrs.frozen(eq=False, kw_only=True)
class Request:
    """A student's task: public points, and teachers whose votes label them.

    active: the student chooses what to ask; else it asks about every point.
    epsilon, delta: what all answers together may cost; an infinite ε has no noise. answers: ℓ, how many there
    are at most. teachers: K. noise: the coins of the answers.
    Shapes: points (m, d) float64, ones (m,), how many teachers label each 1.
    """

    active: bool
    epsilon: float
    delta: float
    answers: int
    teachers: int
    points: np.ndarray
    ones: np.ndarray
    noise: np.random.Generator


@attrs.frozen(eq=False)
class Learned:
    """What a student has learned: label, points (m, d) -> (m,) bool; and how many answers it was given."""

    label: Callable[[np.ndarray], np.ndarray]
    answers: int


class Players(Protocol):
    """Teachers, labelling services and students. It is sent to worker processes."""

    def ones(self, sample: Sample, teachers: int, split: int, points: np.ndarray) -> np.ndarray:
        """(m,): how many of so many teachers, trained on parts of the sample, label points (m, d) 1.

        split: the seed of the parts.
        """

    def learn(self, request: Request) -> Learned:
        """What the student learns. It draws no coins but those of the noise."""

    def spent(self, answers: int, *, of: int, epsilon: float, delta: float) -> float:
        """ε at δ, nats, of so many answers whose number is fixed, where `of` of them would cost epsilon."""

    def describe(self) -> dict[str, object]:
        """All of it that figures hang on, as plain data."""
