"""The base of the conservative learners, which change their hypothesis only after a mistake."""

from __future__ import annotations

from abc import abstractmethod

import attrs
import numpy as np

from arena.claims import MISTAKES, Bound
from arena.laws import OnlineLaw
from arena.littlestone import START, Automaton
from arena.replies import Hypothesis
from learners.online.without_privacy import WithoutPrivacy


@attrs.frozen
class ConservativeLearner(WithoutPrivacy):
    """Base of the deterministic learners that are automata: the state changes after a mistake.

    The hypothesis is the function of the state. If no concept is consistent with the examples on which it
    erred, the automaton is in its dead state: it predicts 0 at every point for the rest of the game. This
    does not happen in realizable games.
    """

    @abstractmethod
    def automaton(self) -> Automaton:
        """The automaton of the class, compiled once.

        Raises: Unsupported if the class is too large.
        """

    def bound(self, rounds: int) -> Bound:
        """The largest number of mistakes in a realizable game of any length: the longest path in the
        automaton."""
        return Bound(self.automaton().mistakes, MISTAKES, 0, self.theorem)

    def online_law(self) -> ConservativeLaw:
        return ConservativeLaw(self.automaton())

    def start(self, games: int, rng: np.random.Generator) -> ConservativeState:
        return ConservativeState(self.automaton(), games)


class ConservativeState:
    """A running conservative learner: one state of the automaton for each game."""

    def __init__(self, automaton: Automaton, games: int) -> None:
        self._automaton = automaton
        self._class = automaton.concept_class
        self._states = np.full(games, START)

    def hypothesis(self) -> Hypothesis:
        return Hypothesis(self._automaton.hypotheses, self._automaton.functions(self._states))

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        columns = self._class.domain_indices(self._class.check(x))
        wrong = np.flatnonzero(self._automaton.labels(self._states, columns) != y)
        if wrong.size:
            self._states[wrong] = self._automaton.after_mistake(self._states[wrong], columns[wrong])


class ConservativeLaw(OnlineLaw[int]):
    """The hypotheses of an automaton, shown with certainty; a state is one of the automaton."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        functions = automaton.functions(np.arange(automaton.dead + 1))
        distinct, self._numbers = np.unique(functions, axis=0, return_inverse=True)
        self.hypotheses = Hypothesis(automaton.hypotheses, distinct)
        self.points = np.array(automaton.concept_class.domain, float)

    def start(self) -> int:
        return START

    def show(self, state: int) -> list[tuple[int, int, float]]:
        return [(int(self._numbers.ravel()[state]), state, 1.0)]

    def observe(self, state: int, point: int, label: int) -> list[tuple[int, float]]:
        states, columns = np.array([state]), np.array([point])
        if self._automaton.labels(states, columns)[0] == label:
            return [(state, 1.0)]
        return [(int(self._automaton.after_mistake(states, columns)[0]), 1.0)]
