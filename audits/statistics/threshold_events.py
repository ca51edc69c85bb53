"""Events of the form `score >= t` and `score < t`, on which tests rest, and counts of games in them."""

from __future__ import annotations

import math

import attrs
import numpy as np

from audits.statistics.score_pairs import PairCounts


@attrs.frozen
class Event:
    """The event that the score is at or above `threshold` (upper=True), or below it."""

    threshold: float
    upper: bool

    def __str__(self) -> str:
        return f"score {'>=' if self.upper else '<'} {self.threshold:g}"

    def holds(self, scores: np.ndarray) -> np.ndarray:
        """Which of the scores are in the event; any shape."""
        return (scores >= self.threshold) == self.upper

    def count(self, block: PairCounts) -> tuple[int, int]:
        """The number of games of the block in the event, in world 0 and in world 1."""
        hits0, hits1 = block.by_level[:2] @ self.holds(block.levels)
        return int(hits0), int(hits1)


EVERYTHING = Event(-math.inf, upper=True)


def add_up(by_level: np.ndarray) -> np.ndarray:
    """(m, k + 1): the sums of the first 0, 1, ..., k columns of (m, k)."""
    below = np.zeros((len(by_level), by_level.shape[1] + 1), by_level.dtype)
    np.cumsum(by_level, axis=1, out=below[:, 1:])
    return below


@attrs.frozen(eq=False)
class EventCounts:
    """The number of pairs of a block in each of K events.

    Shapes: world (2, K) int64, row b counts the games of world b; both (K,) int64, pairs with both games in
        the event.
    """

    pairs: int
    world: np.ndarray
    both: np.ndarray


@attrs.frozen(eq=False)
class Events:
    """The 2k events of k thresholds: `score >= t` for each threshold, then `score < t` for each.

    Shapes: thresholds (k,) float64.
    """

    thresholds: np.ndarray

    def __len__(self) -> int:
        return 2 * len(self.thresholds)

    def __getitem__(self, index: int) -> Event:
        k = len(self.thresholds)
        return Event(float(self.thresholds[index % k]), index < k)

    def count(self, block: PairCounts) -> EventCounts:
        """Count the block's games in every event."""
        below = add_up(block.by_level)
        pairs = block.pairs
        *upper, upper_both = pairs - below[:, np.searchsorted(block.levels, self.thresholds)]
        both = np.concatenate([upper_both, pairs - upper[0] - upper[1] + upper_both])
        return EventCounts(pairs, np.concatenate([upper, pairs - np.array(upper)], axis=1), both)

    def count_cells(self, block: PairCounts, couples: np.ndarray) -> np.ndarray:
        """(C, 16): the block's pairs by 4 kind(score in world 0) + kind(score in world 1), for each couple.

        The kind of a score is 1 if it is in the first event of the couple, plus 2 if it is in the second.

        Shapes: couples (C, 2), indices of events.
        """
        thresholds, place = np.unique(self.thresholds[couples % len(self.thresholds)], return_inverse=True)
        place = place.reshape(couples.shape)
        # The pairs by the bins of their scores between these thresholds, then added up below each threshold.
        size = len(thresholds) + 1
        bins = np.searchsorted(thresholds, block.levels, side="right")[block.which]
        table = np.bincount(bins @ np.array([size, 1]), block.counts, minlength=size**2).reshape(size, size)
        below = np.zeros((size + 1, size + 1))
        below[1:, 1:] = table.cumsum(axis=0).cumsum(axis=1)
        # Each score of a pair is in one of three bins of the couple's two thresholds.
        low, high = np.sort(place, axis=1).T + 1
        ends = np.stack([np.zeros_like(low), low, high, np.full_like(low, size)], axis=1)
        cells = np.diff(np.diff(below[ends[:, :, None], ends[:, None, :]], axis=1), axis=2)  # (C, 3, 3)
        upper = couples < len(self.thresholds)
        reached = place[:, :, None] < ends[:, None, :-1]  # (C, 2, 3)
        kind = ((reached == upper[:, :, None]) * np.array([1, 2])[:, None]).sum(axis=1)  # (C, 3)
        code = 4 * kind[:, :, None] + kind[:, None, :] + 16 * np.arange(len(couples))[:, None, None]
        return np.bincount(code.ravel(), cells.ravel(), minlength=16 * len(couples)).reshape(-1, 16)

    def count_kinds(self, couples: np.ndarray, counts: np.ndarray, pairs: int) -> np.ndarray:
        """(2, C, 4): the number of games of each kind by world, from the counts (2, K) of the events."""
        first, second = counts[:, couples[:, 0]], counts[:, couples[:, 1]]
        same_direction = (couples < len(self.thresholds)).sum(axis=1) != 1
        # Half-lines of the same direction are nested; of opposite directions, they overlap if they must.
        both = np.where(same_direction, np.minimum(first, second), np.maximum(first + second - pairs, 0))
        return np.stack([pairs - first - second + both, first - both, second - both, both], axis=2)
