"""Names that are misspelt: suggestions, and the error."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from arena.errors import InvalidArgument


def suggest(name: str, names: Iterable[str]) -> str:
    """The sentence "Did you mean ...? " with the names closest to `name`; empty if none is close."""
    close = difflib.get_close_matches(name, list(names), n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(close)}? " if close else ""


def unknown_name(kind: str, name: str, names: Collection[str], alternative: str = "") -> InvalidArgument:
    """The error for a name that is none of `names`. alternative: what may be given instead of a name."""
    remedy = f"{suggest(name, names)}There are: {', '.join(names)}{alternative}."
    return InvalidArgument(f"there is no {kind} of that name", value=name, remedy=remedy)
