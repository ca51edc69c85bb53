"""Plans and notes of ledgers that older versions wrote, in the present form.

Up to schema 2 a plan held the class of each player with its module, `learners.laplace_count:LaplaceCount`,
and modules have moved since. From schema 3 on it holds the player's name, `laplace-count`, which stays.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from audits.runs.plan import identify_class

NAMES_SINCE = 3  # the first schema whose plans hold names of players
_NAME_IN_NOTES = {"learner": "learner", "adversary": "adversary", "referee": "protocol"}
_DISTINGUISHERS = {"learnt": "learned"}


def migrate_plan(plan: Mapping[str, Any], notes: Mapping[str, Any]) -> dict[str, Any]:
    """A plan of schema 1 or 2 in the present form, with the names of the players from the notes.

    A player that the notes do not name keeps its class, without the module if it ships with dp-arena.
    """
    present = dict(plan)
    if "witness" in present:
        distinguisher = present.pop("witness")
        present["distinguisher"] = _DISTINGUISHERS.get(str(distinguisher), distinguisher)
    names = {
        plan[role]["class"]: notes[note]
        for role, note in _NAME_IN_NOTES.items()
        if isinstance(notes.get(note), str) and isinstance(plan.get(role), dict) and "class" in plan[role]
    }
    return {key: _migrate_value(value, names) for key, value in present.items()}


def find_unnamed_players(plan: Mapping[str, Any]) -> list[str]:
    """The classes of the players in a migrated plan whose names are not known."""
    specs = [plan.get(role) for role in _NAME_IN_NOTES]
    return [
        spec["class"] for spec in specs if isinstance(spec, dict) and "class" in spec and "name" not in spec
    ]


def migrate_notes(notes: Mapping[str, Any]) -> dict[str, Any]:
    """Notes of schema 1 or 2 with the present options in the command line."""
    command = notes.get("command")
    if not isinstance(command, str):
        return dict(notes)
    try:
        words = shlex.split(command)
    except ValueError:
        return dict(notes)
    for place, word in enumerate(words):
        if word == "--witness" and place + 1 < len(words):
            value = words[place + 1]
            words[place : place + 2] = ["--distinguisher", _DISTINGUISHERS.get(value, value)]
    return {**notes, "command": shlex.join(words)}


def _migrate_value(value: Any, names: Mapping[str, str]) -> Any:
    if not isinstance(value, dict):
        return value
    present = {key: _migrate_value(setting, names) for key, setting in value.items()}
    old_class = value.get("class")
    if not isinstance(old_class, str):
        return present
    del present["class"]
    module, _, class_name = old_class.rpartition(":")
    return {**identify_class(module, class_name, names.get(old_class, "")), **present}
