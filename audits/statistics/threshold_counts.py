"""Number of games of each world below each of a set of thresholds, between two certain bounds.

Unlike `ScoreHistogram`, which estimates, the counter states what it does not know: docs/proofs/bands.md.
"""

from __future__ import annotations

import attrs
import numpy as np

from audits.statistics.score_histogram import MAX_EXACT_EDGES, choose_edges
from audits.statistics.score_pairs import PairCounts
from audits.statistics.threshold_events import Events


@attrs.frozen(eq=False)
class CountBounds:
    """Bounds on the number of games of each world in the events of k thresholds.

    Shapes: least and most (2, 2k) int64, row b for world b; columns as in `Events`.
    """

    pairs: int
    events: Events
    least: np.ndarray
    most: np.ndarray

    @classmethod
    def exact(cls, pairs: int, thresholds: np.ndarray, below: np.ndarray) -> CountBounds:
        """From exact counts `below` (2, k) of the scores below each threshold (k,)."""
        return cls.between(pairs, thresholds, below, below)

    @classmethod
    def between(cls, pairs: int, thresholds: np.ndarray, least: np.ndarray, most: np.ndarray) -> CountBounds:
        """From bounds (2, k) on the number of scores below each threshold (k,)."""
        at_least = np.concatenate([pairs - most, least], axis=1)
        at_most = np.concatenate([pairs - least, most], axis=1)
        return cls(pairs, Events(thresholds), at_least, at_most)


class ThresholdCounter:
    """Counts of scores below thresholds, in memory that grows with the logarithm of their number.

    Scores may be infinite.
    """

    def __init__(self) -> None:
        self.pairs = 0
        self._edges = np.empty(0)
        self._least = np.empty((2, 0), dtype=np.int64)  # scores below an edge, at least
        self._most = np.empty((2, 0), dtype=np.int64)
        self._tops = np.empty(0)  # no score from an edge up to the next one is larger

    def add(self, block: PairCounts) -> None:
        """Count the scores of a block."""
        if not block.pairs:
            return
        edges = np.union1d(self._edges, block.levels)
        below = Events(edges).count(block).world[:, len(edges) :]
        least, most, tops = self._count_bounds_at(edges)
        least, most = least + below, most + below
        self.pairs += block.pairs
        if len(edges) > MAX_EXACT_EDGES:
            mass = np.diff(most, axis=1, append=self.pairs)
            kept = choose_edges(mass, np.searchsorted(edges, self._edges))
            edges, least, most = edges[kept], least[:, kept], most[:, kept]
            tops = np.maximum.reduceat(tops, kept)
        self._edges, self._least, self._most, self._tops = edges, least, most, tops

    def counts(self) -> CountBounds:
        """The counts at all thresholds except the smallest, below which there is no score."""
        return CountBounds.between(self.pairs, self._edges[1:], self._least[:, 1:], self._most[:, 1:])

    def _count_bounds_at(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What is known at edges that include the old ones: bounds (2, k) on the scores below each edge of
        earlier games, and the largest possible score (k,) in each bin."""
        nothing, everything = np.zeros((2, 1), dtype=np.int64), np.full((2, 1), self.pairs)
        least = np.concatenate([nothing, self._least, everything], axis=1)
        most = np.concatenate([self._most, everything], axis=1)
        tops = np.concatenate([[-np.inf], self._tops])
        bin_of = np.searchsorted(self._edges, edges, side="right")
        cleared = edges > tops[bin_of]
        with np.errstate(over="ignore"):  # the number below the least finite one is -inf, as intended
            before_next = np.append(np.nextafter(edges[1:], -np.inf), np.inf)
        top = np.minimum(tops[bin_of], before_next)
        below = np.searchsorted(self._edges, edges, side="left")
        return least[:, bin_of + cleared], most[:, below], np.maximum(edges, top)
