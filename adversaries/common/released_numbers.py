"""A released number as the score of a game."""

from __future__ import annotations

from typing import Any

import numpy as np

from arena import Hypothesis
from arena.replies import is_category


def score_by_number(value: Any, games: int) -> np.ndarray | None:
    """The released number of each game (n,); None if several numbers, text or a hypothesis are released.

    A game without a score lets a distinguisher use the whole release.
    """
    if isinstance(value, Hypothesis):
        return None
    values = np.reshape(value, (games, -1))
    return None if values.shape[1] != 1 or is_category(values).all() else values[:, 0]
