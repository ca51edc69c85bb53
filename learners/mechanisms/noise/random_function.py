"""A random function of points: numbers that are drawn once for every point, whenever it is asked about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)  # added to the key after every step
_STEPS = 10
_WORD, _LOW = np.uint64(32), np.uint64(2**32 - 1)
_DIGITS = 52  # of a number in (0, 1), so that its middle of a cell is exact


class RandomFunction:
    """Two uniform numbers for every point of each of n games: equal points of a game have equal numbers.

    Philox4x32-10 of Salmon, Moraes, Dror, Shaw, Parallel Random Numbers: As Easy as 1, 2, 3 (2011), with a
    random key for each game and the bits of the point as counter. The numbers of different points, and of
    different games, are as independent as those of other generators, and need no memory.
    """

    def __init__(self, games: int, rng: np.random.Generator) -> None:
        self._key = tuple(rng.integers(0, 2**32, (2, games, 1), dtype=np.uint64))

    def draw(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Two numbers in (0, 1), each (n, k), for points (n, k) or vectors (n, k, d)."""
        bits = point_bits(points)
        words: tuple[np.ndarray, ...] = (np.zeros((), np.uint64),) * 4
        for coordinate in np.moveaxis(bits, -1, 0):  # the words of one coordinate begin those of the next
            words = philox((coordinate & _LOW, coordinate >> _WORD, words[0], words[1]), self._key)
        return _uniform(words[0], words[1]), _uniform(words[2], words[3])


def point_bits(points: np.ndarray) -> np.ndarray:
    """(n, k, d) uint64: the bits of points (n, k) or (n, k, d) as float64, in which 0 and −0 are equal."""
    values = np.asarray(points, np.float64) + 0.0
    return (values if values.ndim == 3 else values[..., None]).view(np.uint64)


def philox(counter: Sequence[np.ndarray], key: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Four words for four words of a counter and two of a key, all of 32 bits in arrays of uint64."""
    first, second, third, fourth = counter
    key_0, key_1 = key
    for _ in range(_STEPS):
        left, right = _MULTIPLIERS[0] * first, _MULTIPLIERS[1] * third
        first, second, third, fourth = (
            (right >> _WORD) ^ second ^ key_0,
            right & _LOW,
            (left >> _WORD) ^ fourth ^ key_1,
            left & _LOW,
        )
        key_0, key_1 = (key_0 + _WEYL[0]) & _LOW, (key_1 + _WEYL[1]) & _LOW
    return first, second, third, fourth


def _uniform(high: np.ndarray, low: np.ndarray) -> np.ndarray:
    digits = (high << np.uint64(_DIGITS - 32)) | (low >> np.uint64(64 - _DIGITS))
    return np.asarray((digits + 0.5) * 2.0**-_DIGITS)
