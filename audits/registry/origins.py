"""What players come from: the versions of packages, and the comparison of digests and versions."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from arena.capabilities import UsesPackages
from arena.errors import InvalidArgument, is_users_file
from arena.randomness import STREAMS
from audits.registry import OWN_PACKAGES

# Top-level modules that are compared otherwise, or on which no figure depends.
_NOT_COMPARED = {*sys.stdlib_module_names, *OWN_PACKAGES, "audits", "numpy", "attr", "attrs"}

Origins = Mapping[str, Mapping[str, str]]  # digests of "files" and versions of "packages", by name


def read_origins(notes: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The entries "files" and "packages" of the notes in a ledger."""
    found = {entry: notes.get(entry) for entry in ("files", "packages")}
    return {entry: {**values} if isinstance(values, dict) else {} for entry, values in found.items()}


def join_origins(recorded: Origins, present: Origins) -> dict[str, dict[str, str]]:
    """All that is recorded, and what is present besides."""
    return {entry: {**values, **recorded[entry]} for entry, values in present.items()}


def find_changes(recorded: Mapping[str, str], present: Mapping[str, str]) -> dict[str, str]:
    """The present values that differ from the recorded ones, by name. What only one has is no matter."""
    return {name: present[name] for name, old in recorded.items() if present.get(name, old) != old}


def check_origins(path: Path, recorded: Origins, present: Origins, where: str = "now") -> None:
    """Raises: InvalidArgument if values present `where` differ from those of the ledger at `path`."""
    changes = [
        f"{name} ({recorded[entry][name]!s:.18} in {path}, {value!s:.18} {where})"
        for entry in recorded
        for name, value in find_changes(recorded[entry], present[entry]).items()
    ]
    if changes:
        raise InvalidArgument(
            f"files or packages from which the players come have changed: {', '.join(changes)}",
            remedy="Restore them, or begin a new ledger. If no figure depends on the change, give "
            "--allow-changes: a ledger then holds games from before and after it.",
        )


def versions() -> dict[str, str]:
    """The software that figures depend on besides a plan: random streams may change between versions."""
    try:
        own = metadata.version("dp-arena")
    except metadata.PackageNotFoundError:
        own = "not installed"
    return {"dp-arena": own, "numpy": np.__version__, "streams": str(STREAMS)}


def find_packages(
    players: Iterable[object], *, sources: Iterable[Path] = (), more: Collection[str] = ()
) -> dict[str, str]:
    """The versions, by distribution, of the packages that players, their settings and source files of the
    user's come from. more: top-level modules of further packages."""
    roots = {root for player in players for root in _list_roots(player)} | set(more)
    files = (str(getattr(sys.modules.get(root), "__file__", None)) for root in roots)
    own = {Path(file) for file in files if file.endswith(".py") and is_users_file(file)}
    roots |= {root for path in own | {*sources} for root in list_imports(path)}
    roots = {root for root in roots - _NOT_COMPARED if not root.startswith("arena_plugin_")}
    homes = find_distributions() if roots else {}
    return {home: metadata.version(home) for root in sorted(roots) for home in homes.get(root, ())}


def find_other_versions(packages: Mapping[str, str]) -> str:
    """Which of these packages have another version here, in words."""
    present = dict.fromkeys(packages, "not installed")
    for name in packages:
        with suppress(metadata.PackageNotFoundError):
            present[name] = metadata.version(name)
    return ", ".join(f"{n} {packages[n]} ({found})" for n, found in present.items() if found != packages[n])


def list_imports(path: Path) -> set[str]:
    """The top-level modules that a source file imports, anywhere in it."""
    try:
        nodes = [*ast.walk(ast.parse(path.read_bytes()))] if path.suffix == ".py" else []
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom) and not node.level]
    return {name.partition(".")[0] for name in names}


def _list_roots(value: object) -> set[str]:
    """The top-level modules from which a player or a setting comes, and those that it says it uses."""
    if isinstance(value, partial):
        return set().union(*map(_list_roots, (value.func, *value.args, *value.keywords.values())))
    kinds = (value,) if isinstance(value, type) or hasattr(value, "__qualname__") else type(value).__mro__
    roots = {str(getattr(kind, "__module__", "")).partition(".")[0] for kind in kinds}
    if isinstance(value, UsesPackages):
        roots |= set(value.packages)
    kind: Any = type(value)
    if attrs.has(kind):
        roots |= set().union(*(_list_roots(getattr(value, field.name)) for field in attrs.fields(kind)))
    return roots - {""}


@cache
def find_distributions() -> Mapping[str, list[str]]:
    """The distributions of every top-level module. It takes a tenth of a second."""
    return metadata.packages_distributions()
