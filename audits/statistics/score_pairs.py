"""Summary of a block of games: how often each pair of scores occurred.

Every estimator uses only these integer counts, so no figure depends on the order in which games, workers or
restarts delivered them.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable

import attrs
import numpy as np

from arena.errors import InvalidArgument

# Many different scores are mostly noise: compressing them saves a third and takes longer than the games.
_MAX_COMPRESSED = 1_024  # distinct pairs
_COMPRESSED, _UNCOMPRESSED = 6, 0  # levels of zlib


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
        level = _COMPRESSED if len(self.counts) <= _MAX_COMPRESSED else _UNCOMPRESSED
        return zlib.compress(head + body, level=level)

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


def join_blocks(blocks: Iterable[PairCounts]) -> PairCounts:
    """All blocks as one."""
    parts = list(blocks)
    world0, world1 = np.concatenate([part.scores for part in parts]).T
    return PairCounts.of(world0, world1, np.concatenate([part.counts for part in parts]))


def distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of (n, F) in lexicographic order, and the index (n,) of each row among them.

    Equivalent to `np.unique(rows, axis=0, return_inverse=True)` and several times as fast.
    """
    if not rows.shape[1]:
        return rows[:1], np.zeros(len(rows), np.int64)
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    first = np.ones(len(rows), bool)
    first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    place = np.empty(len(rows), np.int64)
    place[order] = np.cumsum(first) - 1
    return ordered[first], place
