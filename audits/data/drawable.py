"""What is known of the data that a strategy of the user's draws, so that a search plays no others."""

from __future__ import annotations

import itertools
from typing import Any

from arena.errors import ArenaError
from arena.records import BlankRecord, Records, record_key
from arena.schemas.forms import Form
from audits.data.membership import Membership, Strategy

_MOST_REMEMBERED = 10_000


class DrawnRecords:
    """Any records that a strategy draws, in lists of any size."""

    examples: tuple[Records, ...] = ()
    largest: int | None = None
    is_free = True

    def __init__(self, record: Strategy) -> None:
        self.text = repr(record)
        self._membership = Membership(record)
        self._known: dict[bytes, bool] = {}

    def can_draw(self, records: Records, form: Form) -> bool:
        keys = (key.tobytes() for key in records.keys)
        return all(itertools.starmap(self._can_draw, zip(records.records, keys, strict=True)))

    def can_draw_record(self, record: Any) -> bool:
        return self._can_draw(record, record_key(record))

    def _can_draw(self, record: Any, key: bytes) -> bool:
        if isinstance(record, BlankRecord):
            return True
        if key not in self._known:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[key] = self._membership.contains(record) is True
        return self._known[key]


class DrawnData:
    """Whole data that a strategy draws. examples: some that it drew, the smallest first. largest: the most
    records that it drew, if it does not say itself how many it draws."""

    is_free = False

    def __init__(
        self, membership: Membership, text: str, form: Form, drawn: list[Any], largest: int | None
    ) -> None:
        self.text, self._membership = text, membership
        self._known: dict[str, bool] = {}
        examples = dict.fromkeys(Records(rows) for rows in map(form.unpack, drawn))
        self.examples = tuple(sorted(examples, key=lambda records: records.size))
        self.largest = largest

    def can_draw(self, records: Records, form: Form) -> bool:
        if self.largest is not None and records.size > self.largest:
            return False
        if records.digest not in self._known:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[records.digest] = self._ask(records, form)
        return self._known[records.digest]

    def _ask(self, records: Records, form: Form) -> bool:
        rows = records.rows()
        usual = next((row for row in rows if not isinstance(row, BlankRecord)), None)
        filled = [usual if isinstance(row, BlankRecord) else row for row in rows]
        try:
            return self._membership.contains(form.pack(filled)) is True
        except (ArenaError, TypeError, ValueError, OverflowError):  # the form cannot hold these records
            return False

    def can_draw_record(self, record: Any) -> bool:
        return True  # for lists to tell
