"""Learners of decision lists (Bun, Fang)."""
