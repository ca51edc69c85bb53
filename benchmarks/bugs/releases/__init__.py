"""Bugs in releases that can be installed, each in an environment of its own: `make bugs-libraries`.

An adapter of a few lines calls the release itself. Requirements are in requirements-LIBRARY.txt;
what is installed without its own requirements is in alone-LIBRARY.txt.
"""
