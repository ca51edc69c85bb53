"""Schemas: what a mechanism receives of a list of records, whose each record is, and what records may be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import deepcopy
from numbers import Real
from typing import Any, Protocol

import attrs
import numpy as np

from arena.claims import Relation
from arena.errors import InvalidArgument, count_things
from arena.parcels import callable_name, fingerprint
from arena.records import BlankRecord, Records, record_key
from arena.schemas.forms import Form, UserForm, is_missing


def spread_out(values: Sequence[Any], most: int) -> list[Any]:
    """At most so many of the values: the first of them, and others evenly spread over the rest."""
    if len(values) <= most:
        return list(values)
    first = most // 2
    places = np.linspace(first, len(values) - 1, most - first).astype(int)
    return [*values[:first], *(values[place] for place in places.tolist())]


_MOST_KEYS = 256  # tuples whose keys are remembered
_keys: dict[int, tuple[tuple[Any, ...], tuple[bytes, ...]]] = {}  # by id, with what has it


def _list_keys(records: tuple[Any, ...]) -> tuple[bytes, ...]:
    """The keys of records. They are remembered, since schemas are compared for every batch of games."""
    known = _keys.get(id(records))
    if known is not None and known[0] is records:
        return known[1]
    keys = tuple(map(record_key, records))
    if len(_keys) >= _MOST_KEYS:
        del _keys[next(iter(_keys))]  # the oldest
    _keys[id(records)] = records, keys
    return keys


def _list_column_keys(columns: Sequence[tuple[Any, ...]] | None) -> tuple[tuple[bytes, ...], ...] | None:
    return None if columns is None else tuple(map(_list_keys, columns))


class Drawable(Protocol):
    """What is known of the data that a strategy of the user's draws.

    text: the strategy as text; equal texts mean equal strategies.
    examples: whole data that it drew, the smallest first; none if any of its records may be joined (is_free).
    largest: the most records that it is known to draw, if the schema does not say it.
    """

    text: str
    examples: tuple[Records, ...]
    largest: int | None
    is_free: bool

    def can_draw(self, records: Records, form: Form) -> bool:
        """Whether it is known to draw data of these records."""

    def can_draw_record(self, record: Any) -> bool:
        """Whether some data that it draws may have this record."""


def _identify_place(place: Any) -> Any:
    return fingerprint(place) if callable(place) else place


@attrs.frozen(kw_only=True, cache_hash=True)
class Schema:
    """What a mechanism receives of a list of records, whose each record is, and what records may be.

    form: of what the mechanism receives. user: whose a record is: the name or the place of a field of it, or
    a function of it.
    min_size, max_size: of the lists for which the claim is meant. blank: the record that is received in place
    of a blank one, where neighbours zero out one. unique: places of fields in which no value occurs twice;
    of several tables, pairs of a table and a place. relation: of vectors, their neighbours.
    source: where it is defined, as path/to/file.py:NAME, if that is known.
    examples: records that may occur, the simplest first. columns: the values that each field of a record may
    have, if any combination of these is a record. parts: of several tables, the name and schema of each.
    beyond: records like those of an example but with numbers beyond its range, the most extreme one last;
    only where nothing says what the range is.
    drawable: what is known of the strategy that draws the data, if one does; searches play no others.
    """

    form: Form
    user: Any = attrs.field(default=None, eq=lambda user: fingerprint(user) if callable(user) else user)
    min_size: int = 0
    max_size: int | None = None
    blank: Any = attrs.field(default=None, eq=record_key)
    unique: tuple[Any, ...] = attrs.field(default=(), eq=lambda places: tuple(map(_identify_place, places)))
    relation: Relation | None = None
    source: str = attrs.field(default="", eq=False)
    examples: tuple[Any, ...] = attrs.field(default=(), eq=_list_keys, repr=False)
    columns: tuple[tuple[Any, ...], ...] | None = attrs.field(default=None, eq=_list_column_keys, repr=False)
    parts: tuple[tuple[str, Schema], ...] = attrs.field(default=(), repr=False)
    beyond: tuple[Any, ...] = attrs.field(default=(), eq=_list_keys, repr=False)
    drawable: Drawable | None = attrs.field(
        default=None,
        eq=lambda drawable: drawable and drawable.text,
        repr=False,
        metadata={"is_setting": False},
    )

    def __attrs_post_init__(self) -> None:
        sizes = self.min_size, self.max_size
        if not (isinstance(sizes[0], int) and sizes[0] >= 0 and (sizes[1] is None or sizes[1] >= sizes[0])):
            raise InvalidArgument(
                "min_size and max_size must be numbers of records, in this order", value=sizes
            )

    def __str__(self) -> str:
        user = callable_name(self.user) if callable(self.user) else self.user
        sizes = self._describe_sizes()
        return f"{self.form.describe()}{sizes}" + (f" of the user {user}" if user is not None else "")

    def _describe_sizes(self) -> str:
        """How many records there may be, behind a comma; empty if there may be any number."""
        if self.max_size is None:
            return f", {self.min_size:,} or more records" if self.min_size else ""
        if self.min_size == self.max_size:
            return f", {count_things(self.min_size, 'record')}"
        return f", {self.min_size:,} to {self.max_size:,} records"

    def pack_games(self, records: Records, games: int) -> Iterator[Any]:
        """What each of so many games receives: data of its own. Raises: InvalidArgument for a number of
        records that the schema does not allow."""
        self.check_size(records)
        if isinstance(self.form, UserForm):
            for _ in range(games):
                yield self.form.pack(self.fill_blanks(records.rows()))
            return
        packed = self.form.pack(self.fill_blanks(records.rows()))
        for game in range(games):
            yield packed if game + 1 == games else self.form.copy(packed)

    @property
    def names(self) -> list[Any]:
        """What `form.with_field` calls the fields in `columns`; empty if there are none."""
        if self.columns is None:
            return []
        example = self.examples[0]
        return list(example) if isinstance(example, dict) else self.form.list_names(len(self.columns))

    def join(self, values: Sequence[Any]) -> Any:
        """The record whose fields have these values."""
        example = self.examples[0]
        return (
            dict(zip(example, values, strict=True)) if isinstance(example, dict) else self.form.join(values)
        )

    def make_records(self) -> tuple[Records, ...]:
        """A few lists of examples, the first a usual one, the others as small as they may be."""
        sizes = [max(self.min_size, 7), max(self.min_size, 1), self.min_size]
        if self.drawable is not None and self.drawable.examples:
            nearest = (
                min(self.drawable.examples, key=lambda records: abs(records.size - size)) for size in sizes
            )
            return tuple(dict.fromkeys(nearest))
        if self.max_size is not None:
            sizes = [min(size, self.max_size) for size in sizes]
        if self.unique:
            sizes = [min(size, len(self.drop_repetitions(self.examples))) for size in sizes]
        return tuple(dict.fromkeys(self.take_examples(size, start) for start, size in enumerate(sizes)))

    def take_examples(self, size: int, start: int = 0) -> Records:
        """So many of the examples, repeated if there are fewer."""
        examples = self.drop_repetitions(self.examples)
        return Records([examples[(start + place) % len(examples)] for place in range(size)] if size else [])

    def allows_size(self, size: int) -> bool:
        return self.min_size <= size and (self.max_size is None or size <= self.max_size)

    @property
    def largest(self) -> int | None:
        """The most records of data that a search may play; None if there may be any number."""
        if self.max_size is not None or self.drawable is None:
            return self.max_size
        return self.drawable.largest

    def can_draw(self, records: Records) -> bool:
        """Whether the claim is meant for this number of records, and the strategy of the data, if there is
        one, is known to draw them."""
        if not self.allows_size(records.size):
            return False
        if self.unique and len(self.drop_repetitions(records.rows())) < records.size:
            return False
        return self.drawable is None or self.drawable.can_draw(records, self.form)

    def check_size(self, records: Records) -> None:
        if not self.allows_size(records.size):
            most = "" if self.max_size is None else f" and at most {self.max_size:,}"
            raise InvalidArgument(
                f"the claim is meant for at least {self.min_size:,}{most} records", value=records.size
            )

    def drop_repetitions(self, records: Sequence[Any]) -> list[Any]:
        """The records without those that repeat a value in a unique field."""
        kept: list[Any] = []
        seen: set[Any] = set()
        for record in records:
            own = set() if isinstance(record, BlankRecord) else set(self._list_unique(record))
            if not own & seen:
                kept.append(record)
                seen |= own
        return kept

    def _list_unique(self, record: Any) -> Iterator[tuple[Any, Any]]:
        """What no other record has: in place of a value its key, but what a function returns as it is."""
        for place in self.unique:
            if callable(place):
                yield _identify_place(place), place(record)
            elif not isinstance(place, tuple):
                yield place, record_key(record[place])
            elif record[0] == place[0]:
                yield place, record_key(record[1][place[1]])

    def fill_blanks(self, rows: list[Any]) -> list[Any]:
        """The records, with what is received in place of blank ones. Raises: InvalidArgument without that."""
        if self.blank is None and any(isinstance(row, BlankRecord) for row in rows):
            raise InvalidArgument(
                "neighbours that zero out one record need the record that is received in its place",
                remedy="Give the schema `blank=`, such as a row of zeros.",
            )
        return [deepcopy(self.blank) if isinstance(row, BlankRecord) else row for row in rows]

    def users_of(self, records: Sequence[Any]) -> np.ndarray:
        """(k,): whose each record is. Raises: InvalidArgument for a record that is nobody's."""
        if self.user is None:
            raise InvalidArgument(
                "neighbours by user need to know whose a record is",
                remedy='Give user=, the name of a column, such as user="id", or a function of a record.',
            )
        users = [self._find_user(record) for record in records]
        for record, user in zip(records, users, strict=True):
            missing = is_missing(user)
            if missing or not isinstance(user, str | Real | np.generic):
                raise InvalidArgument(
                    "every record must have a user, a number or a text",
                    value=record,
                    remedy="Remove records without a user, or give each of them a user of its own.",
                )
        kinds = {isinstance(user, str) for user in users}
        return np.array([repr(user) for user in users] if len(kinds) > 1 else users)

    def _find_user(self, record: Any) -> Any:
        if isinstance(record, BlankRecord):
            return "BLANK"
        if callable(self.user):
            return self.user(record)
        try:
            return self.form.find_field(record, self.user)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise InvalidArgument("user must be the name or the place of a field", value=self.user) from error

    def show(self, records: Records) -> str:
        """The data as the user would write them."""
        return self.form.show(self.fill_blanks(records.rows()))
