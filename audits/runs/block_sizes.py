"""The sizes of the blocks of a run: small at first, so that it can stop early, then as large as is fast."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from math import ceil

import attrs

from audits.statistics.betting import LATE_START

MAX_BLOCK_PAIRS = (
    8_192  # the arrays of a batch of so many games, those of one world, fit into a processor's cache
)
EXACT_PAIRS = 8_192  # blocks that start after so many pairs count their scores in bins


def first_block_pairs(games: int, *, until_refuted: bool) -> int:
    """The usual size of the first block of a run of `games` pairs.

    Nothing is bet on the first block, and bets chosen from few games lose a little. So it is small only where
    the run may stop early.
    """
    return 16 if until_refuted else max(1, min(MAX_BLOCK_PAIRS, ceil(games / 10)))


def keeps_half(games: int, *, until_refuted: bool) -> bool:
    """Whether the test keeps half of its wealth at first, as blocks are small and many games may follow."""
    return until_refuted and games > 2 * LATE_START


@attrs.frozen
class BlockSizes:
    """The sizes of the blocks of a run of `games` pairs.

    Each block holds half as many pairs as all before it, but at least `first` and at most `largest`.
    """

    games: int
    first: int
    largest: int

    def __len__(self) -> int:
        starts = _growing_starts(self.first, self.largest)
        if self.games <= starts[-1]:
            return bisect_left(starts, self.games)
        return len(starts) - 1 + ceil((self.games - starts[-1]) / self.largest)

    def __iter__(self) -> Iterator[int]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, index: int) -> int:
        """The number of pairs in block `index`. Raises: IndexError."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        return min(self._start(index + 1), self.games) - self._start(index)

    @property
    def exact(self) -> int:
        """The number of blocks that count scores exactly."""
        starts = _growing_starts(self.first, self.largest)
        if starts[-1] >= EXACT_PAIRS:
            blocks = bisect_left(starts, EXACT_PAIRS)
        else:
            blocks = len(starts) - 1 + ceil((EXACT_PAIRS - starts[-1]) / self.largest)
        return min(blocks, len(self))

    def _start(self, index: int) -> int:
        """The number of pairs before block `index`."""
        starts = _growing_starts(self.first, self.largest)
        extra = index - (len(starts) - 1)
        return starts[-1] + extra * self.largest if extra > 0 else starts[index]


@lru_cache(maxsize=256)
def _growing_starts(first: int, largest: int) -> list[int]:
    """The numbers of pairs before each block, up to the first from which on all blocks are of one size."""
    starts, size = [0], 0
    while size < largest:
        size = min(max(starts[-1] // 2, first), largest)
        starts.append(starts[-1] + size)
    return starts
