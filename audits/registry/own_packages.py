"""Whether the packages that Python finds are those of dp-arena, and not folders of the user's.

This module imports nothing of dp-arena, so that it can say what is wrong before an import fails.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from types import ModuleType

OWN = ("arena", "learners", "adversaries")
_FOLDER = Path(__file__).resolve().parents[2]


def check_own_packages() -> None:
    """Raises: ImportError if a folder or file of the user's hides a package of dp-arena."""
    for name in OWN:
        spec = importlib.util.find_spec(name)
        folders = list(spec.submodule_search_locations or []) if spec is not None else []
        if spec is not None and Path(*folders[:1]).resolve() != _FOLDER / name:
            place = folders[0] if folders else spec.origin
            raise ImportError(
                f"Python finds {place} where dp-arena's package `{name}` should be, {_FOLDER / name}. Rename "
                "that folder or file, or start Python in another folder. The command `arena` is not affected."
            )


def import_own_package(name: str) -> ModuleType:
    """The package of dp-arena of that name. Raises: ImportError as `check_own_packages` does."""
    check_own_packages()
    return importlib.import_module(name)
