"""Adversaries of the voting protocol: nature, which chooses the samples and the queries."""
