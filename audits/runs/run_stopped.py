"""The base of errors that end a run early but leave it with valid figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.errors import ArenaError

if TYPE_CHECKING:
    from audits.runs.verdict import Verdict


class RunStopped(ArenaError):
    """A failure that ends a run early.

    verdict: the figures of the blocks that were tested, marked as interrupted; None if the run had not begun.
    """

    verdict: Verdict | None = None
