"""Bisection ends at the least number that is enough."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from learners.mechanisms.least import least

positive = st.floats(1e-200, 1e200)


@given(positive, positive)
def test_it_is_enough_and_the_number_before_is_not(edge: float, near: float) -> None:
    found = least(lambda value: value >= edge, near)
    assert found == edge
    assert not math.nextafter(found, 0.0) >= edge
