"""Tournaments: every learner against every adversary that it can meet, in an audit or a race of each pair."""
