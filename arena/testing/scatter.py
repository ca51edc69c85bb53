"""A test whether batches of games scatter more than independent games could."""

from __future__ import annotations

import numpy as np


class BatchScatter:
    """Compares the scatter of events between batches with their scatter within.

    If all games are independent and alike, then given the first b batches together, those of batch b are a
    random choice among them, so that its count has a hypergeometric distribution. The p-values of all b are
    independent, and their logarithms are added up (Fisher's method): docs/proofs/batch_scatter.md.

    events: the number of events.
    """

    def __init__(self, events: int) -> None:
        self._hits = np.zeros(events)
        self._games = 0
        self._log_p = np.zeros(events)
        self._batches = 0

    def update(self, hits: np.ndarray, games: int) -> None:
        """Add a batch of so many games; hits: (events,), in how many of them each event happened."""
        self._hits += hits
        self._games += games
        if self._batches:
            self._log_p += np.minimum(
                0.0,
                np.log(2.0)
                + np.minimum(
                    _log_tail(hits, self._hits, games, self._games),
                    _log_tail(games - hits, self._games - self._hits, games, self._games),
                ),
            )
        self._batches += 1

    def p_value(self) -> float:
        """A p-value of independence: at most p with probability at most p, whatever the distribution."""
        from scipy.special import gammaincc  # slow to import

        if self._batches < 2 or not len(self._log_p):
            return 1.0
        return min(1.0, len(self._log_p) * float(gammaincc(self._batches - 1, -self._log_p).min()))


def _log_tail(hits: np.ndarray, all_hits: np.ndarray, games: int, all_games: int) -> np.ndarray:
    """(events,): an upper bound on log P(at least `hits` of `games`), where `games` of `all_games` are chosen
    at random and `all_hits` of these are hits.

    Beyond its mode the probabilities of the hypergeometric distribution fall at least as fast as a geometric
    series with the ratio of the first two.
    """
    from scipy.special import gammaln  # slow to import

    def log_choose(n: np.ndarray | int, k: np.ndarray | int) -> np.ndarray:
        return np.asarray(gammaln(np.add(n, 1)) - gammaln(np.add(k, 1)) - gammaln(np.subtract(n, k) + 1))

    log_mass = (
        log_choose(all_hits, hits)
        + log_choose(all_games - all_hits, games - hits)
        - log_choose(all_games, games)
    )
    left = all_games - all_hits - games
    ratio = (all_hits - hits) * (games - hits) / ((hits + 1.0) * np.maximum(left + hits + 1.0, 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = log_mass - np.log1p(-ratio)
    return np.where(ratio < 1.0, np.minimum(bound, 0.0), 0.0)
