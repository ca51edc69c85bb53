"""What is asked of sessions: queries of any type, and moves."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import deepcopy
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import attrs

from arena.errors import InvalidArgument
from arena.messages import Move
from arena.parcels import callable_name, fingerprint
from arena.records import record_key

_ATOMS = (bool, int, float, complex, str, bytes, type(None))
_LONGEST = 60  # characters of a query that a transcript shows


@attrs.frozen
class QueryAt:
    """The query at this place of the learner's own list, for what no code can write; the first comes after
    the last."""

    place: int

    def __repr__(self) -> str:
        return f"QueryAt({self.place})"


@attrs.frozen(slots=False)
class Call:
    """A query of an object with several methods: the name of the method, and its argument."""

    method: str
    argument: Any


def key_query(query: Any) -> Hashable:
    """What two queries have in common if and only if they are equal; objects of unknown types are themselves
    only."""
    if isinstance(query, QueryAt):
        return query
    if isinstance(query, FunctionType | MethodType | BuiltinFunctionType | partial):
        return fingerprint(query)
    try:
        return record_key(query)
    except InvalidArgument:
        return f"object {id(query)}"


def copy_query(query: Any) -> Any:
    """A query of one game's own, if the learner could change it."""
    return query if _is_constant(query) else deepcopy(query)


def _is_constant(query: Any) -> bool:
    if isinstance(query, Call):
        return _is_constant(query.argument)
    if type(query) is tuple:
        return all(map(_is_constant, query))
    return type(query) in _ATOMS or isinstance(query, QueryAt) or not isinstance(query, list | dict | set)


def describe_query(query: Any) -> str:
    """A query as one short line."""
    if isinstance(query, FunctionType | MethodType | BuiltinFunctionType | partial):
        return callable_name(query)
    if isinstance(query, Call):
        return f"{query.method}({describe_query(query.argument)})"
    text = " ".join(repr(query).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


@attrs.frozen(eq=False, repr=False)
class Boxed:
    """A query of any type in a move, compared by `key_query`."""

    query: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Boxed) and key_query(self.query) == key_query(other.query)

    def __hash__(self) -> int:
        return hash(key_query(self.query))

    def __repr__(self) -> str:
        return describe_query(self.query)


def _box(query: Any) -> Boxed:
    return query if isinstance(query, Boxed) else Boxed(query)


def _box_all(queries: Sequence[Any]) -> tuple[Boxed, ...]:
    return tuple(map(_box, queries))


# --- moves ------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Ask(Move):
    """A query of any type, for all games; `other` in world 1, where the claim protects queries.

    which: (n,) where the query depends on replies: a game is asked `query` (0), or one of `choices` (1, ...).
    session: 0, or the number of a session that was opened, from 1 on.
    """

    query: Any = attrs.field(converter=_box)
    other: Any = attrs.field(default=None, converter=attrs.converters.optional(_box))
    choices: Any = attrs.field(default=(), converter=_box_all, kw_only=True)
    which: Any = attrs.field(default=None, kw_only=True)
    session: int = attrs.field(default=0, kw_only=True)


@attrs.frozen(eq=False)
class Open(Move):
    """Open a session within `session` (0: the first one). kind: what is asked for, of any type."""

    kind: Any = attrs.field(default=None, converter=_box)
    session: int = attrs.field(default=0, kw_only=True)


@attrs.frozen(eq=False)
class Stop(Move):
    """Close a session, with all that were opened within it. where: (n,) bool, the games; default: all."""

    session: int = 0
    where: Any = None
