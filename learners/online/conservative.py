"""Conservative learners, which change their hypothesis only when it errs, as players."""

from __future__ import annotations

from abc import abstractmethod

import attrs
import numpy as np

from arena.claims import MISTAKES, Bound
from arena.littlestone import START, Automaton
from arena.replies import Hypothesis
from learners.online.without_privacy import WithoutPrivacy


@attrs.frozen
class Conservative(WithoutPrivacy):
    """A deterministic learner that is an automaton: its state changes when its prediction was wrong.

    The hypothesis shown is the function of the state. Where no concept explains the examples on which it
    erred, the automaton is dead: it predicts 0 at every point for the rest of the game, however often that
    is wrong. In realizable games this does not happen.
    """

    @abstractmethod
    def automaton(self) -> Automaton:
        """The automaton of the class, compiled once.

        Raises: Unsupported if the class is too large.
        """

    def bound(self, rounds: int) -> Bound:
        """The most mistakes of a realizable game of any length: the longest way through the automaton."""
        return Bound(self.automaton().mistakes, MISTAKES, 0, self.theorem)

    def start(self, games: int, rng: np.random.Generator) -> ConservativeState:
        return ConservativeState(self.automaton(), games)


class ConservativeState:
    """A conservative learner at a table: one state a game."""

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
