"""Whether the pairs of a block depend on each other: scatter between blocks against scatter within."""

from __future__ import annotations

import numpy as np

from arena.testing.batches import BatchScatter
from audits.statistics.score_pairs import PairCounts
from audits.statistics.threshold_events import add_up

RATE = 1e-6  # the probability with which independent pairs are suspected, in the whole of an audit
_CHOOSING_BLOCKS = 32  # blocks from which events are chosen; they are kept until then
_TAILS = (0.02, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98)  # shares of the scores above a threshold


class BlockScatter:
    """Suspects blocks whose scores vary more than those of independent pairs could.

    Events are half-lines of the scores in either world, and that the score of world 1 is the larger one.
    Derivation: docs/proofs/batch_scatter.md.
    """

    def __init__(self) -> None:
        self._blocks: list[PairCounts] = []
        self._number = 0
        self._thresholds: np.ndarray | None = None
        self._scatters: list[BatchScatter] = []

    def update(self, block: PairCounts) -> None:
        """Add the next block."""
        if not block.pairs:
            return
        self._number += 1
        if self._thresholds is not None:
            self._scatters[1].update(_count_events(block, self._thresholds), block.pairs)
            return
        self._blocks.append(block)
        if len(self._blocks) == _CHOOSING_BLOCKS:
            self._thresholds, first = self._compare_blocks()
            self._scatters = [first, BatchScatter(_count_thresholds_events(self._thresholds))]
            self._blocks = []

    def start_again(self, blocks: list[PairCounts]) -> None:
        """Go on with the scores of another distinguisher; blocks: its scores of earlier blocks."""
        self._blocks, self._thresholds, self._scatters = [], None, []
        for block in blocks:
            self.update(block)

    @property
    def suspected(self) -> bool:
        """Whether the blocks so far scatter more than those of independent pairs could."""
        scatters = self._scatters
        if self._thresholds is None:
            if len(self._blocks) < 2:
                return False
            scatters = [self._compare_blocks()[1]]
        p_value = len(scatters) * min(scatter.p_value() for scatter in scatters)
        return p_value * self._number * (self._number + 1) <= RATE  # whenever one looks

    @property
    def unclear(self) -> bool:
        """Whether the blocks are few and no event varies within any of them.

        Then a random number that is common to a block may have been the same in all of them by chance.
        """
        if self._thresholds is not None or not self._blocks:
            return False
        thresholds = _choose_thresholds(self._blocks)
        counts = ((_count_events(block, thresholds), block.pairs) for block in self._blocks)
        return not any(((hits > 0) & (hits < pairs)).any() for hits, pairs in counts)

    def _compare_blocks(self) -> tuple[np.ndarray, BatchScatter]:
        thresholds = _choose_thresholds(self._blocks)
        scatter = BatchScatter(_count_thresholds_events(thresholds))
        for block in self._blocks:
            scatter.update(_count_events(block, thresholds), block.pairs)
        return thresholds, scatter


def _count_thresholds_events(thresholds: np.ndarray) -> int:
    return 2 * len(thresholds) + 1


def _choose_thresholds(blocks: list[PairCounts]) -> np.ndarray:
    """The scores above which about `_TAILS` of all scores lie; it does not matter in which block each is."""
    scores = np.concatenate([np.repeat(block.scores, block.counts, axis=0).ravel() for block in blocks])
    above_least = scores[scores > scores.min()]
    if not len(above_least):
        return above_least
    ranks = [int((1.0 - tail) * (len(scores) - 1)) for tail in _TAILS]
    quantiles = np.partition(scores, ranks)[ranks]
    return np.unique(np.maximum(quantiles, above_least.min()))


def _count_events(block: PairCounts, thresholds: np.ndarray) -> np.ndarray:
    """(events,): the number of pairs in each event."""
    below = add_up(block.by_level[:2])
    above = block.pairs - below[:, np.searchsorted(block.levels, thresholds)]
    larger = block.counts[block.which[:, 1] > block.which[:, 0]].sum()
    return np.concatenate([*above, [larger]]).astype(float)
