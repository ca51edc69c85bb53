"""Attacks on utility or on secrecy, whose outcome is a figure and no certificate."""
