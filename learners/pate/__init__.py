"""PATE: noisy votes of teachers, and students that learn from them (Liu, Zhu, Chaudhuri, Wang)."""
