"""`audits.session`: an object that answers queries, as a learner of the protocol Session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
from hypothesis import strategies as st

from arena import InvalidArgument, Learner, Relation
from arena.claims import read_relation
from arena.errors import ArenaError
from arena.records import record_key
from arena.referees.session_moves import Call, key_query
from arena.schemas.schema import Schema
from audits.data.drawn_values import draw_values
from audits.data.schemas import find_schema, records
from audits.data.user_records import read_records
from audits.registry.players import LEARNERS

_MOST_QUERIES = 96  # that a search knows


def session(
    factory: Callable[..., Any] | None = None,
    *,
    make: Callable[[], Any] | None = None,
    data: Any,
    ask: Any,
    epsilon: float | None = None,
    delta: float = 0.0,
    neighbours: Relation | str | None = None,
    user: Any = None,
    rounds: int | None = None,
    method: str | None = None,
    open: Any = None,
    protects: str = "data",
    odometer: str | None = None,
    d_in: float | None = None,
    **settings: Any,
) -> Learner:
    """An object that answers queries, as a learner: for `audits.search`, `audit` and the commands.

    factory: a class, or a function, of (data, rng) or of data alone, which makes the object of a game.
    make: in place of `factory`, a function without arguments that makes it, once in each process: for what
        cannot be sent to other processes, such as a connection.
    data: a strategy of what it receives, as for `audits.search`, or an example.
    ask: a strategy of queries, a list of them, or a function without arguments that makes the list, once in
        each process; of an object with several methods, or properties, a dictionary of these by name. The
        queries of a method without arguments are [None]; those of a method that requires several are tuples
        of them in order, or dictionaries by name, which also give optional ones.
    epsilon, delta: the claim for all that the object ever answers, ε in nats.
    neighbours, user: as in `audits.audit`.
    rounds: the most queries of a game; default: 64. method: that takes a query; default: ask, query, ...
    open: a strategy or list of what further sessions are opened with, by the method `open`.
    d_in: of OpenDP, whose claim is the privacy map there: `factory` then makes, without arguments and once in
        each process, an interactive measurement or an odometer, and queries are measurements.
    protects: "data", or "queries", if the worlds differ in one query. odometer: the attribute or method that
        says what was lost so far.

    Raises: InvalidArgument.

    >>> import audits
    >>> from hypothesis import strategies as st
    >>> class Server:
    ...     def __init__(self, data, rng):
    ...         self.data, self.noise = data, rng.laplace()
    ...     def ask(self, limit):
    ...         return sum(value <= limit for value in self.data) + self.noise
    >>> ages = st.integers(0, 120)
    >>> server = audits.session(Server, data=st.lists(ages), ask=ages, epsilon=1.0)
    >>> audits.search(server).refuted
    True
    """
    if d_in is not None and factory is None:
        factory, make = make, None  # of OpenDP it is made without arguments in any case
    schema, _, _ = read_records(data, None, user)
    given = neighbours if neighbours is not None else schema.relation
    queries = _read_queries(ask)
    kinds = () if open is None else tuple(_draw(open, "a kind of session"))
    if d_in is not None:
        settings |= {"d_in": d_in}
    if odometer is not None:
        settings |= {"odometer": odometer}
    learner: Learner = LEARNERS.find("session" if d_in is None else "opendp-session")(
        factory=factory,
        make=make,
        schema=schema,
        kinds=kinds,
        epsilon=epsilon,
        delta=delta,
        rounds=rounds,
        method=method,
        protects=protects,
        **({} if given is None else {"neighbours": str(read_relation(given))}),
        **queries,
        **settings,
    )
    learner.check_object()  # type: ignore[attr-defined]
    return learner


def _read_queries(ask: Any) -> dict[str, Any]:
    if isinstance(ask, Mapping):
        for name in ask:
            if not isinstance(name, str):
                raise InvalidArgument(
                    "ask= names methods by text", value=name, remedy='Write ask={"count": queries}.'
                )
        drawn = [
            [Call(name, value) for value in _draw(part, f"queries of {name}")] for name, part in ask.items()
        ]
        longest = max(map(len, drawn), default=0)
        mixed = [part[place] for place in range(longest) for part in drawn if place < len(part)]
        return {"queries": mixed[:_MOST_QUERIES]}
    if isinstance(ask, st.SearchStrategy):
        queries = _draw(ask, "queries")
        schema = _find_schema(ask, queries)
        return {"queries": queries} if schema is None else {"asks": schema}
    if callable(ask):
        return {"make_queries": ask}
    return {"queries": _draw(ask, "queries")}


def _find_schema(ask: Any, queries: Sequence[Any]) -> Schema | None:
    """The schema of queries that are records."""
    try:
        for query in queries:
            record_key(query)
    except ArenaError:
        return None
    return attrs.evolve(find_schema(records(ask)), examples=tuple(queries))


def _draw(given: Any, what: str) -> list[Any]:
    """Values of a strategy or a list, the simplest first."""
    if isinstance(given, st.SearchStrategy):
        return draw_values(given, what, key=key_query)
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise InvalidArgument(
            f"{what} are given by a strategy or a list",
            value=given,
            remedy="Write ask=st.integers(0, 120), a list of queries, or a function that makes one.",
        )
    return list(given)
