"""A uniformly random subset of a stream, of fixed size, stored as its points arrive: D̂_i of GenericBBL."""

from __future__ import annotations

import numpy as np

_SEGMENT = 256  # points of the stream whose selected positions are drawn together


class StreamingSubset:
    """Keeps `choose` of the next `of` points of each of n games, every subset equally likely.

    Step 3(f) of GenericBBL chooses at the end of the round. Choosing positions beforehand has the same
    distribution, and needs memory only for the chosen points. Positions are drawn one segment at a time: how
    many of a game's remaining positions fall into it is hypergeometric, and given that number they are a
    random subset of it.
    """

    def __init__(self, games: int, *, of: int, choose: int, rng: np.random.Generator) -> None:
        self._games = games
        self._rng = rng
        self._to_come = of
        self._to_choose = np.full(games, choose, np.int64)
        self._segment = 0
        self._at = 0
        self._chosen_games: list[np.ndarray] = []
        self._chosen_points: list[np.ndarray] = []
        self._choose = choose

    def offer(self, x: np.ndarray) -> None:
        """Offer the next points of every game, (n, k, ...)."""
        done = 0
        while done < x.shape[1]:
            if self._at == self._segment:
                self._draw_segment()
            stop = min(self._segment, self._at + x.shape[1] - done)
            hits = slice(self._starts[self._at], self._starts[stop])
            if hits.start < hits.stop or not self._chosen_games:
                games, places = self._hit_games[hits], self._hit_places[hits]
                self._chosen_games.append(games)
                self._chosen_points.append(x[games, places - self._at + done])
            done += stop - self._at
            self._at = stop

    def collect(self) -> np.ndarray:
        """(n, choose, ...): the chosen points of each game in random order, once all have been offered."""
        games = np.concatenate(self._chosen_games)
        points = np.concatenate(self._chosen_points)
        order = np.lexsort((self._rng.random(len(games)), games))
        return points[order].reshape(self._games, self._choose, *points.shape[1:])

    def _draw_segment(self) -> None:
        length = min(_SEGMENT, self._to_come)
        hits = self._rng.hypergeometric(self._to_choose, self._to_come - self._to_choose, length)
        self._to_choose -= hits
        self._to_come -= length
        games, places = self._draw_places(hits, length)
        order = np.argsort(places, kind="stable")
        self._hit_games, self._hit_places = games[order], places[order]
        self._starts = np.searchsorted(places[order], np.arange(length + 1))
        self._segment, self._at = length, 0

    def _draw_places(self, number: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
        """`number[g]` distinct places below `length` for each game g: (game, place) of each."""
        crowded = number > length // 16
        all_games, all_places = self._permute_places(np.flatnonzero(crowded), number, length)
        pending = np.flatnonzero(~crowded & (number > 0))
        while len(pending):
            games = np.repeat(pending, number[pending])
            places = self._rng.integers(0, length, len(games))
            keys = np.sort(games * length + places)
            clashing = np.unique(keys[1:][keys[1:] == keys[:-1]] // length)
            valid = ~np.isin(games, clashing)
            all_games.append(games[valid])
            all_places.append(places[valid])
            pending = clashing
        if not all_games:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        return np.concatenate(all_games), np.concatenate(all_places)

    def _permute_places(
        self, games: np.ndarray, number: np.ndarray, length: int
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The same for games with so many places that independent draws would clash."""
        if not len(games):
            return [], []
        keys = self._rng.random((len(games), length))
        ranks = np.argsort(keys, axis=1)
        selected = np.arange(length) < number[games][:, None]
        return [np.repeat(games, number[games])], [ranks[selected]]
