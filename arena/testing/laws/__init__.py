"""Comparison of games with the output distribution that a learner declares."""
