"""Distributions of what a learner shows over the rounds of a game, as hidden Markov chains."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable
from typing import ClassVar, Generic, TypeVar

import numpy as np

from arena.replies import Hypothesis

S = TypeVar("S", bound=Hashable)


class AnswerLaw(ABC):
    """The distribution of a trained predictor's answers, as a hidden Markov chain.

    The chain has m hidden states. The state determines the probability of each of k outcomes of a query, and
    the distribution of the next state. A continuous hidden state is represented by the nodes and weights of a
    quadrature.

    outcomes: the label of each outcome, and whether the learner halts with it.
    """

    outcomes: ClassVar[tuple[tuple[int, bool], ...]] = ((0, False), (1, False))

    @property
    def last(self) -> int | None:
        """The number of the answer with which every game halts, whatever the queries; None: there is none."""
        return None

    @abstractmethod
    def start(self) -> np.ndarray:
        """(m,): the probability of each state after training, up to the error of the quadrature."""

    @abstractmethod
    def step(self, measure: np.ndarray, x: np.ndarray) -> np.ndarray:
        """(k, n, m): the measures over the next states after the queries x (n, ...), for measures (n, m) now.

        Entry [o, g] is the part of measure g with outcome o. Summed over outcomes and states it has the mass
        of measure g. A game that has halted is not queried again.
        """


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
