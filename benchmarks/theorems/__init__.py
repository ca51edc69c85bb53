"""Figures of what the papers' theorems promise; docs/theorems/ holds what was found.

Each module of the packages below is a figure: its function `main` measures, prints a table, draws a picture.
"""
