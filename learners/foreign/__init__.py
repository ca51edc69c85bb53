"""Mechanisms of others: functions of yours, and those of OpenDP and diffprivlib, with their own claims.

None of the libraries is imported here: whoever audits one brings a function that makes the mechanism.
"""
