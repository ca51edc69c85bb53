"""A released number, and its last bit, as the score of a game."""

from __future__ import annotations

from typing import Any

import numpy as np

from arena import Hypothesis
from arena.replies import is_category

_NO_LAST_BIT = 2_000.0  # the score of 0 and of infinities; larger than the exponent of any double


def score_by_number(value: Any, games: int) -> np.ndarray | None:
    """The released number of each game (n,); None if several numbers, text or a hypothesis are released.

    A game without a score lets a distinguisher use the whole release.
    """
    if isinstance(value, Hypothesis):
        return None
    values = np.reshape(value, (games, -1))
    return None if values.shape[1] != 1 or is_category(values).all() else values[:, 0]


def last_bits(y: np.ndarray) -> np.ndarray:
    """(n,): the z of y = odd·2^z, and 2000 where y is 0 or not finite.

    >>> last_bits(np.array([1.0, 0.5, 6.0, 1 + 2.0**-52, 0.0])).tolist()
    [0.0, -1.0, 1.0, -52.0, 2000.0]
    """
    y = np.asarray(y, dtype=np.float64)
    has_bits = np.isfinite(y) & (y != 0)
    fraction, exponent = np.frexp(np.where(has_bits, y, 1.0))
    digits = np.ldexp(fraction, 53).astype(np.int64)
    last = np.frexp((digits & -digits).astype(np.float64))[1] - 1
    return np.where(has_bits, exponent - 53.0 + last, _NO_LAST_BIT)
