"""Attacks on training runs."""
