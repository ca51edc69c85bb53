"""Mechanisms on tables: noise, sparse vector, selection, and the arithmetic of composition."""
