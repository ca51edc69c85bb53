"""What sessions reply: replies, their features, and transcripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import attrs
import numpy as np

from arena.errors import describe_error, split_numbers
from arena.messages import FeatureKind, Reply
from arena.referees.session_moves import describe_query, key_query
from arena.referees.transcript import Cells, Entry, format_value
from arena.released.encoding import (
    ABSENT,
    describe_feature,
    encode_values,
    hash_values,
    is_category,
    value_columns,
)
from arena.released.types import Symbol

_RAISED = "raised"  # the kind of the symbol of an exception
_MOST_PAIRED = 8  # replies up to which every two are compared

# What a session shows in place of an answer: it has been opened; it had halted, or was stopped.
OPENED, SILENCE = Symbol("session", "opened"), Symbol("session", "silence")


def name_exception(error: BaseException) -> Symbol | list[Symbol | float]:
    """What is shown of an exception: its type and text, and the numbers in the text, if there are any."""
    text, numbers = split_numbers(describe_error(error))
    return [Symbol(_RAISED, text), *numbers] if numbers else Symbol(_RAISED, text)


def read_exception(value: Any) -> str:
    """The type of the exception that the encoded reply of one game is; empty if it is no exception."""
    head = np.ravel(np.asarray(value))[:1]
    if not head.size:
        return ""
    text = format_value(head[0])
    is_exception = np.array_equal(hash_values(head), hash_values(encode_values([Symbol(_RAISED, text)])))
    return text.partition(":")[0] if is_exception else ""


_OPENED, _SILENT = hash_values(encode_values([OPENED, SILENCE])).tolist()

# --- features -----------------------------------------------------------------------------------------------

SILENT_FROM, LOSS, OF_DELTA = "silent from", "loss", "loss delta"
_TEXTS = {
    "equal replies": "how many replies are repeated",
    "refusals": "the number of refusals",
    LOSS: "the loss that is reported",
    "difference": "reply {two} less reply {one}",
    "same": "whether replies {one} and {two} are equal",
}


def _describe_reply(match: re.Match[str]) -> str:
    part = match["part"]
    return f"{describe_feature('value' + part)} of reply {match['reply']}" if part else match[0]


def _describe_other(match: re.Match[str]) -> str:
    return _TEXTS.get(match["of"] or match[0], match[0]).format(**match.groupdict())


_REPLIES = FeatureKind(
    pattern=r"reply (?P<reply>\d+)(?P<part>(?:\[\d+\]|\{[0-9a-f]+\})*(?: text| low| sign| shape| size)?)",
    describe=_describe_reply,
    is_value=True,
    is_single=True,
)
_SILENT_FROM = FeatureKind(
    pattern=SILENT_FROM, describe=lambda match: "the first reply that is silence", is_single=True
)
_TOTALS = FeatureKind(
    pattern=r"total (?P<query>\d+)",
    describe=lambda match: f"the sum of the replies to query {match['query']}",
    is_value=True,
    joined=("totals", "the sums of replies to each query"),
)
_OTHERS = FeatureKind(
    pattern=rf"(?P<of>difference|same) (?P<one>\d+) (?P<two>\d+)|equal replies|refusals|{LOSS}|{OF_DELTA}",
    describe=_describe_other,
)


def _list_features(replies: Sequence[Replied], games: int) -> dict[str, np.ndarray]:
    """The features (games,) of the replies of a game, by name; the first is that to the data.

    `reply 2` and what follows this name, as of a released value; `difference 1 2`, the second reply less the
    first, and `same 1 2`; `total 3`, of the numbers among the replies to the third query, if it is asked
    again; `equal replies`, how many are repeated; `refusals`, how many are no numbers; `silent from`, the
    number of the first reply that is silence; `loss` and `loss delta`, what an odometer reports at the end.
    """
    opening, *rest = replies
    columns: dict[str, np.ndarray] = {}
    failed = hash_values(opening.value) != np.uint64(_OPENED)
    if failed.any():
        for name, column in value_columns(opening.value, "reply 0").items():
            columns[name] = np.where(failed, column, ABSENT)
    answers = [reply for reply in rest if reply.number is not None]
    for place, reply in enumerate(answers, start=1):
        columns |= value_columns(reply.value, f"reply {place}")
    columns |= _compare_replies(answers, games)
    if replies[-1].loss is not None:
        columns |= {LOSS: replies[-1].loss[:, 0], OF_DELTA: replies[-1].loss[:, 1]}
    return columns


def _compare_replies(answers: Sequence[Replied], games: int) -> dict[str, np.ndarray]:
    if not answers:
        return {}
    hashes = np.stack([hash_values(reply.value) for reply in answers], axis=1)
    silent = hashes == np.uint64(_SILENT)
    numbers = np.stack([_read_numbers(reply.value, games) for reply in answers], axis=1)
    is_number = ~np.isnan(numbers)
    columns = {
        SILENT_FROM: np.where(silent.any(axis=1), silent.argmax(axis=1), len(answers)) + 1.0,
        "refusals": (~is_number).sum(axis=1).astype(float),
    }
    asked = np.stack([np.asarray(reply.number) for reply in answers], axis=1)
    for query in range(1, asked.max() + 1):
        own = asked == query
        # What a game lacks is the same whether or not others have it: scores depend on one game alone.
        repeated = own.sum(axis=1) > 1
        if repeated.any():
            total = np.where(own & is_number, numbers, 0.0).sum(axis=1)
            columns[f"total {query}"] = np.where(repeated, total, ABSENT)
    if len(answers) > 1:
        ordered = np.sort(np.where(is_number, numbers, np.nan), axis=1)
        columns["equal replies"] = (np.diff(ordered, axis=1) == 0).sum(axis=1).astype(float)
    if len(answers) <= _MOST_PAIRED:
        for first, second in combinations(range(len(answers)), 2):
            name = f"{first + 1} {second + 1}"
            difference = numbers[:, second] - numbers[:, first]
            columns[f"difference {name}"] = np.where(np.isnan(difference), ABSENT, difference)
            columns[f"same {name}"] = (hashes[:, first] == hashes[:, second]).astype(float)
    return columns


def _read_numbers(value: np.ndarray, games: int) -> np.ndarray:
    """(games,): the replies that are finite numbers; nan for all others."""
    flat = np.asarray(value, np.float64)
    if flat.ndim != 1:
        return np.full(games, np.nan)
    return np.where(is_category(flat) | ~np.isfinite(flat), np.nan, flat)


# --- replies ------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Replied(Reply):
    """What a session replies to n games.

    value: (n, ...) as `arena.released` encodes them: answers; None, a refusal; an exception, by its type
    and text; `OPENED` or `SILENCE`. halted: (n,) bool, whether it has halted. loss: (n, 2), the ε in nats
    and the δ that an odometer has reported so far; None without one. number: (n,) which of the queries so far
    it was, from 1 on (0: none), so that a view shows what was asked again; the adversary knows it.
    """

    feature_kinds = (_REPLIES, _SILENT_FROM, _TOTALS, _OTHERS)

    value: np.ndarray
    halted: np.ndarray
    loss: np.ndarray | None = None
    number: np.ndarray | None = None

    @classmethod
    def list_features(cls, replies: Sequence[Replied], games: int) -> dict[str, np.ndarray]:
        return _list_features(replies, games)

    @property
    def compared(self) -> tuple[np.ndarray, ...]:
        return (hash_values(self.value), self.halted, *(() if self.loss is None else (self.loss,)))

    @property
    def releases(self) -> tuple[np.ndarray, ...]:
        """Replies to queries, not whether a session could be opened."""
        return () if self.number is None or not self.number.all() else (self.value,)

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
