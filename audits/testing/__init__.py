"""Tests of privacy claims, for authors of private learners. docs/testing.md explains them."""

from arena.testing import check_adversary, check_learner
from audits.search import referee_for
from audits.testing.assertions import ERROR, assert_private, assert_refuted
from audits.testing.budget import BUDGETS, Budget, Underpowered, games_needed
from audits.testing.outcome import NotPrivate, NotRefuted, Outcome
from audits.testing.refutation import Refutation
from audits.testing.strategies import adversaries, neighbouring_samples, streams

__all__ = [
    "BUDGETS",
    "ERROR",
    "Budget",
    "NotPrivate",
    "NotRefuted",
    "Outcome",
    "Refutation",
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
