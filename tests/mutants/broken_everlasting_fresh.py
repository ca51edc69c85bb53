"""Broken variants of everlasting-fresh, each with one slip, under its claims."""

from __future__ import annotations

import attrs
import numpy as np
from support.simple_players import NamedByClass

from learners.everlasting.everlasting_v2 import EverlastingFresh, FreshState
from learners.everlasting.generic_bbl_state import StreamingSubset

# A thousandth of the points is learned from, by one teacher, whose 32 answers tell it apart.
RARE = EverlastingFresh(
    teachers=40_000,
    chunk=1,
    training_rate=0.02,
    rate=0.001,
    answers=8,
    noise=0.4,
    delta=0.5,
    pool=2_000,
    rounds=2,
)
# Nothing but a halt tells much.
QUIET = EverlastingFresh(teachers=4, chunk=1, training_rate=0.1, rate=0.2, answers=2, noise=0.01, pool=10)
# Every point is learned from, and answers tell of it.
EVERY = EverlastingFresh(teachers=4, chunk=1, training_rate=0.1, rate=1.0, answers=2, noise=1.0, pool=2)


class FirstOnes(StreamingSubset):
    """Keeps the first points of the stream."""

    def offer(self, x: np.ndarray) -> None:
        here = x[:, : self._choose - self._segment]
        self._chosen_points.append(here)
        self._segment += here.shape[1]

    def collect(self) -> np.ndarray:
        return np.concatenate(self._chosen_points, axis=1)


class FirstShareState(FreshState):
    def _new_pool(self, index: int) -> StreamingSubset:
        usual = super()._new_pool(index)
        return FirstOnes(self._games, of=usual._to_come, choose=usual._choose, rng=self._rng)


@attrs.frozen
class FirstShare(NamedByClass, EverlastingFresh):
    """The slip: D̂_i are the first points of D_i, and no random part of them, so that no chance of being left
    out protects a point. Whoever comes first is learned from for certain.
    """

    def start(self, games: int, rng: np.random.Generator) -> FirstShareState:
        return FirstShareState(self, games, rng)


class CountsKindsState(FreshState):
    def receive_unlabelled(self, x: np.ndarray) -> None:
        super().receive_unlabelled(x)
        self.came = np.concatenate([getattr(self, "came", x[:, :0]), x], axis=1)
        if self._ready:
            kinds = np.array([len(np.unique(row)) for row in self.came])
            self._stopped = self._stopped | (kinds < 2)


@attrs.frozen
class CountsKinds(NamedByClass, EverlastingFresh):
    """The slip: what came before is not counted again, so that a world may have too few points to go on and
    stop, where the other does not. No ε holds.
    """

    def start(self, games: int, rng: np.random.Generator) -> CountsKindsState:
        return CountsKindsState(self, games, rng)


class LeaksState(FreshState):
    def _add_queries(self, x: np.ndarray) -> None:
        self.receive_unlabelled(x)


@attrs.frozen
class LeaksQueries(NamedByClass, EverlastingFresh):
    """The slip: queries are points like others, so they are learned from too, and cost (0, 0) no longer."""

    def start(self, games: int, rng: np.random.Generator) -> LeaksState:
        return LeaksState(self, games, rng)
