"""D̂_i: a uniformly random subset of the points of a round, kept as they arrive."""

from __future__ import annotations

import numpy as np

_SEGMENT = 256


class StreamingSubset:
    """Keeps `choose` of the next `of` queries of each of n games, every subset equally likely.

    Step 3(f) of GenericBBL chooses after the round; choosing the places beforehand has the same law, and
    memory grows with what is kept only. Places are drawn a segment of queries at a time: how many of a
    game's remaining places fall into it is hypergeometric, and then they are a random subset of it.
    """

    def __init__(self, games: int, *, of: int, choose: int, rng: np.random.Generator) -> None:
        self._games = games
        self._rng = rng
        self._to_come = of
        self._to_choose = np.full(games, choose, np.int64)
        self._segment = 0
        self._at = 0
        self._kept_games: list[np.ndarray] = []
        self._kept_points: list[np.ndarray] = []
        self._choose = choose

    def offer(self, x: np.ndarray) -> None:
        """The next queries of every game, (n, k, ...)."""
        done = 0
        while done < x.shape[1]:
            if self._at == self._segment:
                self._draw_segment()
            stop = min(self._segment, self._at + x.shape[1] - done)
            here = slice(self._starts[self._at], self._starts[stop])
            if here.start < here.stop or not self._kept_games:
                self._kept_games.append(self._drawn_games[here])
                self._kept_points.append(
                    x[self._drawn_games[here], self._drawn_places[here] - self._at + done]
                )
            done += stop - self._at
            self._at = stop

    def chosen(self) -> np.ndarray:
        """(n, choose, ...): the chosen queries of each game, in random order, once all have been offered."""
        games = np.concatenate(self._kept_games)
        points = np.concatenate(self._kept_points)
        order = np.lexsort((self._rng.random(len(games)), games))
        return points[order].reshape(self._games, self._choose, *points.shape[1:])

    def _draw_segment(self) -> None:
        length = min(_SEGMENT, self._to_come)
        later = self._to_come - length
        here = self._rng.hypergeometric(self._to_choose, self._to_come - self._to_choose, length)
        self._to_choose -= here
        self._to_come = later
        games, places = self._distinct_places(here, length)
        order = np.argsort(places, kind="stable")
        self._drawn_games, self._drawn_places = games[order], places[order]
        self._starts = np.searchsorted(places[order], np.arange(length + 1))
        self._segment, self._at = length, 0

    def _distinct_places(self, number: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
        """`number[g]` distinct places below `length` for each game g: (game, place) of each."""
        crowded = number > length // 16
        done_games, done_places = self._permuted_places(np.flatnonzero(crowded), number, length)
        wanting = np.flatnonzero(~crowded & (number > 0))
        while len(wanting):
            games = np.repeat(wanting, number[wanting])
            places = self._rng.integers(0, length, len(games))
            keys = np.sort(games * length + places)
            clash = np.unique(keys[1:][keys[1:] == keys[:-1]] // length)
            fine = ~np.isin(games, clash)
            done_games.append(games[fine])
            done_places.append(places[fine])
            wanting = clash
        if not done_games:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return np.concatenate(done_games), np.concatenate(done_places)

    def _permuted_places(
        self, games: np.ndarray, number: np.ndarray, length: int
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The same for games that take so many places that independent draws would clash."""
        if not len(games):
            return [], []
        keys = self._rng.random((len(games), length))
        ranks = np.argsort(keys, axis=1)
        taken = np.arange(length) < number[games][:, None]
        return [np.repeat(games, number[games])], [ranks[taken]]
