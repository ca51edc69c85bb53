"""Solve two-world games: how much the best adaptive adversary learns, from below and from above."""

from audits.solver import games as games
