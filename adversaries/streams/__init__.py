"""Adversaries of streams."""
