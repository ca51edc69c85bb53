"""What a block of games leaves behind: how often each pair of scores occurred.

Every estimator works from these counts alone, whole numbers, so that a figure cannot depend on the order
in which games, workers or restarts delivered them.
"""

from __future__ import annotations

import struct
import zlib

import attrs
import numpy as np

from arena.errors import InvalidArgument


@attrs.frozen(eq=False)
class PairCounts:
    """The pairs of one block, counted.

    Shapes: scores (m, 2) float64, distinct and sorted, column b is the score of the game in world b;
    counts (m,) int64 of at least 1.
    """

    scores: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(cls, world0: np.ndarray, world1: np.ndarray) -> PairCounts:
        """Count the pairs (world0[j], world1[j]); scores may be infinite but not NaN."""
        pairs = np.column_stack([world0, world1]).astype(np.float64)
        if np.isnan(pairs).any():
            raise InvalidArgument("a score must not be NaN")
        pairs += 0.0  # turns -0.0 into 0.0, which compares equal but has other bytes
        scores, counts = np.unique(pairs, axis=0, return_counts=True)
        return cls(scores, counts.astype(np.int64))

    @property
    def pairs(self) -> int:
        """The number of pairs of games."""
        return int(self.counts.sum())

    def to_bytes(self) -> bytes:
        """A compact, canonical encoding."""
        head = struct.pack("<q", len(self.counts))
        body = self.scores.astype("<f8").tobytes() + self.counts.astype("<i8").tobytes()
        return zlib.compress(head + body, level=6)

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
