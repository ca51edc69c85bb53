"""Concept classes on the line: thresholds, intervals and points, on finite domains and on all reals."""
