"""A known pair of datasets of a session, which an audit plays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import audits
from adversaries.sessions.session_pair import SessionPair, order_queries
from arena import InvalidArgument, Learner
from arena.records import Records


class Service:
    def __init__(self, ages: list[int], rng: np.random.Generator) -> None:
        self.ages, self.rng = ages, rng

    def count(self, low: int) -> float:
        return sum(age >= low for age in self.ages) + self.rng.laplace(scale=50)

    def oldest(self) -> str:
        return "old" if max(self.ages, default=0) >= 50 else "young"


def make(ask: Any) -> Learner:
    given: dict[str, Any] = {"data": audits.records(st.integers(0, 120)), "neighbours": "add or remove one"}
    return audits.session(Service, ask=ask, epsilon=1.0, rounds=4, **given)


def test_the_query_that_tells_the_pair_apart_is_asked_first() -> None:
    learner: Any = make({"count": list(range(5)), "oldest": [None]})
    first = order_queries(learner, Records([10]), Records([10, 60]))[0]
    assert learner.queries[first].method == "oldest"


@pytest.mark.thorough
def test_a_pair_of_a_session_is_given_as_that_of_a_function_is() -> None:
    leaks = make({"count": list(range(5)), "oldest": [None]})
    assert audits.audit(leaks, data=[10], neighbour=[10, 60], games=300).refuted
    assert audits.audit(leaks, data=[10, 60], games=300).refuted
    verdict = audits.audit(make({"count": [50]}), data=[10], neighbour=[10, 60], games=300)
    assert not verdict.refuted


def test_what_is_no_pair_of_the_claim_is_refused() -> None:
    learner = make({"count": [50]})
    with pytest.raises(InvalidArgument, match="only in world 1: 60, 61"):
        audits.audit(learner, data=[10], neighbour=[10, 60, 61], games=300)
    with pytest.raises(InvalidArgument, match="must be a list"):
        audits.audit(learner, data=np.zeros(3), games=300)
    with pytest.raises(InvalidArgument, match="has the schema of its data already"):
        audits.audit(learner, data=st.lists(st.integers()), games=300)


def test_without_data_the_clearest_pair_is_played() -> None:
    first, second = SessionPair(learner=make({"oldest": [None]})).find_worlds()
    assert second.size == first.size + 1
