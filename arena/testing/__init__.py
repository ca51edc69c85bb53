"""Conformance checks for authors of players: what audits rely on, but no referee can see in one game.

They need no test framework. A check that fails raises `NotConforming` with the rule that is broken, or
whatever a referee raises. Statistical checks refuse a sound player with probability at most `RATE` each.
"""

from arena.testing.adversary import check_adversary
from arena.testing.batches import RATE
from arena.testing.learner import check_learner

__all__ = ["RATE", "check_adversary", "check_learner"]
