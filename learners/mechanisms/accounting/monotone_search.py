"""Bisection for the extreme number that satisfies a monotone condition, where no formula gives it."""

from __future__ import annotations

import math
from collections.abc import Callable

from arena.errors import InvalidArgument


def largest_affordable(cost: Callable[[float], float], budget: float) -> float:
    """The largest double x > 0 with cost(x) ≤ budget.

    cost: a non-decreasing function.
    Raises: InvalidArgument if the cost of every positive number exceeds the budget, or that of none does.

    >>> largest_affordable(lambda x: x * x, 2.0) ** 2 <= 2.0
    True
    """
    low, high = 0.0, 1.0
    while cost(high) <= budget:
        low, high = high, 2 * high
        if math.isinf(high):
            raise InvalidArgument("no positive number exceeds the budget", value=budget)
    while math.nextafter(low, high) < high:
        middle = low + (high - low) / 2 if low else high / 2
        low, high = (middle, high) if cost(middle) <= budget else (low, middle)
    if not low:
        raise InvalidArgument("every positive number exceeds the budget", value=budget)
    return low


def least_sufficient(suffices: Callable[[float], bool]) -> float:
    """The least double x > 0 that suffices.

    suffices: a monotone condition; it holds for every number above one for which it holds.
    Raises: InvalidArgument if it holds for every positive number, or for none.

    >>> least_sufficient(lambda x: x * x >= 2.0) ** 2 >= 2.0
    True
    """
    return math.nextafter(largest_affordable(lambda x: float(suffices(x)), 0.5), math.inf)
