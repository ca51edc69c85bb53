"""The registry of players, and players built from text.

It imports nothing of dp-arena, so that `check_own_packages` can say what is wrong before an import fails.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

OWN_PACKAGES = ("arena", "learners", "adversaries")
_HOME = Path(__file__).resolve().parents[2]


def check_own_packages() -> None:
    """Raises: ImportError if a folder or file of the user's hides a package of dp-arena."""
    for name in OWN_PACKAGES:
        spec = importlib.util.find_spec(name)
        folders = list(spec.submodule_search_locations or []) if spec is not None else []
        if spec is not None and Path(*folders[:1]).resolve() != _HOME / name:
            place = folders[0] if folders else spec.origin
            raise ImportError(
                f"Python finds {place} where dp-arena's package `{name}` should be, {_HOME / name}. Rename "
                "that folder or file, or start Python in another folder. The command `arena` is not affected."
            )


def import_own_package(name: str) -> ModuleType:
    """The package of dp-arena of that name. Raises: ImportError as `check_own_packages` does."""
    check_own_packages()
    return importlib.import_module(name)
