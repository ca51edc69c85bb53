"""Python files of the user: their modules, and the functions in them."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

from arena.errors import InvalidArgument, describe_error, is_users_file
from arena.parcels import register_source
from arena.settings import read_file
from audits.registry.own_packages import OWN, import_own_package

_MAX_SIZE = 4  # MiB
_PREFIX = "arena_plugin_"  # of the names of plug-ins' modules
_folders: list[str] = []  # of plug-ins, the last one first, at the end of sys.path


def load_function(text: str) -> Callable[..., Any]:
    """The function at `path/to/file.py:name`. Raises: InvalidArgument if there is none."""
    path, _, name = text.rpartition(":")
    if not path.endswith(".py"):
        raise InvalidArgument("a function is named as path/to/file.py:name", value=text)
    function = vars(load_module(path)).get(name)
    if not callable(function):
        raise InvalidArgument(f"{path} has no function {name!r}", remedy="Name one that it defines.")
    return function


def load_module(path: str) -> ModuleType:
    """The module in a file. It is imported once, and again if the file has changed.

    It may import files in its folder. Worker processes receive its source, and those of these files, so they
    need not be able to find them.
    """
    source = read_file("plug-in", path, mebibytes=_MAX_SIZE, code=True)
    location = Path(os.path.realpath(path))
    # The name distinguishes versions of a file, and does not depend on its folder.
    name = f"{_PREFIX}{location.stem}_{hashlib.sha256(source).hexdigest()[:12]}"
    if name not in sys.modules:
        _make_importable(location.parent)
        before = set(sys.modules)
        register_source(_import_source(name, location, source, path), source, imported=False)
        for new in set(sys.modules) - before - {name}:
            if _is_in(sys.modules[new], location.parent):
                with suppress(OSError):  # a package without a file of its own
                    imported = Path(str(sys.modules[new].__file__)).read_bytes()
                    register_source(sys.modules[new], imported, imported=True)
    return sys.modules[name]


def _make_importable(folder: Path) -> None:
    """Let a plug-in import the files of its folder, unless Python or a package has a module of that name.

    If a plug-in of another folder has imported a file of the same name, that is forgotten. A folder of the
    user's may be called `learners`: dp-arena's own packages are imported before.
    """
    for name in OWN:
        import_own_package(name)
    others = [path for path in _folders if path != str(folder)]
    if str(folder) in _folders or str(folder) not in sys.path:
        sys.path[:] = [path for path in sys.path if path not in _folders]
        _folders[:] = [str(folder), *others]
        sys.path += _folders
    for name, module in [*sys.modules.items()]:
        own = folder / name.partition(".")[0]
        if not (name.startswith(_PREFIX) or own.is_dir() or own.with_suffix(".py").is_file()):
            continue
        if any(_is_in(module, Path(other)) for other in others):
            del sys.modules[name]


def _is_in(module: ModuleType, folder: Path) -> bool:
    """Whether a module is the user's and in the folder, or below it."""
    path = getattr(module, "__file__", None)
    return path is not None and folder in Path(path).parents and is_users_file(path)


def _import_source(name: str, location: Path, source: bytes, path: str) -> ModuleType:
    module = ModuleType(name)
    module.__file__ = str(location)
    sys.modules[name] = module  # attrs and typing look up annotations there
    try:
        # An import loader could use stale bytecode for a file that was edited twice within a second.
        exec(compile(source, str(location), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        encoded = isinstance(error, SyntaxError) and re.search("unicode error|null bytes", str(error))
        raise InvalidArgument(
            f"the plug-in {path} cannot be imported ({describe_error(error)})",
            remedy="Save it in UTF-8, or declare its encoding in its first line."
            if encoded
            else f"Fix it; `python {path}` shows where it fails.",
        ) from error
    return module
