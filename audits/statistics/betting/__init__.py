"""The sequential test of a privacy claim by betting against it."""

from audits.statistics.betting.betting_test import (
    LATE_START,
    RECENT_PAIRS,
    Betting,
    ceiling,
    ceilings,
    is_refutable,
)

__all__ = ["LATE_START", "RECENT_PAIRS", "Betting", "ceiling", "ceilings", "is_refutable"]
