"""Experiments of the papers, repeated: python -m benchmarks.papers table4 | poison | hypothesis.

Beside them are the algorithms and constants that only the papers' own figures and theorems need.
"""
