"""Concept classes given as a boolean matrix of concepts by points."""
