"""The sizes of the blocks of a run."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from math import ceil

import attrs

EXACT_PAIRS = 8_192  # blocks that start after so many pairs count their scores in bins


@attrs.frozen
class BlockSizes:
    """The sizes of the blocks of a run: half of all pairs before, at least `first` and at most `largest`."""

    games: int
    first: int
    largest: int
    exact_pairs: int = EXACT_PAIRS

    def __len__(self) -> int:
        return self._count_before(self.games)

    def __getitem__(self, index: int) -> int:
        """The number of pairs in block `index`. Raises: IndexError."""
        if not 0 <= index < len(self):
            raise IndexError(index)
        return min(self._start(index + 1), self.games) - self._start(index)

    def __iter__(self) -> Iterator[int]:
        return map(self.__getitem__, range(len(self)))

    @property
    def exact(self) -> int:
        """The number of blocks that count scores exactly."""
        return min(self._count_before(self.exact_pairs), len(self))

    def _count_before(self, pairs: int) -> int:
        """The number of blocks that start before so many pairs."""
        starts = _growing_starts(self.first, self.largest)
        if pairs <= starts[-1]:
            return bisect_left(starts, pairs)
        return len(starts) - 1 + ceil((pairs - starts[-1]) / self.largest)

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
