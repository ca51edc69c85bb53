"""Learners that wrap other code with its own claim: the user's functions, OpenDP, diffprivlib, Opacus, JAX
Privacy.

No library is imported with this package. The user supplies a function that makes a mechanism or a model, and
training runs import their library when they begin.
"""
