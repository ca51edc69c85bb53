"""Learners that wrap mechanisms of other code: the user's functions, OpenDP and diffprivlib, with their own
claims.

No library is imported here: the user supplies a function that makes the mechanism.
"""
