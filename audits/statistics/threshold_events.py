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
        hits0, hits1 = block.counts @ self.holds(block.scores)
        return int(hits0), int(hits1)


EVERYTHING = Event(-math.inf, upper=True)


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
        columns = (*block.scores.T, block.scores.min(axis=1))
        upper0, upper1, upper_both = (_at_least(self.thresholds, values, block.counts) for values in columns)
        pairs, upper = block.pairs, np.stack([upper0, upper1])
        both = np.concatenate([upper_both, pairs - upper0 - upper1 + upper_both])
        return EventCounts(pairs, np.concatenate([upper, pairs - upper], axis=1), both)

    def count_cells(self, block: PairCounts, couples: np.ndarray) -> np.ndarray:
        """(C, 16): the block's pairs by 4 kind(score in world 0) + kind(score in world 1), for each couple.

        The kind of a score is 1 if it is in the first event of the couple, plus 2 if it is in the second.

        Shapes: couples (C, 2), indices of events.
        """
        inside = np.stack([self[event].holds(block.scores) for event in np.unique(couples)])
        place = np.searchsorted(np.unique(couples), couples)
        kinds = inside[place[:, 0]] + 2 * inside[place[:, 1]]  # (C, m, 2)
        code = 4 * kinds[:, :, 0] + kinds[:, :, 1] + 16 * np.arange(len(couples))[:, None]
        times = np.broadcast_to(block.counts, code.shape)
        cells = np.bincount(code.ravel(), weights=times.ravel(), minlength=16 * len(couples))
        return cells.reshape(-1, 16)

    def count_kinds(self, couples: np.ndarray, counts: np.ndarray, pairs: int) -> np.ndarray:
        """(2, C, 4): the number of games of each kind by world, from the counts (2, K) of the events."""
        first, second = counts[:, couples[:, 0]], counts[:, couples[:, 1]]
        same_direction = (couples < len(self.thresholds)).sum(axis=1) != 1
        # Half-lines of the same direction are nested; of opposite directions, they overlap if they must.
        both = np.where(same_direction, np.minimum(first, second), np.maximum(first + second - pairs, 0))
        return np.stack([pairs - first - second + both, first - both, second - both, both], axis=2)


def _at_least(thresholds: np.ndarray, values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The number of values at or above each threshold, counted with multiplicity."""
    order = np.argsort(values, kind="stable")
    below = np.concatenate([[0], np.cumsum(counts[order])])
    return np.asarray(below[-1] - below[np.searchsorted(values[order], thresholds, side="left")])
