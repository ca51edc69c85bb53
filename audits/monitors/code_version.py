"""The version of the code that a claim is about: digests of all that evidence must not outlive."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from importlib import metadata
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import attrs

from arena.errors import is_users_file
from arena.parcels import fingerprint
from audits.monitors.claims import Target
from audits.monitors.used_files import DIGITS, find_libraries, name_file
from audits.registry import OWN_PACKAGES
from audits.registry.origins import find_distributions, versions
from audits.registry.user_files import PLUGIN_PREFIX, compute_digest
from audits.runs.plan import describe

_OWN = (*OWN_PACKAGES, "audits")
_MOST_HELD = 10_000  # values of global variables that are looked at
READ = "read"  # the section of a version that says what its nights have read
_MACHINE = "source"  # the setting of a schema that names a file of this machine

Parts = Mapping[str, Mapping[str, str]]  # digests and versions by section and name


def describe_version(target: Target) -> dict[str, dict[str, str]]:
    """What the claim and the code that is tested are before it is played, the same on every machine.

    "claim": its text, and digests of the players with their settings, code and constants, and of functions of
    files that are gone, such as those of a notebook. "files": digests of the source of the mechanism's module
    and of what that imports or holds in its globals, directly or not, of its own package and of the user's
    files; of shared libraries in these globals; and of the files that the claim names. "packages": versions
    of the other packages that these import, of Python, numpy and dp-arena.

    Once a night has been played, a version has a further section, "read": see `add_files`.
    """
    sources, roots = _find_sources(target)
    sources |= {name_file(path, target.folder): Path(path) for path in target.files}
    players = [player for player in (target.learner, target.adversary, target.referee) if player is not None]
    claim = {"statement": str(target.claim), "players": _digest(_strip_paths([*map(describe, players)]))}
    loose = [f for f in list_functions(target.learner) if not Path(f.__code__.co_filename).is_file()]
    if loose:
        claim["functions"] = _digest([text for f in loose for text in _identify_all(f, set())])
    return {
        "claim": claim,
        "files": {name: compute_digest(path)[:DIGITS] for name, path in sorted(sources.items())},
        "packages": {**_find_versions(roots), **versions(), "Python": "{}.{}".format(*sys.version_info[:2])},
    }


def identify_version(parts: Parts) -> str:
    """The name of a version: a digest of its description."""
    return _digest(parts)


def add_files(parts: Parts, read: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """The description of a version of which nights have read these files, by `FileRecorder.digest`."""
    described = {section: dict(values) for section, values in parts.items() if section != READ}
    return {**described, READ: dict(read)} if read else described


def list_changes(before: Parts, after: Parts) -> list[str]:
    """What differs between two versions, as names with what became of them."""
    changes = []
    for section in ("claim", "files", "packages", READ):
        old, new = before.get(section, {}), after.get(section, {})
        for name in sorted({*old, *new}):
            if old.get(name) == new.get(name):
                continue
            if name not in new:
                changes.append(f"{name} is gone")
            elif section in ("files", READ):
                changes.append(f"{name} {'changed' if name in old else 'is new'}")
            elif name in ("players", "functions"):
                changes.append("code or settings of the mechanism, or its data, changed")
            else:
                changes.append(f"{name}: {old.get(name, 'none')} became {new[name]}")
    return list(dict.fromkeys(changes))


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _strip_paths(value: object) -> object:
    """A description of players without the files of this machine."""
    if isinstance(value, Mapping):
        return {name: _strip_paths(entry) for name, entry in value.items() if name != _MACHINE}
    return [_strip_paths(entry) for entry in value] if isinstance(value, list) else value


# --- functions ---------------------------------------------------------------------------------------------


def _list_values(value: Any) -> Iterator[Any]:
    """A player or a setting, and all that it is made of."""
    yield value
    if isinstance(value, partial):
        for part in (value.func, *value.args, *value.keywords.values()):
            yield from _list_values(part)
    elif attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            yield from _list_values(getattr(value, field.name))


def list_functions(value: Any) -> list[FunctionType]:
    """The Python functions in a player or a setting."""
    functions = (getattr(part, "__func__", part) for part in _list_values(value))
    return [function for function in functions if isinstance(function, FunctionType)]


def _identify_all(function: FunctionType, known: set[int]) -> Iterator[str]:
    """The fingerprints of a function and of the functions and classes of its module that it refers to."""
    known.add(id(function))
    yield fingerprint(function)
    for name in function.__code__.co_names:
        item = function.__globals__.get(name)
        is_own = getattr(item, "__module__", None) == function.__module__
        if isinstance(item, FunctionType) and is_own and id(item) not in known:
            yield from _identify_all(item, known)
        elif isinstance(item, type) and is_own:
            yield fingerprint(item)


# --- files and packages ------------------------------------------------------------------------------------


def _find_sources(target: Target) -> tuple[dict[str, Path], set[str]]:
    """The files by the names of their modules, and the top-level modules of other packages."""
    values = [*_list_values(target.learner), *_list_values(target.adversary)]
    classes = [kind for value in values for kind in type(value).__mro__]
    names = {str(getattr(item, "__module__", "")) for item in (*values, *classes)}
    modules = {name for name in names if name in sys.modules and _find_file(sys.modules[name].__spec__, name)}
    own_roots = {name.partition(".")[0] for name in modules} - {*sys.stdlib_module_names, *_OWN}
    sources: dict[str, Path] = {}
    others: set[str] = set()
    waiting = sorted(modules)
    while waiting:
        name = waiting.pop()
        path = _locate(name)
        root = name.partition(".")[0]
        if path is None or root in sys.stdlib_module_names:
            continue
        if root in _OWN or not (root in own_roots or is_users_file(str(path))):
            others.add(root)
            continue
        label = path.name if name.startswith(PLUGIN_PREFIX) else name
        if label in sources:
            continue
        sources[label] = path
        held = vars(sys.modules[name]) if name in sys.modules else {}
        sources |= {Path(library).name: Path(library) for library in find_libraries(held)}
        waiting += sorted(_list_imports(name, path) | _list_held(held))
    return sources, others


def _list_held(values: Mapping[str, Any]) -> set[str]:
    """The modules that global variables hold, or that define what these hold, however they were imported."""
    held: list[Any] = []
    for name, value in values.items():
        if not name.startswith("__"):
            held += (
                value.values() if type(value) is dict else value if type(value) in (list, tuple) else [value]
            )
    names = {
        value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        for value in held[:_MOST_HELD]
        if not isinstance(value, type(values))
    }
    return {name for name in names if isinstance(name, str) and name in sys.modules}


def _locate(name: str) -> Path | None:
    """The file of a module that is imported, or would be; None for what has none, such as a namespace."""
    module = sys.modules.get(name)
    if module is not None:
        return _find_file(module.__spec__, name)
    parts, places, spec = name.split("."), None, None
    for end in range(1, len(parts) + 1):
        above = sys.modules.get(".".join(parts[:end]))
        if above is not None and hasattr(above, "__path__"):
            places = [*above.__path__]
            continue
        with suppress(ImportError, ValueError, AttributeError):  # a finder of somebody else may raise these
            spec = PathFinder.find_spec(".".join(parts[:end]), places)
        if spec is None:
            return None
        places = spec.submodule_search_locations
    return _find_file(spec, name)


def _find_file(spec: ModuleSpec | None, name: str) -> Path | None:
    origin = getattr(sys.modules.get(name), "__file__", None) if spec is None else spec.origin
    return Path(origin) if origin is not None and Path(origin).is_file() else None


def _list_imports(name: str, path: Path) -> set[str]:
    """The modules that a file of Python may import, anywhere in it, and the packages that contain it."""
    parts = name.split(".")
    modules = {".".join(parts[:end]) for end in range(1, len(parts))}
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    try:
        nodes = [*ast.walk(ast.parse(path.read_bytes()))] if path.suffix == ".py" else []
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return modules
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            with suppress(ImportError):  # from beyond the top-level package
                base = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
                modules |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return modules - {""}


def _find_versions(roots: set[str]) -> dict[str, str]:
    """The versions of the packages, by distribution, that have these top-level modules."""
    homes = find_distributions() if roots else {}
    return {home: metadata.version(home) for root in sorted(roots) for home in homes.get(root, ())}
