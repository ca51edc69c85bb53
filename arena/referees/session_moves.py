"""What is asked of sessions and what they reply: queries of any type, moves, replies, transcripts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.messages import Move, Reply
from arena.parcels import callable_name, fingerprint
from arena.records import record_key
from arena.referees.transcript import Cells, Entry, format_value
from arena.released.encoding import hash_values
from arena.released.types import Symbol

_LONGEST = 60  # characters of a query that a transcript shows

# What a session shows in place of an answer: it has been opened; it had halted, or was stopped.
OPENED, SILENCE = Symbol("session", "opened"), Symbol("session", "silence")


def name_exception(error: BaseException) -> Symbol:
    """What is shown of an exception: its type, since its message may hold anything."""
    return Symbol("raised", type(error).__name__)


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


def describe_query(query: Any) -> str:
    """A query as one short line."""
    if isinstance(query, FunctionType | MethodType | BuiltinFunctionType | partial):
        return callable_name(query)
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


# --- moves and replies --------------------------------------------------------------------------------------


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


@attrs.frozen(eq=False)
class Replied(Reply):
    """What a session replies to n games.

    value: (n, ...) as `arena.released` encodes them: answers; None, a refusal; the type of an exception;
    `OPENED` or `SILENCE`. halted: (n,) bool, whether it has halted. loss: (n, 2), the ε in nats and the δ
    that an odometer has reported so far; None without one. number: (n,) which of the queries so far it was,
    from 1 on (0: none), so that a view shows what was asked again; the adversary knows it.
    """

    value: np.ndarray
    halted: np.ndarray
    loss: np.ndarray | None = None
    number: np.ndarray | None = None

    @property
    def compared(self) -> tuple[np.ndarray, ...]:
        return (hash_values(self.value), self.halted, *(() if self.loss is None else (self.loss,)))

    @property
    def _values(self) -> list[Any]:
        return [self.value, self.halted, self.loss]

    def change_parts(self, change: Callable[[np.ndarray], np.ndarray]) -> Replied:
        loss = None if self.loss is None else change(self.loss)
        return Replied(change(self.value), change(self.halted), loss, self.number)

    def select_game(self, game: int) -> Replied:
        loss, number = (None if each is None else each[game] for each in (self.loss, self.number))
        return Replied(self.value[game], self.halted[game], loss, number)


@attrs.frozen(eq=False, kw_only=True)
class SessionEntry(Entry):
    """A move and its reply. x: (n,) the places of the queries. loss: as in `Replied`."""

    queries: tuple[Any, ...]
    prefix: str
    value: np.ndarray
    halted: np.ndarray
    loss: np.ndarray | None = None

    def describe(self, game: int) -> Cells:
        assert self.x is not None
        text = describe_reply(self.value[game])
        if self.loss is not None:
            text += f" (ε {self.loss[game, 0]:.4g})"
        asked = describe_query(self.queries[self.x[game]]) if self.queries else ""
        return (f"{self.prefix}{asked}", text, text)

    def read_input(self, game: int) -> bytes:
        assert self.x is not None
        key = key_query(self.queries[self.x[game]]) if self.queries else ""
        return f"{self.prefix} {key!r}".encode()


def describe_reply(value: Any) -> str:
    return format_value(value).removeprefix("session ")
