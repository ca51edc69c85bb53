"""The digests of files and the versions of packages that a ledger records in its notes, to be compared later.

They are notes, not part of the plan: which files a plug-in opens is only known when it plays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from arena.errors import InvalidArgument
from audits.registry.used_files import OUTSIDE

# By the name of the entry of the notes, how a value is shown.
_SHOWN: dict[str, Callable[[str], str]] = {
    "files": lambda digest: f"SHA-256 {digest[:12]}" if len(digest) == 64 else digest,
    "packages": str,
}
_REMEDY = (
    "Restore them, or begin a new ledger. If no figure depends on the change, give --allow-changes: a ledger "
    "then holds games from before and after it."
)
# In the description of a plan: the hash of a plug-in in the name of its module; digests of code, arrays and
# samples, with their sizes.
_DIGESTS = re.compile(r"(?<=\w)_[0-9a-f]{12}(?=:)|(\([\d, ]*\) \S+ )?\b[0-9a-f]{16,64}\b( of \d+)?")

Origins = Mapping[str, Mapping[str, str]]


def read_origins(notes: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The entries `files` and `packages` of notes; empty in those of older versions."""
    found = {entry: notes.get(entry) for entry in _SHOWN}
    return {
        entry: {str(name): str(value) for name, value in values.items()} if isinstance(values, dict) else {}
        for entry, values in found.items()
    }


def check_origins(path: Path, recorded: Origins, present: Origins, other: Path | None = None) -> None:
    """Compare what the ledger at `path` records with the present, or with what the ledger at `other` records.

    Raises: InvalidArgument that names the files and packages that differ.
    """
    where = "now" if other is None else f"in {other}"
    changes = [
        f"{name.removeprefix(OUTSIDE)} ({show(recorded[entry][name])} in {path}, {show(value)} {where})"
        for entry, show in _SHOWN.items()
        for name, value in find_changes(recorded[entry], present[entry]).items()
    ]
    if changes:
        raise InvalidArgument(
            f"files or packages from which the players come have changed: {', '.join(changes)}",
            remedy=_REMEDY,
        )


def find_changes(recorded: Mapping[str, str], present: Mapping[str, str]) -> dict[str, str]:
    """The present values that differ from the recorded ones, by name. What only one has is no matter."""
    return {name: present[name] for name, old in recorded.items() if present.get(name, old) != old}


def join_origins(recorded: Origins, present: Origins) -> dict[str, dict[str, str]]:
    """All that is recorded, and what is present besides."""
    return {entry: {**present[entry], **recorded[entry]} for entry in _SHOWN}


def drop_digests(plan: Any) -> Any:
    """A plan without what only says which version of a file was used."""
    if isinstance(plan, dict):
        return {name: drop_digests(value) for name, value in plan.items()}
    return _DIGESTS.sub("", plan) if isinstance(plan, str) else plan
