"""Broken relatives of dp-sgd and dp-fedavg, each with one slip and the claim that its author believes."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from support.simple_players import BrokenLearner

from learners.training.dp_fedavg import DPFedAvg, DPFedAvgState
from learners.training.dp_sgd import DPSGD, DPSGDState
from learners.training.noisy_sums_state import FIXED, SHUFFLED


@attrs.frozen
class BrokenDPSGD(BrokenLearner, DPSGD):
    """run: the settings with which it really runs."""

    size: int = 20
    batch: int = 5
    steps: int = 20
    noise: float | None = 3.0

    State = DPSGDState

    @property
    def run(self) -> DPSGD:
        return self

    def start(self, games: int, rng: np.random.Generator) -> DPSGDState:
        return self.State(self.run, games, rng)


@attrs.frozen
class FixedAsPoisson(BrokenDPSGD):
    """The slip: batches of a fixed size, accounted as if each example were drawn on its own."""

    @property
    def run(self) -> DPSGD:
        return attrs.evolve(self, sampling=FIXED)


@attrs.frozen
class ShufflingAsPoisson(BrokenDPSGD):
    """The slip: a permutation in each epoch, accounted as if each example were drawn on its own."""

    @property
    def run(self) -> DPSGD:
        return attrs.evolve(self, sampling=SHUFFLED)


class NoClipState(DPSGDState):
    def _shrink(self, norms: np.ndarray) -> np.ndarray:
        return np.ones_like(norms)


@attrs.frozen
class ForgetsClipping(BrokenDPSGD):
    """The slip: gradients are not clipped."""

    State = NoClipState


@attrs.frozen
class ClipsTheMean(BrokenDPSGD):
    """The slip: the mean gradient of a batch is clipped in place of each."""

    class State(NoClipState):
        def _update(self, total: np.ndarray) -> None:
            norms = np.sqrt((total**2).sum(axis=1)) / self._learner.batch
            super()._update(total * DPSGDState._shrink(self, norms)[:, None])


@attrs.frozen
class NoiseWithoutClip(BrokenDPSGD):
    """The slip: the noise has the standard deviation `noise`, whatever the clip."""

    class State(DPSGDState):
        def _draw_noise(self) -> np.ndarray:
            return super()._draw_noise() / self._learner.clip

    clip: float = 4.0


@attrs.frozen
class ReusesNoise(BrokenDPSGD):
    """The slip: the noise is drawn once and used in all steps."""

    class State(DPSGDState):
        _noise: np.ndarray | None = None

        def _draw_noise(self) -> np.ndarray:
            if self._noise is None:
                self._noise = super()._draw_noise()
            return self._noise.copy()


@attrs.frozen
class HalvesLateNoise(BrokenDPSGD):
    """The slip: from the sixth step on, the noise is half of what is accounted for."""

    class State(DPSGDState):
        _taken = 0

        def _draw_noise(self) -> np.ndarray:
            self._taken += 1
            return super()._draw_noise() / (1 if self._taken <= 5 else 2)


@attrs.frozen
class ClipsEachCoordinate(BrokenDPSGD):
    """The slip: each part of a gradient is clipped to the whole length, as where layers are clipped alone."""

    class State(DPSGDState):
        def _add_clipped(self, group, games, canaries, copies, chosen):
            clip = self._learner.clip
            x, y = (
                values if chosen is None else values.take(chosen, axis=0)
                for values in (group.points, group.labels)
            )
            total = np.zeros((len(games), self._network.size))
            for canary, places in zip(canaries, group.canaries, strict=True):
                inside = places if chosen is None else places.take(chosen, axis=0)
                total += (copies * inside).sum(axis=1)[:, None] * np.clip(canary.gradient[games], -clip, clip)
                copies = copies * ~inside
            slope = self._network._slope(self._network.predict(self.parameters[games], x.astype(float)), y)
            gradients = np.clip(slope[:, :, None] * x, -clip, clip)
            return total + (copies[:, :, None] * gradients).sum(axis=1)

    features: int = 3


@attrs.frozen
class NoiseOfParticipants(BrokenDPSGD):
    """The slip: everybody in a batch adds the share of the noise that all would add together."""

    class State(DPSGDState):
        _participants: np.ndarray | None = None

        def _add_clipped(self, group, games, canaries, copies, chosen):
            if self._participants is None:
                self._participants = np.zeros(self._games)
            self._participants[games] = copies.sum(axis=1)
            return super()._add_clipped(group, games, canaries, copies, chosen)

        def _draw_noise(self) -> np.ndarray:
            share = self._participants / self._learner.size
            return super()._draw_noise() * np.sqrt(share)[:, None]


@attrs.frozen
class OneStepShort(BrokenDPSGD):
    """The slip: the curve is claimed for one step fewer than are taken."""

    batch: int = 10
    steps: int = 2
    noise: float | None = 1.5

    @property
    def twin(self) -> DPSGD:
        return attrs.evolve(super().twin, steps=self.steps - 1)


@attrs.frozen
class DividesByRealSize(BrokenDPSGD):
    """The slip: the size of a batch is worked out from the real number of examples."""

    class State(DPSGDState):
        def _update(self, total: np.ndarray) -> None:
            before = self.parameters.copy()
            super()._update(total)
            sizes = np.empty(self._games)
            for group in self._groups:
                sizes[group.games] = len(group.labels)
            self.parameters = before + (self.parameters - before) * (self._learner.size / sizes)[:, None]

    size: int = 4
    batch: int = 2
    features: int = 50


@attrs.frozen
class WrongRate(BrokenDPSGD):
    """The slip: the accountant is given a fifth of the rate."""

    @property
    def twin(self) -> DPSGD:
        return attrs.evolve(super().twin, size=5 * self.size)


@attrs.frozen
class FloatNoise(BrokenDPSGD):
    """The slip: noise is added in float32, and the sum is not rounded."""

    class State(DPSGDState):
        def _update(self, total: np.ndarray) -> None:
            noisy = total.astype(np.float32) + self._draw_noise().astype(np.float32)
            self.parameters -= self._learner.step_size * noisy.astype(float)

    size: int = 16
    batch: int = 16
    steps: int = 1
    noise: float | None = 8.0


@attrs.frozen
class BrokenDPFedAvg(BrokenLearner, DPFedAvg):
    """Base of the broken learners: their settings."""

    size: int = 8
    batch: int = 4
    steps: int = 10
    noise: float | None = 4.0

    State = DPFedAvgState


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


@attrs.frozen
class ForgetsClippingUsers(BrokenDPFedAvg):
    """The slip: changes are not clipped."""

    class State(DPFedAvgState):
        def _shrink(self, norms: np.ndarray) -> np.ndarray:
            return np.ones_like(norms)
