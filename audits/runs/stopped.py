"""A run that came to an end of its own before it was done: what stopped it, and what it had found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.errors import ArenaError

if TYPE_CHECKING:
    from audits.runs.verdict import Verdict


class Stopped(ArenaError):
    """What ends a run early. `verdict`: the figures so far, marked as interrupted; None before the first."""

    verdict: Verdict | None = None
