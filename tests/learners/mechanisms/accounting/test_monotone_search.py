from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.errors import InvalidArgument
from learners.mechanisms.accounting import largest_affordable, least_sufficient


@given(at_most=st.floats(1e-12, 1e12))
def test_the_next_number_would_cost_more(at_most: float) -> None:
    def cost(x: float) -> float:  # to the last bit, as a power is not
        return x * x

    found = largest_affordable(cost, at_most)
    assert cost(found) <= at_most < cost(math.nextafter(found, math.inf))


def test_costs_that_no_number_or_every_number_meets_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="every positive number exceeds the budget, got 0"):
        largest_affordable(lambda x: 1.0, 0.0)
    with pytest.raises(InvalidArgument, match="no positive number exceeds the budget, got 1"):
        largest_affordable(lambda x: 0.0, 1.0)


@given(edge=st.floats(1e-200, 1e200))
def test_the_least_is_enough_and_the_number_before_is_not(edge: float) -> None:
    found = least_sufficient(lambda value: value >= edge)
    assert found == edge
    assert not math.nextafter(found, 0.0) >= edge
