"""Distinguishers: the events of the score on which tests rest, and the histogram from which they are chosen.

An event is a half-line of scores: those at or above a threshold, or those below it. A test may choose its
event from blocks it has seen and use it on blocks that follow; the histogram is what it remembers of the
former.
"""

from __future__ import annotations

import math

import attrs
import numpy as np

from audits.statistics.score_pairs import PairCounts

CANDIDATES = 128
EXACT = 256
_WIDTH = 1 / 32


@attrs.frozen
class Event:
    """The scores at or above `threshold` (`upper`), or those below it."""

    threshold: float
    upper: bool

    def __str__(self) -> str:
        return f"score {'>=' if self.upper else '<'} {self.threshold:g}"

    def holds(self, scores: np.ndarray) -> np.ndarray:
        """Which of the scores are in it; any shape."""
        return (scores >= self.threshold) == self.upper

    def hits(self, block: PairCounts) -> tuple[int, int]:
        """How many games of the block are in it, of world 0 and of world 1."""
        hits0, hits1 = block.counts @ self.holds(block.scores)
        return int(hits0), int(hits1)


EVERYTHING = Event(-math.inf, upper=True)


@attrs.frozen(eq=False)
class EventCounts:
    """How many pairs of a block fall into each of K events.

    Shapes: world (2, K) int64, row b counts the games of world b; both (K,) int64, pairs with both games in
    the event.
    """

    pairs: int
    world: np.ndarray
    both: np.ndarray


@attrs.frozen(eq=False)
class Events:
    """The 2k events of k thresholds: `score >= threshold` for each, then `score < threshold` for each.

    Shapes: thresholds (k,) float64.
    """

    thresholds: np.ndarray

    def __len__(self) -> int:
        return 2 * len(self.thresholds)

    def __getitem__(self, index: int) -> Event:
        k = len(self.thresholds)
        return Event(float(self.thresholds[index % k]), index < k)

    def hits(self, block: PairCounts) -> EventCounts:
        """Count the block's pairs in every event."""
        columns = (*block.scores.T, block.scores.min(axis=1))
        upper0, upper1, upper_both = (_at_least(self.thresholds, values, block.counts) for values in columns)
        pairs = block.pairs
        upper = np.stack([upper0, upper1])
        return EventCounts(
            pairs,
            np.concatenate([upper, pairs - upper], axis=1),
            np.concatenate([upper_both, pairs - upper0 - upper1 + upper_both]),
        )

    def cells(self, block: PairCounts, couples: np.ndarray) -> np.ndarray:
        """(C, 16): for couples (C, 2) of events, the block's pairs by 4 kind(world 0) + kind(world 1).

        The kind of a score is 1 if it is in the first event of the couple, plus 2 if it is in the second.
        """
        inside = np.stack([self[event].holds(block.scores) for event in np.unique(couples)])
        place = np.searchsorted(np.unique(couples), couples)
        kinds = inside[place[:, 0]] + 2 * inside[place[:, 1]]  # (C, m, 2)
        code = 4 * kinds[:, :, 0] + kinds[:, :, 1] + 16 * np.arange(len(couples))[:, None]
        times = np.broadcast_to(block.counts, code.shape)
        found = np.bincount(code.ravel(), weights=times.ravel(), minlength=16 * len(couples))
        return found.reshape(-1, 16)

    def kinds(self, couples: np.ndarray, counts: np.ndarray, pairs: int) -> np.ndarray:
        """(2, C, 4): in each world, the games of each kind, from the counts (2, K) of the events."""
        first, second = counts[:, couples[:, 0]], counts[:, couples[:, 1]]
        alike = (couples < len(self.thresholds)).sum(axis=1) != 1
        # Half-lines of one direction lie in each other; of two directions, they overlap if they must.
        both = np.where(alike, np.minimum(first, second), np.maximum(first + second - pairs, 0))
        return np.stack([pairs - first - second + both, first - both, second - both, both], axis=2)


