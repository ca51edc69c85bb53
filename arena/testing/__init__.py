"""Conformance checks for people who write players: what the arena relies on but no referee can see in one
game."""

from arena.testing.players import RATE, check_adversary, check_learner

__all__ = ["RATE", "check_adversary", "check_learner"]
