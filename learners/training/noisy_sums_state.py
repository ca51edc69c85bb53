"""Running learners whose steps move against sums of clipped vectors with Gaussian noise."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import floor, log2
from typing import Any, Generic, TypeVar

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.moves import GradientCanary
from arena.sample import Sample, Training

_UNITS = 32  # to which noisy sums are rounded, to a standard deviation of the noise


@attrs.frozen(eq=False)
class Group:
    """Games with equal training sets."""

    games: np.ndarray
    sample: Sample


G = TypeVar("G", bound=Group)


class NoisySumsState(ABC, Generic[G]):
    """Steps of n games. A subclass says what a step adds up, for the games of a group."""

    def __init__(self, learner: Any, games: int, rng: np.random.Generator) -> None:
        """learner: has a `network` and is as in `arena.capabilities.TrainsByNoisySteps`."""
        self._learner = learner
        self._network = learner.network
        self._games = games
        self._rng = rng
        self._scale = learner.noise_run * learner.clip
        self._unit = 2.0 ** floor(log2(self._scale / _UNITS))
        self._groups: list[G] = []
        self.parameters = self._network.start(games, rng)

    @abstractmethod
    def _make_group(self, games: np.ndarray, sample: Sample) -> G:
        """The games (g,) that are trained on the sample."""

    @abstractmethod
    def _add_gradients(self, group: G, canaries: tuple[GradientCanary, ...]) -> np.ndarray:
        """(g, P): what a step adds up, vectors of length `clip` at most, for the games of a group."""

    @property
    def steps(self) -> int:
        return int(self._learner.steps)

    def train(self, training: Training) -> None:
        self._groups += [self._make_group(games, sample) for sample, games in training.groups()]

    def advance(self, steps: int, canaries: tuple[GradientCanary, ...]) -> np.ndarray:
        for canary in canaries:
            if canary.gradient.shape[1] != self._network.size:
                raise InvalidArgument(
                    f"a canary's gradient must have {self._network.size} entries, one for each parameter",
                    value=canary.gradient.shape[1],
                )
        for _ in range(steps):
            total = np.empty_like(self.parameters)
            for group in self._groups:
                total[group.games] = self._add_gradients(group, canaries)
            self._update(total)
        return self.parameters

    def _update(self, total: np.ndarray) -> None:
        """Move against the sums (n, P) of the clipped vectors."""
        noisy = self._draw_noise()
        noisy += total
        noisy /= self._unit
        np.rint(noisy, out=noisy)
        noisy *= self._unit * self._learner.step_size
        self.parameters -= noisy

    def _draw_noise(self) -> np.ndarray:
        return self._scale * self._rng.standard_normal(self.parameters.shape)

    def _shrink(self, norms: np.ndarray) -> np.ndarray:
        """The factors that clip vectors with these norms."""
        return np.minimum(1.0, self._learner.clip / np.maximum(norms, 1e-300))
