"""What a block of games leaves behind: how often each pair of scores occurred.

Every estimator works from these counts alone, whole numbers, so that a figure cannot depend on the order
in which games, workers or restarts delivered them.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable

import attrs
import numpy as np

from arena.errors import InvalidArgument

# Many different scores are mostly noise, which packs by a third and takes longer than the games did.
_FEW = 1_024
_PACKED, _AS_THEY_ARE = 6, 0  # levels of zlib


@attrs.frozen(eq=False)
class PairCounts:
    """The pairs of one block, counted.

    Shapes: scores (m, 2) float64, distinct and sorted, column b is the score of the game in world b;
    counts (m,) int64 of at least 1.
    """

    scores: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, world0: np.ndarray, world1: np.ndarray, times: np.ndarray | None = None) -> PairCounts:
        """Count the pairs (world0[j], world1[j]); scores may be infinite but not NaN.

        times: (n,) whole numbers, how often each pair occurred; default: once.
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
        """The same for few scores, much faster: of levels[world0[j]] and levels[world1[j]].

        Shapes: levels (k,), rising; world0, world1 (n,) whole numbers below k.
        """
        counts = np.bincount(world0 * len(levels) + world1, minlength=len(levels) ** 2)
        met = np.flatnonzero(counts)
        return cls(levels[np.stack(np.divmod(met, len(levels)), axis=1)], counts[met])

    @property
    def pairs(self) -> int:
        """The number of pairs of games."""
        return int(self.counts.sum())

    def to_bytes(self) -> bytes:
        """A compact, canonical encoding."""
        head = struct.pack("<q", len(self.counts))
        body = self.scores.astype("<f8").tobytes() + self.counts.astype("<i8").tobytes()
        return zlib.compress(head + body, level=_PACKED if len(self.counts) <= _FEW else _AS_THEY_ARE)

    @classmethod
    def from_bytes(cls, blob: bytes) -> PairCounts:
        """The inverse of `to_bytes`; raises InvalidArgument on anything else."""
        try:
            raw = zlib.decompress(blob)
            (m,) = struct.unpack_from("<q", raw)
            if len(raw) != 8 + 24 * m:
                raise ValueError("length")
            scores = np.frombuffer(raw, "<f8", 2 * m, 8).reshape(m, 2)
            counts = np.frombuffer(raw, "<i8", m, 8 + 16 * m)
        except (zlib.error, struct.error, ValueError) as error:
            raise InvalidArgument("the bytes are not a block's scores") from error
        return cls(scores.astype(np.float64), counts.astype(np.int64))


def join_blocks(blocks: Iterable[PairCounts]) -> PairCounts:
    """The blocks as one."""
    parts = list(blocks)
    world0, world1 = np.concatenate([part.scores for part in parts]).T
    return PairCounts.of(world0, world1, np.concatenate([part.counts for part in parts]))


def distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of (n, F) in lexicographic order, and (n,) where each row is among them.

    What `np.unique(rows, axis=0, return_inverse=True)` gives, several times as fast.
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
