"""Adversaries of sessions."""
