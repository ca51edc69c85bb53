"""Races: several learners against one adversary, compared round by round by mistakes, regret or errors."""
