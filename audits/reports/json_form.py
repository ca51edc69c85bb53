"""Any record as JSON: one function for all results."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any

import attrs
import numpy as np

from arena import Adversary, Claim, Learner, Referee, Relation
from arena.privacy_curves import PrivacyCurve, describe_curve
from audits.registry.origins import versions
from audits.registry.settings_text import format_settings

SCHEMA = 1  # of the JSON objects; it grows when an entry changes its name or its meaning


def to_json(record: object, header: Mapping[str, Any] | None = None) -> str:
    """A record as one JSON object on one line. header: entries that come before those of the record."""
    data = to_data(record)
    return json.dumps(data if header is None else {**header, **data}, allow_nan=False)


def describe_header(kind: str, command: str | None = None) -> dict[str, Any]:
    """The first entries of every JSON object: what it is, and which version and command line made it."""
    header: dict[str, Any] = {"schema": SCHEMA, "kind": kind, "version": versions()["dp-arena"]}
    return header if command is None else {**header, "command": command}


def describe_players(learner: Learner, adversary: Adversary) -> dict[str, Any]:
    """Both players with their settings, as an entry of a JSON object."""
    return {"players": {"learner": to_data(learner), "adversary": to_data(adversary)}}


def to_data(value: object) -> Any:
    """A value as dicts, lists, numbers and strings, ready for `json.dumps`.

    An attrs record becomes an object of its fields, but for those with repr=False, and of the properties that
    its class names in `derived`. None stands for a number that is not finite.
    """
    if isinstance(value, Learner | Adversary):
        return {"name": value.own_name, "settings": format_settings(value)}
    if isinstance(value, Referee):
        return value.name
    if isinstance(value, Relation):
        return str(value)
    if isinstance(value, Claim):
        return {**_fields(value), "text": str(value)}
    if isinstance(value, PrivacyCurve):
        return {**to_data(describe_curve(value)), "text": str(value)}
    if isinstance(value, Enum):
        return to_data(value.value)
    if attrs.has(type(value)):
        return _fields(value)
    if isinstance(value, Mapping):
        return {str(name): to_data(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_data(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return to_data(value.tolist())
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def _fields(record: Any) -> dict[str, Any]:
    names = [
        field.name for field in attrs.fields(type(record)) if field.repr and not field.name.startswith("_")
    ]
    return {name: to_data(getattr(record, name)) for name in [*names, *getattr(record, "derived", ())]}
