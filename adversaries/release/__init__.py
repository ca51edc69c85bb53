"""Adversaries of the release protocol."""
