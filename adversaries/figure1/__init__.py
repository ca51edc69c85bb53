"""Adversaries of the two-world game of Figure 1 of Private Everlasting Prediction."""
