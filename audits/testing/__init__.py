"""Tests of privacy claims, for authors of private learners. docs/testing.md explains them."""

from arena.testing import check_adversary, check_learner
from audits.adversary_search.protocols.round_scripts import streams
from audits.adversary_search.script_strategies import adversaries
from audits.adversary_search.script_strategies import neighbours as neighbouring_samples
from audits.testing.assertions import ERROR, assert_private, assert_refuted
from audits.testing.outcome import (
    BUDGETS,
    Budget,
    NotPrivate,
    NotRefuted,
    Outcome,
    Refutation,
    Undecided,
    Underpowered,
    games_needed,
)

__all__ = [
    "BUDGETS",
    "ERROR",
    "Budget",
    "NotPrivate",
    "NotRefuted",
    "Outcome",
    "Refutation",
    "Undecided",
    "Underpowered",
    "adversaries",
    "assert_private",
    "assert_refuted",
    "check_adversary",
    "check_learner",
    "games_needed",
    "neighbouring_samples",
    "streams",
]
