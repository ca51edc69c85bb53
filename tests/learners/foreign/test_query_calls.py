"""Queries that are put to the methods, properties and coroutines of a user's object, as signatures say."""

from __future__ import annotations

from functools import wraps
from typing import Any

import pytest
from hypothesis import strategies as st

import audits
from arena import InvalidArgument, Learner
from arena.referees.session_moves import Call
from learners.foreign.query_calls import ask_object

AGES = audits.records(st.integers(0, 120))


def _decorate(method: Any) -> Any:
    @wraps(method)
    def call(*arguments: Any, **named: Any) -> Any:
        return method(*arguments, **named)

    return call


class Service:
    def __init__(self, ages: list[int]) -> None:
        self.ages = ages

    def total(self) -> tuple[str, Any]:
        return ("total", None)

    @_decorate
    def wrapped(self) -> tuple[str, Any]:
        return ("wrapped", None)

    def one(self, low: Any) -> tuple[str, Any]:
        return ("one", low)

    def two(self, low: Any, high: Any) -> tuple[str, Any]:
        return ("two", (low, high))

    def default(self, low: Any = 7) -> tuple[str, Any]:
        return ("default", low)

    def more(self, low: int, high: int = 120) -> tuple[str, Any]:
        return ("more", (low + 0, high))

    def named(self, *, low: Any, high: Any = 3) -> tuple[str, Any]:
        return ("named", (low, high))

    def many(self, *limits: Any) -> tuple[str, Any]:
        return ("many", limits)

    def options(self, **options: Any) -> tuple[str, Any]:
        return ("options", tuple(sorted(options.items())))

    @staticmethod
    def static(low: Any) -> tuple[str, Any]:
        return ("static", low)

    @classmethod
    def of_class(cls, low: Any, high: Any) -> tuple[str, Any]:
        return ("class", (low, high))

    @property
    def size(self) -> tuple[str, Any]:
        return ("size", len(self.ages))

    async def wait(self) -> tuple[str, Any]:
        return ("wait", None)

    def fail(self, low: Any) -> None:
        raise ZeroDivisionError("never answers")

    def ready(self) -> int:
        if not hasattr(self, "is_open"):
            raise RuntimeError("call prepare first")
        return 1

    def prepare(self) -> None:
        self.is_open = True


@pytest.mark.parametrize(
    ("method", "query", "received"),
    [
        ("total", None, None),
        ("total", (), None),
        ("total", {}, None),
        ("wrapped", None, None),
        ("one", None, None),
        ("one", (), ()),
        ("one", (3, 4), (3, 4)),
        ("one", {"low": 3}, 3),
        ("one", {"x": 3}, {"x": 3}),
        ("two", (3, 4), (3, 4)),
        ("two", {"low": 3, "high": 4}, (3, 4)),
        ("default", None, 7),
        ("default", (), 7),
        ("default", 3, 3),
        ("default", (3, 4), (3, 4)),
        ("more", 3, (3, 120)),
        ("more", {"low": 3, "high": 4}, (3, 4)),
        ("named", 3, (3, 3)),
        ("named", {"low": 1, "high": 2}, (1, 2)),
        ("many", (), ()),
        ("many", 3, (3,)),
        ("many", (3, 4), (3, 4)),
        ("options", {"a": 1}, (("a", 1),)),
        ("static", 3, 3),
        ("of_class", (3, 4), (3, 4)),
        ("size", None, 2),
        ("wait", (), None),
    ],
)
def test_a_method_receives_what_its_signature_says(method: str, query: Any, received: Any) -> None:
    assert ask_object(Service([1, 2]), Call(method, query), ())[1] == received


def make(ask: Any, **more: Any) -> Learner:
    given: dict[str, Any] = {"data": AGES, "epsilon": 1.0, "neighbours": "add or remove one", **more}
    return audits.session(Service, ask=ask, **given)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        ({"totl": [None]}, "no method 'totl'"),
        ({"one": [1], "totl": [None]}, "no method 'totl'"),
        ({"total": [5]}, "only query be None"),
        ({"one": [1], "two": [(1, 2), 3]}, r"two\(low, high\) does not take this query, got 3"),
        ({"size": [3]}, "takes no argument"),
        ({"named": [(1, 2)], "two": [{"low": 1}]}, "does not take this query"),
        ({"more": [(3, 4)]}, r"\{'low': 3, 'high': 4\}"),
        ({"fail": [1]}, "raises an exception for all"),
        ({3: [1]}, "names methods by text"),
    ],
)
def test_a_query_that_no_method_takes_is_refused_with_the_remedy(ask: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        make(ask)


def test_a_method_that_always_fails_is_said_to_be_unknown() -> None:
    (warning,) = make({"one": [1, 2], "fail": [1, 2]}).shortcomings
    assert "Service.fail raised" in warning
    assert "ZeroDivisionError" in warning


def test_a_method_that_needs_another_one_first_is_not_said_to_fail() -> None:
    assert make({"ready": [None], "prepare": [None]}).shortcomings == ()


def test_an_argument_that_a_method_changes_is_the_games_own() -> None:
    class Popping(Service):
        def pop(self, limits: list[int]) -> int:
            return limits.pop()

    learner: Any = audits.session(Popping, data=AGES, ask={"pop": [[1, 2]]}, epsilon=1.0)
    assert learner.queries[0].argument == [1, 2]


def test_a_class_may_be_made_in_each_process() -> None:
    learner: Any = audits.session(make=lambda: Service, data=AGES, ask={"one": [1]}, epsilon=1.0)
    assert learner.own_name == "Service"
    with pytest.raises(InvalidArgument, match="return it, not an object"):
        audits.session(make=lambda: 3, data=AGES, ask={"one": [1]}, epsilon=1.0)
    with pytest.raises(InvalidArgument, match="by factory or by make"):
        audits.session(Service, make=lambda: Service, data=AGES, ask={"one": [1]}, epsilon=1.0)
