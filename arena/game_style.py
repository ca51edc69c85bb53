"""Game style: players written in plain Python for one game, lifted to batches of games.

It is slow (microseconds for each move and game), but it is the shortest way to write a player, and a
game-style player cannot see another game.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import attrs
import numpy as np

from arena.concepts.base import ConceptClass
from arena.errors import ProtocolViolation, Unsupported
from arena.players import Adversary, Learner, Moves
from arena.released import list_objects
from arena.replies import Hypothesis
from arena.sample import Training


@attrs.frozen
class GameLearner(Learner):
    """A learner written for one game.

    The state of one game has the methods of its protocol on scalars: `train(sample)`, `predict(x)` -> 0 or 1,
    and `halted`, a bool (False if it is left out); `release(sample)` -> number, text, None
    or a tuple or array of these; `hypothesis()` -> concept and
    `observe(x, y)`.
    """

    @property
    def concept_class(self) -> ConceptClass:
        """The class of its hypotheses' concepts; a class attribute suffices.

        Raises: Unsupported if it does not have one.
        """
        raise Unsupported(
            f"{self.name} has no concept_class", remedy="Define one, for `hypothesis` needs it."
        )

    @abstractmethod
    def start_one(self, rng: np.random.Generator) -> Any:
        """The running state of one game, which draws all random numbers from `rng`."""

    def start(self, games: int, rng: np.random.Generator) -> LiftedState:
        return LiftedState([self.start_one(child) for child in rng.spawn(games)], self)


class LiftedState:
    """The states of n single games, with the methods of the state of a batch."""

    def __init__(self, states: list[Any], learner: GameLearner) -> None:
        self._states = states
        self._learner = learner

    @property
    def halted(self) -> np.ndarray:
        return np.array([bool(getattr(state, "halted", False)) for state in self._states], bool)

    def train(self, training: Training) -> None:
        for state, which in zip(self._states, training.which, strict=True):
            state.train(training.samples[which])

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.array([state.predict(p) for state, p in zip(self._states, x, strict=True)], np.int64)

    def release(self, training: Training) -> np.ndarray:
        samples = (training.samples[which] for which in training.which)
        return list_objects(
            [state.release(sample) for state, sample in zip(self._states, samples, strict=True)]
        )

    def hypothesis(self) -> Hypothesis:
        concepts = np.array([state.hypothesis() for state in self._states])
        return Hypothesis(self._learner.concept_class, concepts)

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        for state, point, label in zip(self._states, x, y, strict=True):
            state.observe(point, int(label))


@attrs.frozen
class GameAdversary(Adversary):
    """An adversary written for one game, whose replies hold scalars (`reply.label`, `reply.halted`)."""

    @abstractmethod
    def play_one(self, rng: np.random.Generator) -> Moves:
        """Yield the moves of one game; return the score, one number, or None."""

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        if games != 1:
            raise ProtocolViolation(
                "an adversary in game style plays one game at a time",
                player=f"adversary {self.name}",
                round=0,
                got=games,
            )
        moves = self.play_one(rng)
        reply: Any = None
        while True:
            try:
                move = moves.send(reply)
            except StopIteration as end:
                return None if end.value is None else np.array([end.value], np.float64)
            reply = (yield move).select_game(0)
