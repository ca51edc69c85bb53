"""Learners of decision lists (Bun and Fang)."""