class ScoreHistogram:
    """The scores of both worlds so far, in memory that grows with the logarithm of their number.

    Bin i holds the scores from edge i up to edge i + 1. While few distinct scores occur, every score is an
    edge and the counts are exact. After that a bin is as wide as its place allows. Its *weight* is the
    share of its scores among all scores at least as far out, summed over both worlds, so that bins are
    narrow relative to what lies beyond them, in every tail. The scores of a block become edges only where a
    bin has gathered too much weight, and an edge goes only where its two bins are light together. An edge
    that stays keeps exact counts from then on; a new one takes what its bin held before to lie below it.
    Averaging that error out, by moving edges with every block, would let it add up instead.
    """

    def __init__(self) -> None:
        self._edges = np.empty(0)
        self._mass = np.empty((2, 0), dtype=np.int64)

    def __len__(self) -> int:
        """The number of bins."""
        return len(self._edges)

    @property
    def pairs(self) -> int:
        """The number of pairs seen."""
        return int(self._mass[0].sum())

    def add(self, block: PairCounts) -> None:
        """Count the scores of a block."""
        values = np.concatenate([self._edges, *block.scores.T])
        edges, place = np.unique(values, return_inverse=True)
        old, new0, new1 = np.split(place, [len(self), len(self) + len(block.counts)])
        mass = np.zeros((2, len(edges)), dtype=np.int64)
        mass[:, old] = self._mass
        np.add.at(mass[0], new0, block.counts)
        np.add.at(mass[1], new1, block.counts)
        if len(edges) > EXACT:
            kept = choose_edges(mass, old)
            edges, mass = edges[kept], np.add.reduceat(mass, kept, axis=1)
        self._edges, self._mass = edges, mass

    def events(self, *, candidates: int = CANDIDATES) -> tuple[Events, np.ndarray]:
        """The events of at most `candidates` thresholds, and how many games of each world were in them.

        None if all scores are equal. Shapes: the counts are (2, 2k) int64.
        """
        kept = np.arange(1, len(self))
        if len(kept) > candidates:
            kept = _choose_landmarks(self._mass, candidates)
        below = np.cumsum(self._mass, axis=1)[:, kept - 1]
        return Events(self._edges[kept]), np.concatenate([self.pairs - below, below], axis=1)

    def expected_counts(self, pairs: int) -> tuple[Events, np.ndarray]:
        """The events, and how many games of each world to expect in them if `pairs` more are like those seen.

        Half a game is added to each count, so that an event never seen in one world is not taken for
        impossible. Shapes: as for `events`.
        """
        events, counts = self.events()
        return events, pairs * (counts + 0.5) / (self.pairs + 1)


def _at_least(thresholds: np.ndarray, values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """For each threshold, the number of values at or above it, counted with multiplicity."""
    order = np.argsort(values, kind="stable")
    below = np.concatenate([[0], np.cumsum(counts[order])])
    return np.asarray(below[-1] - below[np.searchsorted(values[order], thresholds, side="left")])


def choose_edges(mass: np.ndarray, old: np.ndarray) -> np.ndarray:
    """Indices of the bins that stay or come to be; `old` are the indices of those that were."""
    below = np.cumsum(mass, axis=1)
    above = below[:, -1:] - below + mass
    weight = (mass / (np.minimum(above, below) + 1)).sum(axis=0)
    so_far = np.cumsum(weight)
    kept = np.zeros(len(weight), dtype=bool)
    kept[old] = True
    gathered = so_far - np.maximum.accumulate(np.where(kept, so_far, 0.0))
    kept |= np.diff(np.floor(gathered / _WIDTH), prepend=0.0) > 0
    kept[0] = True
    bins = np.flatnonzero(kept)
    weights = np.add.reduceat(weight, bins)
    light = np.concatenate([[False], weights[:-1] + weights[1:] < _WIDTH])
    light[::2] = False  # so that no two neighbours go at once
    return bins[~light]


def _choose_landmarks(mass: np.ndarray, limit: int) -> np.ndarray:
    """Indices (at most `limit`, sorted, never 0) of the edges that best cut the histogram in two.

    For each world: those that cut off 1, 2, 4, ... scores, or some finer geometric sequence, from either
    end, up to all of them; and edges evenly spaced in rank.
    """
    each = limit // (3 * len(mass))
    last = mass.shape[1] - 1
    found = []
    for row in mass:
        total = int(row.sum())
        below = np.cumsum(row)
        above = total - below + row
        tail = np.unique(np.geomspace(1, total, each).round())
        even = np.linspace(0, total, each + 2)[1:-1]
        found.append(np.searchsorted(below, np.concatenate([tail, even]), side="left") + 1)
        found.append(last - np.searchsorted(above[::-1], tail, side="left"))
    marks = np.unique(np.concatenate(found))
    return np.asarray(marks[(marks >= 1) & (marks <= last)])
