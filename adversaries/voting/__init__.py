"""Adversaries of the voting protocol."""
