"""Figures of Bun and Fang on decision lists."""
