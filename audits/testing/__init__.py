"""Tests of privacy claims, for people who write private learners. docs/testing.md shows how."""

from arena.testing import check_adversary, check_learner
from audits.search import referee_for
from audits.testing.asserting import ERROR, assert_private, assert_refuted
from audits.testing.budget import BUDGETS, Budget, Underpowered, games_needed
from audits.testing.finding import Finding
from audits.testing.outcome import NotPrivate, NotRefuted, Outcome
from audits.testing.strategies import adversaries, neighbouring_samples, streams

__all__ = [
    "BUDGETS",
    "ERROR",
    "Budget",
    "Finding",
    "NotPrivate",
    "NotRefuted",
    "Outcome",
    "Underpowered",
    "adversaries",
    "assert_private",
    "assert_refuted",
    "check_adversary",
    "check_learner",
    "games_needed",
    "neighbouring_samples",
    "referee_for",
    "streams",
]
