"""Output distributions of online learners that show one of finitely many hypotheses in a round."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

import numpy as np

from arena.replies import Hypothesis

S = TypeVar("S", bound=Hashable)


class OnlineLaw(ABC, Generic[S]):
    """The distribution of what an online learner shows, as a hidden Markov chain whose states are listed.

    A state is a hashable value that, with the examples to come, determines the distribution of everything
    that is shown later. States that are equal have the same future, so a normal form of the state keeps their
    number small. Probabilities of the alternatives that a method lists sum to 1.

    hypotheses: the k that can be shown, distinct, as if each were that of one game.
    points: (p, ...), such that every other point of the domain is treated like one of these.
    rounds: the most rounds of a game; None: there is no limit.
    """

    hypotheses: Hypothesis
    points: np.ndarray
    rounds: int | None = None

    @abstractmethod
    def start(self) -> S:
        """The state before the first hypothesis."""

    @abstractmethod
    def show(self, state: S) -> Iterable[tuple[int, S, float]]:
        """The number of each hypothesis that a state may show, the state then, and the probability."""

    @abstractmethod
    def observe(self, state: S, point: int, label: int) -> Iterable[tuple[S, float]]:
        """The states after the example (points[point], label), each with its probability."""
