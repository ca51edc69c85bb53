"""Which examples a step of training takes: each with some chance, so many of them, or all in turn."""

from __future__ import annotations

import numpy as np

POISSON, FIXED, SHUFFLED = SAMPLINGS = ("poisson", "fixed", "shuffled")
_MOST_RUNS = 64  # distinct examples for which numbers of copies are drawn in place of positions


class BatchSource:
    """Draws the batches of n games from one list of examples, given as runs of equal examples.

    counts: (k,), the copies of each. sampling: "poisson", every example independently with chance `rate`;
    "fixed", a uniform subset of `size` examples, anew in every step; "shuffled", the next `size` examples of
    a permutation, which is drawn anew when fewer are left.
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
            sizes = self._rng.binomial(self._total, self._rate, size=self._games)
        else:
            sizes = np.full(self._games, self._size)
        inside = np.arange(int(sizes.max(initial=0))) < sizes[:, None]
        return self._find_examples(self._draw_subsets(inside)), inside

    def _draw_subsets(self, inside: np.ndarray) -> np.ndarray:
        """Uniform subsets: positions are drawn one by one, and again where they are in the subset already."""
        positions = self._rng.integers(self._total, size=inside.shape)
        positions[~inside] = -1 - np.nonzero(~inside)[1]  # all different
        while True:
            order = np.argsort(positions, axis=1, kind="stable")
            ordered = np.take_along_axis(positions, order, axis=1)
            again = np.zeros(inside.shape, bool)
            np.put_along_axis(again[:, :], order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
            if not again.any():
                return np.where(inside, positions, 0)
            positions[again] = self._rng.integers(self._total, size=int(again.sum()))

    def _find_examples(self, positions: np.ndarray) -> np.ndarray:
        if self._total == len(self._counts):
            return positions
        return np.searchsorted(np.cumsum(self._counts), positions, side="right")
