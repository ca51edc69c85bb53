"""Features of what sessions reply: the replies, what they have in common, and when there was none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from arena.referees.session_moves import OPENED, SILENCE, Replied
from arena.released.encoding import (
    ABSENT,
    describe_feature,
    encode_values,
    hash_values,
    is_category,
    value_columns,
)

MOST_PAIRED = 8  # replies up to which every two are compared
_OPENED, _SILENT = hash_values(encode_values([OPENED, SILENCE])).tolist()
SILENT_FROM = "silent from"
# Names of features, as a regular expression.
SESSION_PATTERN = (
    r"reply (?P<reply>\d+)(?P<part>(?:\[\d+\]|\{[0-9a-f]+\})*(?: text| low| shape| size)?)"
    r"|(?P<of>difference|same|total) (?P<one>\d+)(?: (?P<two>\d+))?"
    r"|equal replies|refusals|silent from|loss(?: delta)?"
)
_NAMES = {
    "equal replies": "how many replies are repeated",
    "refusals": "the number of refusals",
    "silent from": "the first reply that is silence",
    "loss": "the loss that is reported",
    "difference": "reply {two} less reply {one}",
    "same": "whether replies {one} and {two} are equal",
    "total": "the sum of the replies to query {one}",
}
REPLY, OF_QUERY, LOSS, OF_DELTA = "reply ", "total ", "loss", "loss delta"


def describe_reply_feature(name: str) -> str | None:
    """A feature of replies in the user's terms; None for any other."""
    match = re.fullmatch(SESSION_PATTERN, name)
    if match is None:
        return None
    if match["part"]:
        return f"{describe_feature('value' + match['part'])} of reply {match['reply']}"
    return _NAMES.get(match["of"] or name, name).format(**match.groupdict())


def is_reply(name: str) -> bool:
    """Whether a feature is one of a single reply, or says when there was none."""
    return name.startswith(REPLY) or name == SILENT_FROM


def session_columns(replies: Sequence[Replied], games: int) -> dict[str, np.ndarray]:
    """The features (games,) of the replies of a game, by name; the first is that to the data.

    `reply 2` and what follows this name, as of a released value; `difference 1 2`, the second reply less the
    first, and `same 1 2`; `total 3`, of the numbers among the replies to the third query, if it is asked
    again; `equal replies`, how many are repeated; `refusals`, how many are no numbers; `silent from`, the
    number of the first reply that is silence; `loss` and `loss delta`, what an odometer reports at the end.
    """
    if not replies:
        return {}
    opening, *rest = replies
    columns: dict[str, np.ndarray] = {}
    failed = hash_values(opening.value) != np.uint64(_OPENED)
    if failed.any():
        for name, column in value_columns(opening.value, f"{REPLY}0").items():
            columns[name] = np.where(failed, column, ABSENT)
    answers = [reply for reply in rest if reply.number is not None]
    for place, reply in enumerate(answers, start=1):
        columns |= value_columns(reply.value, f"{REPLY}{place}")
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
            columns[f"{OF_QUERY}{query}"] = np.where(repeated, total, ABSENT)
    if len(answers) > 1:
        ordered = np.sort(np.where(is_number, numbers, np.nan), axis=1)
        columns["equal replies"] = (np.diff(ordered, axis=1) == 0).sum(axis=1).astype(float)
    if len(answers) <= MOST_PAIRED:
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
