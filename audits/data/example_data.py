"""The example data sets, which are in the package if it was built with them."""

from __future__ import annotations

from importlib import resources

from arena.errors import InvalidArgument

FILES = {"adult": "adult.csv.gz", "mushroom": "mushroom.csv.gz"}


def read_example(name: str) -> bytes:
    """The gzipped CSV of the data set `name`, of FILES. Raises: InvalidArgument if it is not installed."""
    file = resources.files("audits.data").joinpath("examples", FILES[name])
    if not file.is_file():
        raise InvalidArgument(
            f"the data set {name} is not in this installation of dp-arena",
            remedy=f"Get examples/data/{FILES[name]} from a clone of its repository, or from a source "
            "distribution (pip download --no-binary :all: --no-deps dp-arena).",
        )
    return file.read_bytes()
