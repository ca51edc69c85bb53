"""Repeat an experiment of a paper: python -m benchmarks.papers COMMAND --help."""

from __future__ import annotations

import click

from benchmarks.papers.hypothesis import hypothesis
from benchmarks.papers.poison import poison
from benchmarks.papers.table4 import table4

if __name__ == "__main__":
    click.Group(commands=[table4, poison, hypothesis], help=__doc__)()
