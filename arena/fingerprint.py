"""By what a plan knows a callable: its name and a digest of its code.

A function's own text says where it lies in memory, which is another place in every process.
"""

from __future__ import annotations

import hashlib
from functools import partial
from types import CellType, CodeType
from typing import Any

import numpy as np

_TOLD = bool | int | float | complex | str | bytes | None | np.generic


def callable_name(function: Any) -> str:
    """What to call a callable: `f`, or `f(scale=2)` of a partial.

    >>> name_of(partial(round, ndigits=2))
    'round(ndigits=2)'
    """
    if isinstance(function, partial):
        given = [repr(value) for value in function.args]
        given += [f"{name}={value!r}" for name, value in function.keywords.items()]
        return f"{callable_name(function.func)}({', '.join(given)})"
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def fingerprint(function: Any) -> str:
    """The same for two callables of one module and name that run the same code with the same defaults and
    enclosed values; under one minor version of Python, in any process. Values of a module that the code looks
    up by name are not part of it, nor are attributes of a callable that is no function.
    """
    return _of(function, (id(function),))


_Above = tuple[int, ...]  # identities of what holds a value: a function may enclose itself


def _of(function: Any, above: _Above) -> str:
    if isinstance(function, partial):
        return _text((function.func, function.args, sorted(function.keywords.items())), above)
    home = f"{getattr(function, '__module__', None) or type(function).__module__}:{callable_name(function)}"
    code = getattr(function, "__code__", None)
    if code is None:
        return home
    enclosed = [_enclosed(cell) for cell in function.__closure__ or ()]
    told = _text((code, function.__defaults__, function.__kwdefaults__, enclosed), above)
    return f"{home} {hashlib.sha256(told.encode()).hexdigest()[:16]}"


def _enclosed(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # of a name that was deleted, or is not yet there
        return CellType


def _text(value: object, above: _Above) -> str:
    """The same in every process; of what it does not know, the kind alone."""
    if isinstance(value, _TOLD):
        return repr(value)
    if id(value) in above:
        return f"^{above.index(id(value))}"
    within = (*above, id(value))
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
        return _of(value, within)
    return f"{type(value).__module__}:{type(value).__qualname__}"
