"""Python files of the user: their modules, and the functions in them."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from arena.errors import InvalidArgument, describe_error


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

    Worker processes receive its classes by value, so they need not be able to import it.
    """
    try:
        location = Path(path).resolve()
        source = location.read_bytes()
    except OSError as error:
        raise InvalidArgument(
            f"the plug-in {path} cannot be read ({error.strerror})", remedy="Check the path."
        ) from error
    # The name distinguishes versions of a file, and does not depend on its folder.
    name = f"arena_plugin_{location.stem}_{hashlib.sha256(source).hexdigest()[:12]}"
    if name not in sys.modules:
        from cloudpickle import register_pickle_by_value  # slow to import, and rarely needed

        register_pickle_by_value(_import_source(name, location, source, path))
    return sys.modules[name]


def _import_source(name: str, location: Path, source: bytes, path: str) -> ModuleType:
    module = ModuleType(name)
    module.__file__ = str(location)
    sys.modules[name] = module  # attrs and typing look up annotations there
    try:
        # An import loader could use stale bytecode for a file that was edited twice within a second.
        exec(compile(source, str(location), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise InvalidArgument(
            f"the plug-in {path} cannot be imported ({describe_error(error)})",
            remedy=f"Fix it; `python {path}` shows where it fails.",
        ) from error
    return module
