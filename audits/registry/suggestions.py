"""Suggestions for names that are misspelt."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggest(name: str, names: Iterable[str]) -> str:
    """The sentence "Did you mean ...? " with the names closest to `name`; empty if none is close."""
    close = difflib.get_close_matches(name, list(names), n=3, cutoff=0.6)
    return f"Did you mean {' or '.join(close)}? " if close else ""
