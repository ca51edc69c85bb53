"""Adversaries of the two-world game of Figure 1."""
