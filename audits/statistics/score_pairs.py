"""How often each pair of scores occurred in a block of games, and events of scores in it.

Estimators use only these counts, so no figure depends on the order in which games were delivered.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterable
from functools import cached_property

import attrs
import numpy as np

from arena.errors import InvalidArgument

_COMPRESSED, _UNCOMPRESSED = 6, 0  # levels of zlib
_MAX_UNPACKED = 1 << 20  # bytes of a compressed block; larger ones are not compressed
_MAX_TABLE = 1 << 16  # cells of a table of all pairs of levels
_HEAD = struct.Struct("<qqqq")
_MAGIC = b"pairs"
_MAX_PAIRS = 2.0**62  # whose number is an int64, however it is rounded


@attrs.frozen(eq=False, slots=False)
class PairCounts:
    """The score pairs of one block, counted. Shapes: levels (k,), the scores that occur, increasing; which
    (m, 2), distinct, in order, column b is the level of the game in world b; counts (m,), at least 1."""

    levels: np.ndarray
    which: np.ndarray
    counts: np.ndarray

    @property
    def only_outcome(self) -> bytes:
        """The score of all games; empty if they do not all have the same."""
        first = self.which[0, 0] if len(self.which) else -1
        return self.levels[first].tobytes() if first >= 0 and (self.which == first).all() else b""

    @classmethod
    def of(cls, world0: np.ndarray, world1: np.ndarray, times: np.ndarray | None = None) -> PairCounts:
        """Count the pairs (world0[j], world1[j]). Scores may be infinite but not NaN.
        times: (n,), how often each pair occurred; default: once. Raises: InvalidArgument."""
        scores = check_scores(np.concatenate([world0, world1]))
        levels, place = np.unique(scores, return_inverse=True)
        return cls.of_levels(levels, place[: len(world0)], place[len(world0) :], times)

    @classmethod
    def of_levels(
        cls, levels: np.ndarray, world0: np.ndarray, world1: np.ndarray, times: np.ndarray | None = None
    ) -> PairCounts:
        """Count the pairs (levels[world0[j]], levels[world1[j]]); levels (k,) increase."""
        size = len(levels)
        codes = world0 * size + world1
        if size**2 <= max(_MAX_TABLE, len(codes)):
            table = np.bincount(codes, times, minlength=size**2)
            pairs = np.flatnonzero(table)
            counts = table[pairs].astype(np.int64)
        elif times is None:
            ordered = np.sort(codes)
            first = np.flatnonzero(np.diff(ordered, prepend=-1))
            pairs, counts = ordered[first], np.diff(first, append=len(ordered))
        else:
            pairs, place = np.unique(codes, return_inverse=True)
            counts = np.bincount(place, times, minlength=len(pairs)).astype(np.int64)
        which = np.stack(np.divmod(pairs, max(size, 1)), axis=1)
        occurs = np.zeros(size, bool)
        occurs[which] = True
        if not occurs.all():
            levels, which = levels[occurs], (np.cumsum(occurs) - 1)[which]
        return cls(levels, which, counts)

    @property
    def pairs(self) -> int:
        return int(self.counts.sum())

    @property
    def scores(self) -> np.ndarray:
        """(m, 2): the distinct pairs, column b is the score of the game in world b."""
        return np.asarray(self.levels[self.which])

    @cached_property
    def by_level(self) -> np.ndarray:
        """(3, k) int64: games of world 0 and of world 1, and pairs whose lower score is this, by level."""
        columns = (*self.which.T, self.which.min(axis=1))
        size = len(self.levels)
        return np.stack([np.bincount(c, self.counts, minlength=size) for c in columns]).astype(np.int64)

    def to_bytes(self) -> bytes:
        """A compact, canonical encoding: the gaps between the codes of pairs take a byte or two each."""
        size = len(self.levels)
        gaps = np.diff(self.which[:, 0] * size + self.which[:, 1], prepend=-1) - 1
        largest = [int(array.max(initial=0)) for array in (self.counts, gaps)]
        types = [np.dtype("<f8"), *map(smallest_type, largest)]
        arrays = zip((self.levels, self.counts, gaps), types, strict=True)
        head = _HEAD.pack(size, len(gaps), *largest)
        raw = head + b"".join(_split_bytes(array.astype(kind)) for array, kind in arrays)
        level = _COMPRESSED if len(raw) <= _MAX_UNPACKED else _UNCOMPRESSED
        packer = zlib.compressobj(level, strategy=zlib.Z_RLE)  # small as any, in a tenth of the time
        return _MAGIC + packer.compress(raw) + packer.flush()

    @classmethod
    def from_bytes(cls, blob: bytes) -> PairCounts:
        """The inverse of `to_bytes`, checked, whoever wrote the bytes. Raises: InvalidArgument."""
        try:
            if not blob.startswith(_MAGIC):
                raise ValueError("it does not begin as a block")
            unpacker = Unpacker(blob.removeprefix(_MAGIC), _MAX_UNPACKED)
            k, m, *largest = _HEAD.unpack(unpacker.read(_HEAD.size))
            if min(k, m, *largest) < 0:
                raise ValueError("a number of scores is negative")
            types = [np.dtype("<f8"), *map(smallest_type, largest)]
            sizes = [n * kind.itemsize for n, kind in zip((k, m, m), types, strict=True)]
            raw, ends = unpacker.read_last(sum(sizes)), np.cumsum(sizes)
            parts = [raw[end - size : end] for size, end in zip(sizes, ends, strict=True)]
            levels, counts, gaps = map(_join_bytes, parts, types)
            for name, array, most in zip(("count", "gap"), (counts, gaps), largest, strict=True):
                if array.max(initial=0) != most:
                    raise ValueError(f"the largest {name} is another")
            if gaps.sum(dtype=float) + m > float(k) ** 2:
                raise ValueError("an index is out of range")
            which = np.stack(np.divmod(np.cumsum(gaps.astype(np.int64) + 1) - 1, max(k, 1)), axis=1)
            block = cls(levels.astype(np.float64), which, counts.astype(np.int64))
            block.check()
        except (zlib.error, struct.error, ValueError) as error:
            raise InvalidArgument(f"the bytes do not encode the scores of a block ({error})") from error
        return block

    def check(self) -> None:
        """Raises: ValueError if the arrays are not what `of` makes of any scores."""
        levels, which, k = self.levels, self.which, len(self.levels)
        if np.isnan(levels).any() or not (levels[1:] > levels[:-1]).all():
            raise ValueError("its scores do not increase")
        check_counts(self.counts)
        check_indices(which, k)
        codes = which[:, 0] * k + which[:, 1]
        if not (codes[1:] > codes[:-1]).all():
            raise ValueError("its pairs are not in order")


class Unpacker:
    """Reads what zlib packed, and no more of it than is asked for: a few bytes may unpack to gigabytes.
    largest: bytes that may be read, unless more are given. Raises: ValueError, zlib.error."""

    def __init__(self, packed: bytes, largest: int) -> None:
        self._rest, self._limit = packed, max(largest, len(packed))
        self._zlib = zlib.decompressobj()

    def read(self, size: int) -> bytes:
        """The next `size` bytes."""
        if not 0 <= size <= self._limit:
            raise ValueError("it says that it is larger than any block")
        read = self._zlib.decompress(self._rest, size) if size else b""
        self._rest = self._zlib.unconsumed_tail if size else self._rest
        if len(read) != size:
            raise ValueError("it is too short")
        return read

    def read_last(self, size: int) -> bytes:
        """The last `size` bytes."""
        read = self.read(size)
        if self._zlib.decompress(self._rest, 1) or not self._zlib.eof or self._zlib.unused_data:
            raise ValueError("it is too long")
        return read


def check_counts(counts: np.ndarray) -> None:
    """Raises: ValueError if one of the counts (m,) of pairs is less than 1, or their sum is no int64."""
    if (counts < 1).any() or counts.sum(dtype=float) >= _MAX_PAIRS:
        raise ValueError("a count of pairs is less than 1 or too large")


def check_indices(which: np.ndarray, size: int) -> None:
    """Raises: ValueError unless the indices, an array of any shape, are those of `size` items, all used."""
    if len(which) and not 0 <= which.min() <= which.max() < size:
        raise ValueError("an index is out of range")
    used = np.zeros(size, bool)
    used[which] = True
    if not used.all():
        raise ValueError("an item occurs in no pair")


def check_scores(scores: np.ndarray) -> np.ndarray:
    """The scores as float64, with 0.0 for -0.0, which is equal. Raises: InvalidArgument if one is NaN."""
    if np.isnan(scores).any():
        raise InvalidArgument("a score must not be NaN")
    return np.asarray(scores, np.float64) + 0.0


def smallest_type(largest: int) -> np.dtype:
    """The smallest unsigned type, little-endian, that holds this number."""
    return np.min_scalar_type(largest).newbyteorder("<")


def _split_bytes(numbers: np.ndarray) -> bytes:
    """The first bytes of all numbers (n,), then the second ones, and so on: equal ones are together."""
    return numbers.view(np.uint8).reshape(len(numbers), numbers.itemsize).T.tobytes()


def _join_bytes(raw: bytes, kind: np.dtype) -> np.ndarray:
    """The inverse of `_split_bytes` for numbers of this type."""
    return np.frombuffer(raw, np.uint8).reshape(kind.itemsize, -1).T.copy().view(kind).reshape(-1)


def join_blocks(blocks: Iterable[PairCounts]) -> PairCounts:
    """All blocks as one."""
    parts = list(blocks)
    levels = np.unique(np.concatenate([part.levels for part in parts]))
    which = np.concatenate([np.searchsorted(levels, part.levels)[part.which] for part in parts])
    return PairCounts.of_levels(
        levels, which[:, 0], which[:, 1], np.concatenate([part.counts for part in parts])
    )


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
    world (2, K), row b counts the games of world b; both (K,), pairs with both games in the event."""

    pairs: int
    world: np.ndarray
    both: np.ndarray


@attrs.frozen(eq=False)
class Events:
    """The 2k events of k thresholds: `score >= t` for each threshold, then `score < t` for each."""

    thresholds: np.ndarray

    def __len__(self) -> int:
        return 2 * len(self.thresholds)

    def __getitem__(self, index: int) -> Event:
        k = len(self.thresholds)
        return Event(float(self.thresholds[index % k]), index < k)

    def count(self, block: PairCounts) -> EventCounts:
        below = add_up(block.by_level)
        pairs = block.pairs
        *upper, upper_both = pairs - below[:, np.searchsorted(block.levels, self.thresholds)]
        both = np.concatenate([upper_both, pairs - upper[0] - upper[1] + upper_both])
        return EventCounts(pairs, np.concatenate([upper, pairs - np.array(upper)], axis=1), both)

    def count_cells(self, block: PairCounts, couples: np.ndarray) -> np.ndarray:
        """(C, 16): the block's pairs by 4 kind(score in world 0) + kind(score in world 1), for each couple.
        The kind of a score is 1 if it is in the first event of the couple, plus 2 if in the second."""
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
