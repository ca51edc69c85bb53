"""How many games of each world scored below each of a set of thresholds: between two numbers, for certain.

A `Histogram` estimates; a limit that is to hold needs to know what it does not know. While few distinct
scores occur, every score is a threshold and the counts are exact. Later a threshold may come up in the
middle of a bin, among scores that are no longer told apart: of the games that fell into the bin before, none
or all may have scored below it. Both are kept, and every later game is counted exactly on both sides. For
each bin its largest score is remembered too: a threshold above it is as exact as the next one. Thresholds
come and go by the histogram's rule, so that memory grows with the logarithm of the number of games.

What is lost: thresholds that are not kept, and at the few that come late about a 32nd of a tail at most, less
and less as games follow. Nothing of the validity: a limit that holds at all thresholds holds at the kept
ones, and whoever reads it at the less favourable of two counts reads a weaker limit.
"""

from __future__ import annotations

import attrs
import numpy as np

from audits.statistics.score_pairs import PairCounts
from audits.statistics.threshold_events import EXACT, Events, choose_edges


@attrs.frozen(eq=False)
class CountBounds:
    """How many games of each world fell into the events of k thresholds, between two numbers.

    Shapes: least and most (2, 2k) int64, row b for world b; columns as in `Events`.
    """

    pairs: int
    events: Events
    least: np.ndarray
    most: np.ndarray

    @classmethod
    def exact(cls, pairs: int, thresholds: np.ndarray, below: np.ndarray) -> CountBounds:
        """Counts `below` (2, k) of scores under each threshold (k,), known exactly."""
        return cls.between(pairs, thresholds, below, below)

    @classmethod
    def between(cls, pairs: int, thresholds: np.ndarray, least: np.ndarray, most: np.ndarray) -> CountBounds:
        """Counts (2, k) of scores under each threshold (k,), at least and at most."""
        return cls(
            pairs,
            Events(thresholds),
            np.concatenate([pairs - most, least], axis=1),
            np.concatenate([pairs - least, most], axis=1),
        )


class ThresholdCounter:
    """The counts so far, in flat memory. Scores may be infinite."""

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
        edges = np.unique(np.concatenate([self._edges, *block.scores.T]))
        below = Events(edges).hits(block).world[:, len(edges) :]
        least, most, tops = self._bound_at(edges)
        least, most = least + below, most + below
        self.pairs += block.pairs
        if len(edges) > EXACT:
            mass = np.diff(most, axis=1, append=self.pairs)
            kept = choose_edges(mass, np.searchsorted(edges, self._edges))
            edges, least, most = edges[kept], least[:, kept], most[:, kept]
            tops = np.maximum.reduceat(tops, kept)
        self._edges, self._least, self._most, self._tops = edges, least, most, tops

    def counts(self) -> CountBounds:
        """The counts at all thresholds but the smallest, below which nothing lies."""
        return CountBounds.between(self.pairs, self._edges[1:], self._least[:, 1:], self._most[:, 1:])

    def _bound_at(self, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What is known of the games before at new edges, which hold the old ones: scores below each, at
        least and at most, and the tops of the bins, where a score of the coming block is an edge itself."""
        nothing, everything = np.zeros((2, 1), dtype=np.int64), np.full((2, 1), self.pairs)
        least = np.concatenate([nothing, self._least, everything], axis=1)
        most = np.concatenate([self._most, everything], axis=1)
        tops = np.concatenate([[-np.inf], self._tops])
        bin_of = np.searchsorted(self._edges, edges, side="right")
        cleared = edges > tops[bin_of]
        with np.errstate(over="ignore"):  # below the least finite number lies -inf, and that is meant
            before_next = np.append(np.nextafter(edges[1:], -np.inf), np.inf)
        top = np.minimum(tops[bin_of], before_next)
        return (
            least[:, bin_of + cleared],
            most[:, np.searchsorted(self._edges, edges, side="left")],
            np.maximum(edges, top),
        )
