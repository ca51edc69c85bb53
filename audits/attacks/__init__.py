"""Attacks on utility or confidentiality, whose result is a figure with limits and not a certificate."""
