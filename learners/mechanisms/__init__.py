"""Mechanisms for batches of games: noise, sparse vector, selection, counters, experts, and accounting.

Functions and constructors raise InvalidArgument if a parameter is out of range.
"""
