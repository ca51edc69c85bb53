"""One sample in two worlds, one released value: the game behind Definition 2.3 of differential privacy."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from arena.claims import PrivacyUnit
from arena.moves import Move, Train
from arena.points import freeze
from arena.referees.base import LearnerStates, Referee, Table
from arena.replies import Hypothesis, Released, Reply
from arena.transcript import Given, Let


@attrs.frozen
class Release(Referee):
    """The adversary gives one sample in two worlds (equal length, at most one place apart); the learner
    releases one value or hypothesis, which the adversary sees."""

    name: ClassVar[str] = "Release"

    def open(self, states: LearnerStates) -> Table:
        return _ReleaseBatch(states)


class _ReleaseBatch(Table):
    def take(self, move: Move) -> Reply:
        if not isinstance(move, Train):
            raise self._refuse("Release knows one move, Train", got=type(move).__name__)
        if self.round:
            raise self._refuse("Release has one round")
        training = self._training(move)
        self.round = 1
        if self.flag.any():
            self.challenges.add(PrivacyUnit.TRAINING_EXAMPLE)
        value = self._ask("release", training)
        if isinstance(value, Hypothesis):
            self._check_hypothesis(value)
        else:
            value = self._value(value)
        if self._log is not None:
            self._log.append(Given(round=0, training=training))
            self._log.append(Let(round=1, value=value))
        return Released(value)

    def _value(self, value: object) -> np.ndarray:
        if not isinstance(value, np.ndarray) or value.shape[:1] != (self.games,):
            raise self._learner_broke(
                "release returns one value a game",
                expected=f"an array whose first axis is {self.games}",
                got=f"shape {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__,
            )
        return freeze(value.copy())
