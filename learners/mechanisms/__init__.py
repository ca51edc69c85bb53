"""Mechanisms on tables: noise and its laws, sparse vector, selection, and the arithmetic of composition."""
