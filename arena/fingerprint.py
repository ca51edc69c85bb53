"""By what a plan knows a callable: its name and a digest of its code.

A function's own text says where it lies in memory, which is another place in every process.
"""

from __future__ import annotations

import hashlib
from functools import partial
from types import CodeType
from typing import Any

import numpy as np

_TOLD = bool | int | float | complex | str | bytes | None


def name_of(function: Any) -> str:
    """What to call a callable: `f`, or `f(scale=2)` of a partial.

    >>> name_of(partial(round, ndigits=2))
    'round(ndigits=2)'
    """
    if isinstance(function, partial):
        given = [repr(value) for value in function.args]
        given += [f"{name}={value!r}" for name, value in function.keywords.items()]
        return f"{name_of(function.func)}({', '.join(given)})"
    return getattr(function, "__qualname__", None) or type(function).__qualname__


def fingerprint(function: Any) -> str:
    """The same for two callables of one module and name that run the same code with the same defaults and
    enclosed values; under one minor version of Python, in any process. Values of a module that the code looks
    up by name are not part of it, nor are attributes of a callable that is no function.
    """
    if isinstance(function, partial):
        return _text((function.func, function.args, sorted(function.keywords.items())))
    home = f"{getattr(function, '__module__', None) or type(function).__module__}:{name_of(function)}"
    code = getattr(function, "__code__", None)
    if code is None:
        return home
    enclosed = [cell.cell_contents for cell in function.__closure__ or ()]
    told = _text((code, function.__defaults__, function.__kwdefaults__, enclosed))
    return f"{home} {hashlib.sha256(told.encode()).hexdigest()[:16]}"


def _text(value: object) -> str:
    """The same in every process; of what it does not know, the kind alone."""
    if isinstance(value, _TOLD):
        return repr(value)
    if isinstance(value, CodeType):
        return _text((value.co_code, value.co_consts, value.co_names))
    if isinstance(value, tuple | list):
        return f"({','.join(map(_text, value))})"
    if isinstance(value, set | frozenset):
        return f"{{{','.join(sorted(map(_text, value)))}}}"
    if isinstance(value, dict):
        return _text(sorted((_text(key), _text(entry)) for key, entry in value.items()))
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str}{value.shape}{hashlib.sha256(value.tobytes()).hexdigest()}"
    if callable(value):
        return fingerprint(value)
    return f"{type(value).__module__}:{type(value).__qualname__}"
