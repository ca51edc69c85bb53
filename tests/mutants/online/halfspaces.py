"""Broken versions of `dp-winnow`: the shipped learner with one slip each, in games of a dozen rounds.

Unless stated otherwise AboveThreshold has a threshold far below 0, so that each of the first K rounds ends
with an update and privacy is lost by the draws alone.
"""

from __future__ import annotations

import attrs
import numpy as np
from mutants.online.online_realizable import BareSum, SumAtMistakes
from support.simple_players import BrokenLearner

from arena import Hypothesis
from arena.concepts import Halfspaces
from learners.halfspaces.dp_winnow import DpWinnow, DpWinnowState
from learners.halfspaces.winnow import MultiplicativeWeights
from learners.mechanisms.sparse_vector import RunningSum

FIRES_EVERY_ROUND = -1e6


@attrs.frozen
class EveryRound(BrokenLearner, DpWinnow):
    """Base of the broken learners: their settings."""

    State = DpWinnowState

    concepts: Halfspaces = Halfspaces(2, 0.5)
    rounds: int = 12
    delta: float = 0.0
    updates: int | None = 1
    draws: int | None = 4
    rate: float | None = 0.2
    cached: int | None = 1
    threshold: float | None = FIRES_EVERY_ROUND


DRAWS = 60


@attrs.frozen
class DrawsForOne(EveryRound):
    """The slip: an update shows 60 draws and accounts for one. The loss is 4η for each draw.

    A mistake makes one coordinate likelier in world 0, and the other one in world 1.
    """

    class State(DpWinnowState):
        def __init__(self, spec: EveryRound, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self._draws = DRAWS

    draws: int | None = 1


@attrs.frozen
class SumForMean(EveryRound):
    """The slip: the claim is for the mean of ten mistakes, but the weights are updated with their sum. Each
    draw loses ten times as much."""

    class State(DpWinnowState):
        def __init__(self, spec: EveryRound, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self._scores = MultiplicativeWeights(games, spec.concepts.dimension, rate=spec.eta)

    rate: float | None = 0.4
    cached: int | None = 10


@attrs.frozen
class CacheStays(EveryRound):
    """The slip: the cache is not emptied, so that the first mistake of the game is used in every update.

    It counts j times in the draws of update j, which lose j times as much.
    """

    class State(DpWinnowState):
        def _update(self, rows: np.ndarray) -> None:
            cache, cached = self._cache[rows], self._cached[rows]
            super()._update(rows)
            self._cache[rows], self._cached[rows] = cache, cached

    delta: float = 0.01
    updates: int | None = 11
    rate: float | None = 0.075


@attrs.frozen
class KeepsWeights(EveryRound):
    """The slip: a restart keeps the weights, so that the first mistake is used in 40 updates and paid for in
    one. The loss is 4η for each draw."""

    class State(DpWinnowState):
        def _update(self, rows: np.ndarray) -> None:
            restarted = rows[self._updates_left[rows] == 0]
            sums = self._scores.sums[restarted]
            super()._update(rows)
            self._scores.sums[restarted] = sums

    rounds: int = 80
    rate: float | None = 0.1


@attrs.frozen
class CacheShows(EveryRound):
    """The slip: after an update it shows the counts plus a small multiple of the cached mistakes. No ε
    holds."""

    class State(DpWinnowState):
        def _update(self, rows: np.ndarray) -> None:
            cache = self._cache[rows]
            super()._update(rows)
            shown = self._shown.copy()
            shown[rows] = np.maximum(shown[rows] + cache / 1024, 0)
            shown.setflags(write=False)
            self._shown = shown

    rate: float | None = 0.02


@attrs.frozen
class NothingNew(EveryRound):
    """The slip: if AboveThreshold fires without a mistake, the old draws are kept, since the weights are the
    same. No ε holds.

    A change of the hypothesis then reveals a mistake.
    """

    class State(DpWinnowState):
        def _update(self, rows: np.ndarray) -> None:
            some = self._cached[rows] > 0
            shown = self._shown
            super()._update(rows)
            updated = self._shown.copy()
            updated[rows[~some]] = shown[rows[~some]]
            updated.setflags(write=False)
            self._shown = updated

    rate: float | None = 0.02


class WatchingState(DpWinnowState):
    watch_class = RunningSum

    def __init__(self, spec: Brink, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec, games, rng)
        self._watch = self.watch_class(
            games, rng, thresholds=spec.update_threshold, epsilon=spec.watch_epsilon
        )


@attrs.frozen
class Brink(EveryRound):
    """One visible update after about four mistakes: a count of one draw is not uniform."""

    State = WatchingState

    watching: float = 0.5
    rate: float | None = 0.005
    draws: int | None = 1
    threshold: float | None = 4.0


@attrs.frozen
class WatchesMistakes(Brink):
    """The slip: the sum is compared with the threshold only in rounds with a mistake. No ε holds.

    A correct prediction cannot cause an update.
    """

    class State(WatchingState):
        watch_class = SumAtMistakes


@attrs.frozen
class BareMistakes(Brink):
    """The slip: AboveThreshold compares its noisy threshold with the exact sum. No ε holds."""

    class State(WatchingState):
        watch_class = BareSum


CALM = 8


@attrs.frozen
class ManyDrawsAfterCalm(Brink):
    """The slip: an update shows 60 draws instead of one if the first eight rounds had no mistake.

    The loss is 4η for each draw.
    """

    class State(DpWinnowState):
        rounds, mistakes = 0, 0

        def observe(self, x: np.ndarray, y: np.ndarray) -> None:
            if self.rounds < CALM:
                self.mistakes = self.mistakes + (Hypothesis(self._class, self._shown)(x) != y)
            self.rounds += 1
            super().observe(x, y)

        def _update(self, rows: np.ndarray) -> None:
            calm = (self.rounds > CALM) & (self.mistakes[rows] == 0)
            for draws, some in ((1, rows[~calm]), (DRAWS, rows[calm])):
                self._draws = draws
                super()._update(some)

    concepts: Halfspaces = Halfspaces(3, 0.5)
    rounds: int = 40
    rate: float | None = 0.2
