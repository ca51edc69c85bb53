"""The example data sets of the package."""

from __future__ import annotations

from importlib import resources

FILES = {"adult": "adult.csv.gz", "mushroom": "mushroom.csv.gz"}


def read_example(name: str) -> bytes:
    """The gzipped CSV of the data set `name`, of FILES."""
    return resources.files("audits.data").joinpath("examples", FILES[name]).read_bytes()
