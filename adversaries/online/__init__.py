"""Adversaries of online games."""
