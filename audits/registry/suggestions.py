"""Names that are misspelt: suggestions, and the error."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from arena.errors import InvalidArgument

_FEW = 10  # names that a message lists; of more it names the closest three


def suggest(name: str, names: Iterable[str], *, cutoff: float = 0.6) -> str:
    """The sentence "Did you mean ...? " with at most three names close to `name`; empty if none is."""
    close = difflib.get_close_matches(name, list(names), n=3, cutoff=cutoff)
    return f"Did you mean {' or '.join(close)}? " if close else ""


def unknown_name(kind: str, name: str, names: Collection[str], alternative: str = "") -> InvalidArgument:
    """The error for a name that is none of `names`, which are names of players if they are many.

    alternative: what may be given instead of a name.
    """
    if len(names) <= _FEW:
        remedy = f"{suggest(name, names)}There are: {', '.join(names)}{alternative}."
    else:
        close = suggest(name, names) or suggest(name, names, cutoff=0.0)
        remedy = f"{close}Give a name from `arena list`{alternative}."
    return InvalidArgument(f"there is no {kind} of that name", value=name, remedy=remedy)
