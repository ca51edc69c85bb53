"""One sample in two worlds, one released value: the game of Definition 2.3, differential privacy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import attrs
import numpy as np

from arena.claims import PrivacyUnit
from arena.laws import ValueLaw
from arena.messages import Hypothesis, Move, Released, Train
from arena.referees.referee import Batch, Probe, Referee
from arena.referees.transcript import ReleaseEntry
from arena.sample import Training


class ReleaseState(Protocol):
    """What Release asks of a running learner."""

    def release(self, training: Training) -> np.ndarray | Hypothesis:
        """Receive the samples; release one value (n, ...) or one hypothesis for each game."""


class ReleaseBatch(Batch):
    def _release(self, move: Train) -> Released:
        training = self.choose_training(move)
        self.position.round = 1
        value = self.learner.ask("release", training)
        if self.log is not None:
            self.log.append(ReleaseEntry(round=1, value=value))
        return Released(value)

    moves = ((Train, _release),)
    opening = Train


@attrs.frozen
class Release(Referee):
    """The adversary gives one sample in two worlds, which are neighbours by the learner's claim or the same.
    It sees the value or hypothesis that the learner releases."""

    name = "Release"
    summary = "the learner gets a data set and releases one value"
    batch = ReleaseBatch
    learner_state = ReleaseState
    challenges = (PrivacyUnit.TRAINING_EXAMPLE,)
    law = ValueLaw
    template_opponents = ("laplace-count", "count-swap")
    usual_games = 1_000_000
    block_pairs = 16_384  # a learner that releases once has no other state

    def probe(self, probe: Probe, games: int) -> Iterator[Move]:
        yield Train(probe.mix_samples(games))
