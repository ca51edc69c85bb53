"""Bounds on games with too many beliefs to list, by a search from both sides."""
