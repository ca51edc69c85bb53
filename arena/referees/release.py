"""One sample in two worlds, one released value: the game of Definition 2.3, differential privacy."""

from __future__ import annotations

from typing import ClassVar

import attrs

from arena.moves import Train
from arena.referees.batch import Batch, BatchSetup, MoveTable, Referee
from arena.referees.transcript import ReleaseEntry, TrainingEntry
from arena.replies import Released


@attrs.frozen
class Release(Referee):
    """The adversary gives one sample in two worlds, which are neighbours by the learner's claim or the same.
    The learner releases one value or hypothesis, which the adversary sees."""

    name: ClassVar[str] = "Release"

    def open(self, setup: BatchSetup) -> ReleaseBatch:
        return ReleaseBatch(setup)


class ReleaseBatch(Batch):
    """Games of one move."""

    rule_of_moves = "Release knows one move, Train"

    def _release(self, move: Train) -> Released:
        if self.round:
            raise self._refuse("Release has one round")
        first = self._adversary.read_samples(move.sample)
        second = first if move.other is None else self._adversary.read_samples(move.other)
        training = self._worlds.choose_samples(first, second)

        self._position.round = 1
        if self._log is not None:  # before the learner, which may fail
            self._log.append(TrainingEntry(round=0, training=training, reads=self._reads))
        value = self._learner.release(training)
        if self._log is not None:
            self._log.append(ReleaseEntry(round=1, value=value))
        return Released(value)

    moves: MoveTable = ((Train, _release),)
