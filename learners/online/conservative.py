"""The base of the conservative learners, which change their hypothesis only after a mistake."""

from __future__ import annotations

from abc import abstractmethod

import attrs
import numpy as np

from arena.claims import MISTAKES, Bound
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
