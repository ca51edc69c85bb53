"""Files of the user's: the modules in them, and the functions that they define."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from arena.errors import InvalidArgument


def function_at(text: str) -> Callable[..., Any]:
    """The function at `path/to/file.py:name`; raises InvalidArgument if there is none."""
    path, _, name = text.rpartition(":")
    if not path.endswith(".py"):
        raise InvalidArgument("a function is named as path/to/file.py:name", value=text)
    found = vars(module_of(path)).get(name)
    if not callable(found):
        raise InvalidArgument(f"{path} has no function {name!r}", remedy="Name one that it defines.")
    return found


def module_of(path: str) -> ModuleType:
    """The module in a file, once for all players in it; worker processes are sent it by value."""
    try:
        where = Path(path).resolve()
        source = where.read_bytes()
    except OSError as error:
        raise InvalidArgument(
            f"the plug-in {path} cannot be read ({error.strerror})", remedy="Check the path."
        ) from error
    # The name tells versions of a file apart, and is the same wherever the file is.
    name = f"arena_plugin_{where.stem}_{hashlib.sha256(source).hexdigest()[:12]}"
    if name not in sys.modules:
        from cloudpickle import register_pickle_by_value  # slow to import, and rarely needed

        # Worker processes do not know the module by its name, so its classes must travel whole.
        register_pickle_by_value(_imported(name, where, source, path))
    return sys.modules[name]


def _imported(name: str, where: Path, source: bytes, path: str) -> ModuleType:
    module = ModuleType(name)
    module.__file__ = str(where)
    sys.modules[name] = module  # annotations are looked up there
    try:
        # Not by a loader, which may take yesterday's bytecode for a file edited twice in a second.
        exec(compile(source, str(where), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise InvalidArgument(
            f"the plug-in {path} cannot be imported ({fault_of(error)})",
            remedy=f"Mend it; `python {path}` shows where it fails.",
        ) from error
    return module


def fault_of(error: BaseException) -> str:
    """What went wrong, and in which line if it is one of syntax."""
    where = f", line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
    return f"{type(error).__name__}: {error}" + ("" if "line" in str(error) else where)
