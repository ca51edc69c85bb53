"""Adversaries, one file per strategy."""
