"""Votes of teachers and the students that learn from them (Liu, Zhu, Chaudhuri, Wang)."""
