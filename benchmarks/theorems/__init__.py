"""Figures of what the papers' theorems promise; docs/theorems/ shows what was found.

Each module of the packages below is a figure: its function `main` measures, writes tables into
docs/tables, and draws a picture.
"""
