"""Identity of a callable across processes: its name and a digest of its code.

The `repr` of a function contains its address in memory, which differs between processes.
"""

from __future__ import annotations

import hashlib
from functools import partial
from types import CellType, CodeType
from typing import Any

import numpy as np

_LITERAL = bool | int | float | complex | str | bytes | None | np.generic


def callable_name(function: Any) -> str:
    """The name of a callable: `f`, or `f(scale=2)` for a partial.

    >>> callable_name(partial(round, ndigits=2))
    'round(ndigits=2)'
    """
    if isinstance(function, partial):
        arguments = [repr(value) for value in function.args]
        arguments += [f"{name}={value!r}" for name, value in function.keywords.items()]
        return f"{callable_name(function.func)}({', '.join(arguments)})"
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def fingerprint(function: Any) -> str:
    """A text that is equal for callables of the same module, name, code, defaults and enclosed values, in any
    process of one minor version of Python.

    Not part of it: global variables that the code uses, and attributes of a callable that is not a function.
    """
    return _identify(function, (id(function),))


_Path = tuple[int, ...]  # ids of the objects that contain a value: a function may enclose itself


def _identify(function: Any, path: _Path) -> str:
    if isinstance(function, partial):
        return _text((function.func, function.args, sorted(function.keywords.items())), path)
    origin = f"{getattr(function, '__module__', None) or type(function).__module__}:{callable_name(function)}"
    code = getattr(function, "__code__", None)
    if code is None:
        return origin
    enclosed = [_read_cell(cell) for cell in function.__closure__ or ()]
    content = _text((code, function.__defaults__, function.__kwdefaults__, enclosed), path)
    return f"{origin} {hashlib.sha256(content.encode()).hexdigest()[:16]}"


def _read_cell(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # the name was deleted, or has no value yet
        return CellType


def _text(value: object, path: _Path) -> str:
    """A text that is the same in every process; for a value of an unknown kind, the kind alone."""
    if isinstance(value, _LITERAL):
        return repr(value)
    if id(value) in path:
        return f"^{path.index(id(value))}"
    within = (*path, id(value))
    if isinstance(value, CodeType):
        return _text((value.co_code, value.co_consts, value.co_names), within)
    if isinstance(value, tuple | list):
        return f"({','.join(_text(entry, within) for entry in value)})"
    if isinstance(value, set | frozenset):
        return f"{{{','.join(sorted(_text(entry, within) for entry in value))}}}"
    if isinstance(value, dict):
        entries = [(_text(key, within), _text(entry, within)) for key, entry in value.items()]
        return _text(sorted(entries), within)
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if callable(value):
        return _identify(value, within)
    return f"{type(value).__module__}:{type(value).__qualname__}"
