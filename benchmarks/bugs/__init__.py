"""Privacy bugs that were reported in public, each re-created in a few lines, with a corrected twin.

The mechanisms need NumPy and pandas only, and so do `bug`, `collection` and the files of the kinds: other
auditors can play them without dp-arena. See docs/bugs.md for the list, and for how to add a bug.
"""
