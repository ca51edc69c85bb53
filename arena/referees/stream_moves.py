"""Streams of records: moves, replies, transcripts, and what tools may ask of learners that receive them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import attrs
import numpy as np

from arena.laws import AnswerLaw
from arena.messages import Move, Reply
from arena.referees.transcript import Cells, Entry, RoundOutcome, format_value, match_rows
from arena.released.encoding import hash_values, value_columns
from arena.sample import format_point


@attrs.frozen(eq=False)
class Arrive(Move):
    """Records that arrive in k rounds of `Stream` or `FixedStream`, all chosen before the first is answered.

    records, other: those of world 0 and of world 1 (default: the same), as points (k, ...) for all games or
    (n, k, ...); of a learner that receives records, a list of k `Records` for all games, or n such lists.
    """

    records: Any
    other: Any = None


@attrs.frozen(eq=False)
class Published(Reply):
    """What the learner published in k rounds of a stream: k arrays (n, ...), as `arena.released` encodes
    them."""

    releases: tuple[np.ndarray, ...]

    @classmethod
    def list_features(cls, replies: Sequence[Published], games: int) -> dict[str, np.ndarray]:
        """Those of a vector, if a number was published in every round."""
        releases = [release for reply in replies for release in reply.releases]
        if all(release.ndim == 1 for release in releases):
            return value_columns(np.stack(releases, axis=1).astype(np.float64), "value") if releases else {}
        columns: dict[str, np.ndarray] = {}
        for place, release in enumerate(releases):
            columns |= value_columns(release, f"value[{place}]")
        return columns

    @property
    def compared(self) -> tuple[np.ndarray, ...]:
        return tuple(map(hash_values, self.releases))


@attrs.frozen(eq=False, kw_only=True)
class ArrivalEntry(Entry):
    """A round of a stream: the point x, or the distinct records that arrived, each with its key, and which of
    them did in each game; and what was published."""

    value: np.ndarray
    records: tuple[tuple[bytes, Any], ...] = ()
    which: np.ndarray | None = None

    def describe(self, game: int) -> Cells:
        arrived = None if self.which is None else self.records[self.which[game]][1]
        record = repr(arrived) if self.x is None else format_point(self.x[game])
        text = format_value(self.value[game])
        return (record, text, text)

    def read_answer(self, law: Any, learner: str) -> RoundOutcome | None:
        if self.x is None:
            return None
        number = match_rows(learner, "values", law.values, self.value)
        return self.x, number, np.zeros(len(number), bool)

    def read_input(self, game: int) -> bytes:
        return super().read_input(game) if self.which is None else self.records[self.which[game]][0]


# --- learners -----------------------------------------------------------------------------------------------


class StreamState(Protocol):
    """What the protocols of streams ask of a running learner."""

    def update(self, records: Any) -> np.ndarray:
        """Receive a round's records; publish one value (n, ...) for each game. records: points (n, ...), or a
        `Training` of lists of one record if it receives records. See `UpdatesMany`."""


@runtime_checkable
class UpdatesMany(Protocol):
    """A running learner of streams that can take the records of several rounds together."""

    def update_many(self, records: Any) -> Sequence[Any]:
        """The releases (n, ...) of k rounds, for points (n, k, ...), or for a `Training` of lists of k
        records."""


@runtime_checkable
class HasEncoder(Protocol):
    """A learner of streams that adds noise to linear functions of the records."""

    @property
    def matrices(self) -> Any:
        """An object with the matrix `encoder` (T, T), whose column t shows how the record of round t moves
        the numbers that get noise."""


class StreamLaw(AnswerLaw):
    """The distribution of what a learner publishes of a stream, as such a chain: queries are records, and
    outcome o is values[o]. values: (k, ...) distinct. records: (p, ...), such that every other record is
    treated like one of these. rounds: the most of a stream, or None."""

    shown = "values"

    values: np.ndarray
    records: np.ndarray
    rounds: int | None = None

    @property
    def outcomes(self) -> tuple[tuple[int, bool], ...]:  # type: ignore[override]
        return tuple((number, False) for number in range(len(self.values)))

    def describe_outcomes(self) -> list[str]:
        return [f"the value {format_value(value)}" for value in self.values]


@runtime_checkable
class DeclaresStreamLaw(Protocol):
    def stream_law(self) -> StreamLaw:
        """As `online_law`, of what is published of a stream."""
