"""Experiments of the papers, repeated: python -m benchmarks.papers table4 | poison | hypothesis."""
