"""A released number as the score of a game."""

from __future__ import annotations

from typing import Any

import numpy as np

from arena import Hypothesis

_NAN = 2e300  # the score of a game whose release is not a number


def score_by_number(value: Any, games: int) -> np.ndarray | None:
    """The released number of each game (n,); None if several numbers or a hypothesis are released.

    A game without a score lets a distinguisher use the whole release. Text and NaN become large numbers, so
    that a game's score does not depend on other games; an adversary with `scores_release` is used with a
    distinguisher where they occur.
    """
    if isinstance(value, Hypothesis):
        return None
    values = np.reshape(value, (games, -1)).astype(np.float64)
    return np.where(np.isnan(values[:, 0]), _NAN, values[:, 0]) if values.shape[1] == 1 else None
