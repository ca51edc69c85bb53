"""Distinguishers: functions that map a view to a score."""
