"""Mechanisms for batches of games: noise, sparse vector, selection, counters, experts, and accounting."""
