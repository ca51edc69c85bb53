"""The registry of players, and players built from text.

It imports nothing of dp-arena, so that `check_own_packages` can say what is wrong before an import fails.
"""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache
from importlib import metadata
from importlib.machinery import all_suffixes
from pathlib import Path
from types import ModuleType

OWN_PACKAGES = ("arena", "learners", "adversaries")
_HOME = Path(__file__).resolve().parents[2]
_MOST_FILES = 5  # that a message lists


def check_own_packages() -> None:
    """Raises: ImportError if a folder or file of the user's hides a package of dp-arena, or if another
    distribution has installed modules into one."""
    for name in OWN_PACKAGES:
        spec = importlib.util.find_spec(name)
        folders = list(spec.submodule_search_locations or []) if spec is not None else []
        if spec is not None and Path(*folders[:1]).resolve() != _HOME / name:
            place = folders[0] if folders else spec.origin
            raise ImportError(
                f"Python finds {place} where dp-arena's package `{name}` should be, {_HOME / name}. Rename "
                "that folder or file, or start Python in another folder. The command `arena` is not affected."
            )
    foreign = find_foreign_modules(_HOME)
    if foreign:
        more = f" and {len(foreign) - _MOST_FILES} more" if len(foreign) > _MOST_FILES else ""
        others = [f" They are those of {name}." for name in _find_other_distributions(_HOME, foreign)]
        raise ImportError(
            f"dp-arena did not install these modules of its packages in {_HOME}: "
            f"{', '.join(foreign[:_MOST_FILES])}{more}.{''.join(others)} Install dp-arena somewhere else."
        )


@cache
def find_foreign_modules(home: Path) -> list[str]:
    """The modules in dp-arena's packages below `home` that its record of installation lacks, or, of the
    packages themselves, has with another size. Empty for a checkout and an editable installation."""
    distribution = _find_own_distribution(home)
    record = distribution.files if distribution and distribution.read_text("RECORD") else None
    sizes = {Path(str(file)).as_posix(): file.size for file in record or ()}
    packages = (*OWN_PACKAGES, "audits")
    if not all(f"{name}/__init__.py" in sizes for name in packages):
        return []
    installed = (path for name in packages for path in (home / name).rglob("*"))
    modules = {
        path.relative_to(home).as_posix(): path
        for path in installed
        if path.suffix in all_suffixes() and "__pycache__" not in path.parts
    }
    changed = {
        name
        for name in (f"{package}/__init__.py" for package in packages)
        if sizes[name] not in (None, (home / name).stat().st_size)
    }
    return sorted((modules.keys() - sizes.keys()) | changed)


def _find_own_distribution(home: Path) -> metadata.Distribution | None:
    return next(iter(metadata.distributions(name="dp-arena", path=[str(home)])), None)


def _find_other_distributions(home: Path, modules: list[str]) -> list[str]:
    """The other distributions below `home` whose records have one of these modules."""
    return sorted(
        {
            str(other.name)
            for other in metadata.distributions(path=[str(home)])
            if other.name != "dp-arena" and {str(file) for file in other.files or ()} & {*modules}
        }
    )


def import_own_package(name: str) -> ModuleType:
    """The package of dp-arena of that name. Raises: ImportError as `check_own_packages` does."""
    check_own_packages()
    return importlib.import_module(name)
