"""Plans and notes as a ledger stores them, read with care, since anybody may have written them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from audits.runs.plan import BlockSizes

MAX_BYTES = 1 << 22  # of the text of a plan, and of notes
_MAX_DEPTH = 64  # of mappings and lists within each other
_TOO_DEEP = f"has entries more than {_MAX_DEPTH} deep"
_MAX_INTEGER = 2**63 - 1
_KINDS = (
    ("tournament", "a tournament", "arena tournament"),
    ("games", "an audit", "arena audit"),
)


def parse_entries(text: bytes) -> dict[str, Any]:
    """The entries of a plan or of notes.

    An entry may be infinite or NaN, as settings of players may. No name may occur twice, as readers would
    disagree about its value. Raises: ValueError, which says what is wrong with the text.
    """
    try:
        entries = json.loads(text, object_pairs_hook=_take_once)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if not isinstance(entries, dict):
        raise ValueError("is no mapping of names")
    level: list[Any] = [entries]
    for _ in range(_MAX_DEPTH):
        if not level:
            return entries
        for value in level:
            if isinstance(value, dict) and not (
                isinstance(value.get("class", ""), str) and isinstance(value.get("name"), str | None)
            ):
                raise ValueError("has a name that is no text")
        items = (item for value in level for item in (value.values() if isinstance(value, dict) else value))
        level = [item for item in items if isinstance(item, dict | list)]
    raise ValueError(_TOO_DEEP)


def name_kind(plan: Mapping[str, Any]) -> tuple[str, str]:
    """What a plan describes, as "an audit", and the command that plays it; both empty if that is unknown."""
    return next(((kind, command) for entry, kind, command in _KINDS if entry in plan), ("", ""))


def read_block_sizes(plan: Mapping[str, Any]) -> BlockSizes | None:
    """The sizes of the blocks of a stored plan; None if it does not say so.

    Plans of schemas before 3 have blocks of one size. Raises: ValueError if a number makes no sense.
    """
    numbers = {name: plan[name] for name in ("games", "block", "first_block") if name in plan}
    for name, value in numbers.items():
        if type(value) is not int or not 1 <= value <= _MAX_INTEGER:
            raise ValueError(f"has {name} = {_shorten(value)}, which must be an integer of at least 1")
    if "games" not in numbers or "block" not in numbers:
        return None
    return BlockSizes(numbers["games"], numbers.get("first_block", numbers["block"]), numbers["block"])


def _take_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise ValueError("has an entry twice")
    return entries


def _shorten(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
