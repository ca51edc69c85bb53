"""Broken relatives of dp-fedavg, each with one slip and the claim that its author believes."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from support.simple_players import NamedByClass

from arena import Claim
from learners.training.dp_fedavg import DPFedAvg, DPFedAvgState


@attrs.frozen
class BrokenDPFedAvg(NamedByClass, DPFedAvg):
    """twin: the correct learner whose claim it makes."""

    size: int = 8
    batch: int = 4
    steps: int = 10
    noise: float | None = 4.0

    State = DPFedAvgState

    @property
    def twin(self) -> DPFedAvg:
        return DPFedAvg(**{field.name: getattr(self, field.name) for field in attrs.fields(DPFedAvg)})

    @property
    def claim(self) -> Claim:
        return self.twin.claim

    def start(self, games: int, rng: np.random.Generator) -> DPFedAvgState:
        return self.State(self, games, rng)


@attrs.frozen
class ClipsExamples(BrokenDPFedAvg):
    """The slip: the change by each example is clipped in place of that by all examples of a user."""

    class State(DPFedAvgState):
        def _train_users(self, group: Any, games: Any, users: Any, canaries: Any) -> np.ndarray:
            total = np.zeros((len(users), self._network.size))
            for place in range(group.points.shape[1]):
                only = np.zeros_like(group.counts)
                only[:, place] = 1
                change = super()._train_users(attrs.evolve(group, counts=only), games, users, canaries)
                total += group.counts[users, place][:, None] * change
            return total


@attrs.frozen
class DividesByRealUsers(BrokenDPFedAvg):
    """The slip: the sum of a round is divided by the number of users who really took part."""

    class State(DPFedAvgState):
        def __init__(self, learner: DPFedAvg, games: int, rng: np.random.Generator) -> None:
            super().__init__(learner, games, rng)
            self._drawn = np.zeros(games)

        def _train_users(self, group: Any, games: Any, users: Any, canaries: Any) -> np.ndarray:
            np.add.at(self._drawn, group.games[games], 1)
            return super()._train_users(group, games, users, canaries)

        def _update(self, total: np.ndarray) -> None:
            before = self.parameters.copy()
            super()._update(total)
            self.parameters = (
                before
                + (self.parameters - before) * (self._learner.batch / np.maximum(self._drawn, 1))[:, None]
            )
            self._drawn[:] = 0

    features: int = 20


class NoClipState(DPFedAvgState):
    def _shrink(self, norms: np.ndarray) -> np.ndarray:
        return np.ones_like(norms)


@attrs.frozen
class ForgetsClippingUsers(BrokenDPFedAvg):
    """The slip: changes are not clipped."""

    State = NoClipState
