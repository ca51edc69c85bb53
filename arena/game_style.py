"""Game style: players written in plain Python for one game, lifted to tables.

Slow (microseconds a move and game), but the shortest way to write a player down, and an isolated one: a
game-style player cannot see another game.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import attrs
import numpy as np

from arena.errors import ProtocolViolation
from arena.players import Adversary, Learner, Moves
from arena.replies import Hypothesis
from arena.sample import Training


@attrs.frozen
class GameLearner(Learner):
    """A learner written for one game.

    `sit(rng)` returns the state of one game, with the methods of its protocol on scalars:
    `train(sample)`, `predict(x) -> 0 or 1`, `halted` (a bool); `release(sample) -> value`;
    `hypothesis() -> concept`, `observe(x, y)`. With `hypothesis`, the spec gives `concept_class`.
    """

    @abstractmethod
    def sit(self, rng: np.random.Generator) -> Any:
        """The state of one game, all coins from `rng`."""

    def start(self, games: int, rng: np.random.Generator) -> LiftedLearner:
        return LiftedLearner([self.sit(child) for child in rng.spawn(games)], self)


class LiftedLearner:
    """n single games behind the interface of a table."""

    def __init__(self, states: list[Any], spec: GameLearner) -> None:
        self._states = states
        self._spec = spec

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
        return np.array([state.release(s) for state, s in zip(self._states, samples, strict=True)])

    def hypothesis(self) -> Hypothesis:
        concept_class = getattr(self._spec, "concept_class")  # noqa: B009 - only online learners have one
        return Hypothesis(concept_class, np.array([state.hypothesis() for state in self._states]))

    def observe(self, x: np.ndarray, y: np.ndarray) -> None:
        for state, point, label in zip(self._states, x, y, strict=True):
            state.observe(point, int(label))


@attrs.frozen
class GameAdversary(Adversary):
    """An adversary written for one game: `play_one(rng)` yields moves and is sent replies of scalars
    (`reply.label`, `reply.halted`); it may return a score, one number."""

    @abstractmethod
    def play_one(self, rng: np.random.Generator) -> Moves:
        """The generator of one game."""

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
            reply = (yield move).of_game(0)
