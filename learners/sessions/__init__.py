"""Learners that answer queries in sessions."""
