"""Labelled examples of a batch of games, stored as counts."""

from __future__ import annotations

import attrs
import numpy as np


@attrs.frozen(eq=False)
class CountedExamples:
    """The labelled examples of every game, with how often each occurs.

    Shapes: points (n or 1, k, ...), labels (n or 1, k), counts (n, k).
    """

    points: np.ndarray
    labels: np.ndarray
    counts: np.ndarray

    def draw_subset(self, size: int, rng: np.random.Generator) -> CountedExamples:
        """A uniformly random subset of `size` examples of each game."""
        if len(self.counts) < self.counts.shape[1]:  # few games: draw game by game
            rows = [rng.multivariate_hypergeometric(row, size, method="marginals") for row in self.counts]
            return CountedExamples(self.points, self.labels, np.array(rows).reshape(self.counts.shape))
        remaining = np.full(len(self.counts), size, np.int64)
        later = self.counts.sum(axis=1)
        subset = np.zeros_like(self.counts)
        for a in range(self.counts.shape[1]):
            column = self.counts[:, a]
            later = later - column
            subset[:, a] = rng.hypergeometric(column, later, remaining)
            remaining -= subset[:, a]
        return CountedExamples(self.points, self.labels, subset)
