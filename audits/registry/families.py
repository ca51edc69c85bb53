"""Families of players: the folder of a shipped player, the package of another."""

from __future__ import annotations

import importlib
import inspect

from audits.registry.players import ADVERSARIES, LEARNERS


def find_family(location: str) -> str:
    """The family of a player at "module:Class", or of the players of a module."""
    package, _, rest = location.partition(":")[0].partition(".")
    return rest.partition(".")[0] if package in (LEARNERS.package, ADVERSARIES.package) else package


def describe_family(location: str) -> str:
    """The first line of the docstring of that family."""
    module = location.partition(":")[0]
    package = ".".join(module.split(".")[:2]) if "." in module else module
    return (inspect.getdoc(importlib.import_module(package)) or "").partition("\n\n")[0].replace("\n", " ")
