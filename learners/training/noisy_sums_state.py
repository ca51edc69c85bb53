"""Running learners whose steps move against noisy sums of clipped vectors, and the batches that they draw."""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import floor, log2
from typing import Any, Generic, TypeVar

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.messages import GradientCanary
from arena.sample import Sample, Training

POISSON, FIXED, SHUFFLED = SAMPLINGS = ("poisson", "fixed", "shuffled")
_MOST_RUNS = 64  # distinct examples for which numbers of copies are drawn in place of positions
_MOST_POSITIONS = 2**20  # of which a table says which example each holds
_DEVIATIONS = 6  # of the size of a batch, for which positions are drawn at once; more are drawn if needed


class BatchSource:
    """Draws the batches of n games from one list of examples, given as runs of equal examples.

    counts: (k,), the copies of each. sampling: "poisson", every example with chance `rate`; "fixed", a
    uniform subset of `size`, anew in every step; "shuffled", the next `size` of a permutation, drawn anew
    when fewer are left.
    """

    def __init__(
        self,
        counts: np.ndarray,
        games: int,
        rng: np.random.Generator,
        *,
        sampling: str,
        rate: float,
        size: int,
    ) -> None:
        self._counts = counts
        self._games = games
        self._rng = rng
        self._sampling = sampling
        self._rate = rate
        self._total = int(counts.sum())
        self._size = min(size, self._total)
        self._example_of = (
            np.repeat(np.arange(len(counts)), counts) if self._total <= _MOST_POSITIONS else None
        )
        self._order = np.zeros((games, 0), np.intp)  # what is left of the permutation

    @property
    def draws_counts(self) -> bool:
        """Whether `draw_counts` is the cheaper of the two."""
        return len(self._counts) <= _MOST_RUNS

    def draw_counts(self) -> np.ndarray:
        """(n, k): how many copies of each distinct example the batch has."""
        if self._sampling == POISSON:
            return self._rng.binomial(self._counts, self._rate, size=(self._games, len(self._counts)))
        if self._sampling == FIXED:
            return self._rng.multivariate_hypergeometric(self._counts, self._size, size=self._games)
        taken, inside = self.draw_positions()
        counts = np.zeros((self._games, len(self._counts)), np.int64)
        game, place = np.nonzero(inside)
        np.add.at(counts, (game, taken[game, place]), 1)
        return counts

    def draw_positions(self) -> tuple[np.ndarray, np.ndarray]:
        """Indices of distinct examples (n, b), and (n, b) bool, which of them belong to the batch."""
        if self._sampling == SHUFFLED:
            if self._order.shape[1] < self._size:
                self._order = self._rng.permuted(
                    np.broadcast_to(np.arange(self._total), (self._games, self._total)), axis=1
                )
            taken, self._order = self._order[:, : self._size], self._order[:, self._size :]
            return self._find_examples(taken), np.ones(taken.shape, bool)
        if self._sampling == POISSON:
            positions = self._draw_independently()
            inside = positions < self._total
            return self._find_examples(np.where(inside, positions, 0)), inside
        positions = self._draw_subsets()
        return self._find_examples(positions), np.ones(positions.shape, bool)

    def _draw_independently(self) -> np.ndarray:
        """Each position with the chance `rate`, by geometric gaps: (n, b), ascending, and beyond the last in
        a smaller batch."""
        scale = -1 / np.log1p(-self._rate) if self._rate < 1 else 0.0
        mean = self._rate * self._total
        columns = int(mean + _DEVIATIONS * np.sqrt(mean)) + 2
        positions = np.full((self._games, 1), -1.0)
        while (positions[:, -1] < self._total).any():
            gaps = np.floor(scale * self._rng.standard_exponential((self._games, columns)))
            more = positions[:, -1:] + np.cumsum(gaps + 1, axis=1)
            positions = np.concatenate([positions, more], axis=1)
        most = (positions < self._total).sum(axis=1).max(initial=1)
        return positions[:, 1 : most + 1].astype(np.intp)

    def _draw_subsets(self) -> np.ndarray:
        """Uniform subsets: positions are drawn one by one, and again where they are in the subset already."""
        positions = self._rng.integers(self._total, size=(self._games, self._size))
        while True:
            order = np.argsort(positions, axis=1, kind="stable")
            ordered = np.take_along_axis(positions, order, axis=1)
            again = np.zeros(positions.shape, bool)
            np.put_along_axis(again[:, :], order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
            if not again.any():
                return positions
            positions[again] = self._rng.integers(self._total, size=int(again.sum()))

    def _find_examples(self, positions: np.ndarray) -> np.ndarray:
        if self._total == len(self._counts):
            return positions
        if self._example_of is not None:
            return self._example_of[positions]
        return np.searchsorted(np.cumsum(self._counts), positions, side="right")


_UNITS = 32  # to which noisy sums are rounded, to a standard deviation of the noise


@attrs.frozen(eq=False)
class Group:
    """Games with equal training sets."""

    games: np.ndarray
    sample: Sample


G = TypeVar("G", bound=Group)


class NoisySumsState(ABC, Generic[G]):
    """Steps of n games. A subclass says what a step adds up; a learner has a `network` and is as in
    `arena.capabilities.TrainsByNoisySteps`."""

    def __init__(self, learner: Any, games: int, rng: np.random.Generator) -> None:
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
        noisy = self._draw_noise()
        noisy += total
        noisy /= self._unit
        np.rint(noisy, out=noisy)
        noisy *= self._unit * self._learner.step_size
        self.parameters -= noisy

    def _draw_noise(self) -> np.ndarray:
        return self._scale * self._rng.standard_normal(self.parameters.shape)

    def _shrink(self, norms: np.ndarray) -> np.ndarray:
        return np.minimum(1.0, self._learner.clip / np.maximum(norms, 1e-300))
