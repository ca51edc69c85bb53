"""The largest number whose cost can be paid, and the least that is enough, where a formula cannot be turned
round.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from arena.errors import InvalidArgument


def largest_affordable(cost: Callable[[float], float], at_most: float) -> float:
    """The largest x > 0 with cost(x) ≤ at_most, to the last bits and never above it.

    cost: a function that does not decrease.
    Raises: InvalidArgument if no positive number is cheap enough, or every one is.

    >>> largest(lambda x: x * x, 2.0) ** 2 <= 2.0
    True
    """
    low, high = 0.0, 1.0
    while cost(high) <= at_most:
        low, high = high, 2 * high
        if math.isinf(high):
            raise InvalidArgument("every number is cheap enough", value=at_most)
    while math.nextafter(low, high) < high:
        middle = low + (high - low) / 2 if low else high / 2
        low, high = (middle, high) if cost(middle) <= at_most else (low, middle)
    if not low:
        raise InvalidArgument("no positive number is cheap enough", value=at_most)
    return low


def least_sufficient(enough: Callable[[float], bool]) -> float:
    """The least x > 0 that is `enough`, to the last bits: the one after the largest that is not.

    enough: true of every number above one of which it is true.
    Raises: InvalidArgument if no number is enough, or every positive one is.

    >>> least(lambda x: x * x >= 2.0) ** 2 >= 2.0
    True
    """
    return math.nextafter(largest_affordable(lambda x: float(enough(x)), 0.5), math.inf)
