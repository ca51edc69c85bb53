"""Summary of a block of games: how often each pair of scores occurred.

Every estimator uses only these integer counts, so no figure depends on the order in which games, workers or
restarts delivered them.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator

import attrs
import numpy as np

from arena.errors import InvalidArgument

# Many different scores are mostly noise: compressing them saves a third and takes longer than the games.
_MAX_COMPRESSED = 1_024  # distinct pairs
_COMPRESSED, _UNCOMPRESSED = 6, 0  # levels of zlib
_LARGEST_INTEGER = 2.0**53  # up to which doubles hold every integer


@attrs.frozen(eq=False)
class PairCounts:
    """The score pairs of one block, counted.

    Shapes: scores (m, 2) float64, distinct and sorted lexicographically, column b is the score of the game in
        world b; counts (m,) int64, at least 1.
    """

    scores: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, world0: np.ndarray, world1: np.ndarray, times: np.ndarray | None = None) -> PairCounts:
        """Count the pairs (world0[j], world1[j]). Scores may be infinite but not NaN.

        times: (n,) integers, how often each pair occurred; default: once. Raises: InvalidArgument.
        """
        pairs = np.column_stack([world0, world1]).astype(np.float64)
        if np.isnan(pairs).any():
            raise InvalidArgument("a score must not be NaN")
        pairs += 0.0  # turns -0.0 into 0.0, which compares equal but has other bytes
        scores, place = distinct(pairs)
        counts = np.zeros(len(scores), np.int64)
        np.add.at(counts, place, 1 if times is None else times)
        return cls(scores, counts)

    @classmethod
    def of_levels(cls, levels: np.ndarray, world0: np.ndarray, world1: np.ndarray) -> PairCounts:
        """Count the pairs (levels[world0[j]], levels[world1[j]]); much faster than `of` for few levels.

        Shapes: levels (k,), increasing; world0, world1 (n,), integers below k.
        """
        counts = np.bincount(world0 * len(levels) + world1, minlength=len(levels) ** 2)
        occurring = np.flatnonzero(counts)
        pairs = np.stack(np.divmod(occurring, len(levels)), axis=1)
        return cls(levels[pairs], counts[occurring])

    @property
    def pairs(self) -> int:
        """The number of pairs of games."""
        return int(self.counts.sum())

    def to_bytes(self) -> bytes:
        """A compact, canonical encoding."""
        head = struct.pack("<q", len(self.counts))
        body = self.scores.astype("<f8").tobytes() + self.counts.astype("<i8").tobytes()
        return zlib.compress(head + body, level=compression_level(len(self.counts)))

    @classmethod
    def from_bytes(cls, blob: bytes) -> PairCounts:
        """The inverse of `to_bytes`. Raises InvalidArgument for anything else."""
        try:
            raw = zlib.decompress(blob)
            (m,) = struct.unpack_from("<q", raw)
            if len(raw) != 8 + 24 * m:
                raise ValueError("length")
            scores = np.frombuffer(raw, "<f8", 2 * m, 8).reshape(m, 2)
            counts = np.frombuffer(raw, "<i8", m, 8 + 16 * m)
        except (zlib.error, struct.error, ValueError) as error:
            raise InvalidArgument("the bytes do not encode the scores of a block") from error
        return cls(scores.astype(np.float64), counts.astype(np.int64))


def compression_level(rows: int) -> int:
    """The level of zlib for so many distinct rows."""
    return _COMPRESSED if rows <= _MAX_COMPRESSED else _UNCOMPRESSED


def join_blocks(blocks: Iterable[PairCounts]) -> PairCounts:
    """All blocks as one."""
    parts = list(blocks)
    world0, world1 = np.concatenate([part.scores for part in parts]).T
    return PairCounts.of(world0, world1, np.concatenate([part.counts for part in parts]))


def distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of (n, F) in lexicographic order, and the index (n,) of each row among them.

    Equivalent to `np.unique(rows, axis=0, return_inverse=True)` and many times as fast: columns of integers
    are sorted together, and a column is sorted only where the columns before it agree.
    """
    if not (rows.shape[1] and len(rows)):
        return rows[:1], np.zeros(len(rows), np.int64)
    order, first = np.arange(len(rows)), np.arange(len(rows)) == 0
    for key in _sorting_keys(rows):
        tied = np.flatnonzero(~(first & np.append(first[1:], True)))
        if not len(tied):
            break
        group = np.cumsum(first)[tied]
        values = key[order[tied]]
        ordered = np.lexsort((values, group)) if group[-1] > 1 else np.argsort(values, kind="stable")
        order[tied] = order[tied][ordered]
        values = key[order[tied]]
        first[tied[1:]] |= values[1:] != values[:-1]
    place = np.empty(len(rows), np.int64)
    place[order] = np.cumsum(first) - 1
    return rows[order[first]], place


def _sorting_keys(rows: np.ndarray) -> Iterator[np.ndarray]:
    """Arrays (n,) that order the rows (n, F) as their columns do, taken together where these are integers."""
    packed, room = np.zeros(len(rows), np.int64), 1
    for column in rows.T:
        low, high = float(column.min()), float(column.max())
        span = high - low + 1
        is_integer = max(-low, high) < _LARGEST_INTEGER and bool((np.floor(column) == column).all())
        if room > 1 and not (is_integer and room * span < _LARGEST_INTEGER):
            yield packed
            packed, room = np.zeros(len(rows), np.int64), 1
        if is_integer and span < _LARGEST_INTEGER:
            packed, room = packed * int(span) + (column - low).astype(np.int64), room * int(span)
        else:
            yield np.ascontiguousarray(column)
    if room > 1:
        yield packed
