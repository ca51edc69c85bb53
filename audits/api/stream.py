"""`audits.stream`: a user's class that receives a stream of records, as a learner."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from arena.players import Learner
from audits.registry.players import LEARNERS


def stream(make: Callable[..., Any], /, *, fixed: bool = False, **parameters: Any) -> Learner:
    """A learner that plays a class with `update(record) -> release`, for audits, searches and tests.

    make: the class, made anew in each game as make(rng) or make(); or a function that makes such an object.
    parameters: keyword arguments with which it is made. fixed: whether its claim is for streams that are
    fixed beforehand, and not for those that depend on what it has published.

    The strategy of a record, or `audits.records` for streams of a certain length, is given as data=.

    >>> import audits
    >>> from hypothesis import strategies as st
    >>> class Total:
    ...     def __init__(self, rng):
    ...         self.rng, self.total = rng, 0
    ...     def update(self, record):
    ...         self.total += record
    ...         return self.total + self.rng.laplace()
    >>> audits.search(audits.stream(Total), data=st.integers(0, 1), epsilon=1.0).refuted
    True
    """
    made = partial(make, **parameters) if parameters else make
    learner: Learner = LEARNERS.find("fixed-stream" if fixed else "stream")(make=made)
    return learner
