"""The least number that is enough."""

from __future__ import annotations

from collections.abc import Callable


def least(enough: Callable[[float], bool], near: float) -> float:
    """The least positive number that is `enough`, to the last digit: every larger one is enough too.

    near: where to begin to look, positive.
    """
    low = high = near
    while not enough(high):
        low, high = high, 2 * high
    while enough(low):
        low, high = low / 2, low
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
