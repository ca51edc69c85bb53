"""The constants in the code of a user's learner, which it may treat in a way of their own, as a code for
missing values.

Code is followed from the learner by name, whatever else is loaded, so that the same learner has the same
constants in every process.
"""

from __future__ import annotations

import sys
import sysconfig
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from decimal import Decimal
from dis import get_instructions
from fractions import Fraction
from functools import cached_property, lru_cache, partial
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import attrs
import numpy as np

from arena import Learner
from arena.parcels import is_mechanism

_SHIPPED = {"arena", "learners", "adversaries", "audits"}  # code without values of a user
_LIBRARIES = tuple(Path(sysconfig.get_path(kind)).resolve() for kind in ("stdlib", "purelib", "platlib"))
_MOST_OBJECTS = 2_000  # that are looked at
_MOST_ENTRIES = 256  # of one container
_GENERATED = "<attrs generated"  # the beginning of the file names of methods that attrs writes
_LOADS = ("LOAD_CONST", "LOAD_SMALL_INT")
_IGNORED = {"__hash__", "__eq__", "__repr__", "__firstlineno__", "__doc__", "__module__", "__weakref__"}


@lru_cache(maxsize=64)
def list_constants(learner: Learner) -> tuple[float, ...]:
    """The numbers in the code of a learner of the user's: `list_code_values`, also if a text spells them."""
    numbers = (_read_number(value) for value in list_code_values(learner))
    return tuple(dict.fromkeys(number for number in numbers if number is not None))


@lru_cache(maxsize=64)
def list_code_values(learner: Learner) -> tuple[Any, ...]:
    """The numbers, texts and dates in the code and the values that a learner of the user's reaches, from the
    functions among its settings and its own class on, nearest first. Libraries and dp-arena itself are left
    out."""
    settings = [getattr(learner, field.name) for field in attrs.fields(type(learner))]
    start: list[Any] = [value for value in settings if callable(value) or is_mechanism(value)]
    if _is_own(type(learner)):
        start += [type(learner), *settings]
    return tuple(dict.fromkeys(_walk(start)))


def _walk(start: Iterable[Any]) -> Iterator[Any]:
    """Breadth first: the values nearest to the beginning come first."""
    waiting, seen = deque(start), set[int]()
    kept: list[Any] = []  # so that no two objects share an id
    while waiting and len(seen) < _MOST_OBJECTS:
        value = waiting.popleft()
        if _read_number(value) is not None or isinstance(value, date):
            yield value
        elif id(value) not in seen:
            if isinstance(value, str):
                yield value
            seen.add(id(value))
            kept.append(value)
            waiting.extend(_list_parts(value))


def _read_number(value: Any) -> float | None:
    """A finite number, or one that a text spells; None for anything else."""
    if isinstance(value, bool | complex | np.bool_ | np.complexfloating):
        return None
    if not isinstance(value, int | float | str | np.number | Decimal | Fraction):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number + 0.0 if isfinite(number) else None


def _list_parts(value: Any) -> Iterable[Any]:
    if isinstance(value, CodeType):
        return [*value.co_consts, *_list_dates(value)]
    if isinstance(value, Mapping):
        return [part for pair in list(value.items())[:_MOST_ENTRIES] for part in pair]
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)[:_MOST_ENTRIES]
    if isinstance(value, tuple | list | deque):
        return list(value)[:_MOST_ENTRIES]
    if isinstance(value, range | slice):
        return [value.start, value.stop, value.step]
    if isinstance(value, np.ndarray):
        return value.ravel()[:_MOST_ENTRIES].tolist()
    if isinstance(value, str | bytes | ModuleType | None):
        return ()
    if isinstance(value, FunctionType):
        return _list_function_parts(value) if _is_own(value) else ()
    if isinstance(value, type):
        parts = [part for name, part in vars(value).items() if name not in _IGNORED]
        return [*parts, *value.__bases__] if _is_own(value) else ()
    return _list_instance_parts(value)


def _list_function_parts(function: FunctionType) -> list[Any]:
    if function.__code__.co_filename.startswith(_GENERATED):
        return []
    enclosed = []
    for cell in function.__closure__ or ():
        try:
            enclosed.append(cell.cell_contents)
        except ValueError:  # it has no value yet
            continue
    names = _list_names(function.__code__)
    named = [function.__globals__[name] for name in names if name in function.__globals__]
    # `settings.MISSING` or `helpers.clip`: of a module, a class or an instance only what is named.
    attributes = [
        vars(owner)[name]
        for owner in (*named, *enclosed)
        if hasattr(owner, "__dict__") and not isinstance(owner, FunctionType)
        for name in names
        if name in vars(owner)
    ]
    wrapped = getattr(function, "__wrapped__", None)
    defaults = function.__defaults__, function.__kwdefaults__
    return [function.__code__, *defaults, *enclosed, *named, *attributes, wrapped]


def _list_dates(code: CodeType) -> Iterator[date]:
    """Dates that code makes of three numbers: `date(1970, 1, 1)`."""
    loaded = [step.argval for step in get_instructions(code) if step.opname in _LOADS]
    for three in zip(loaded, loaded[1:], loaded[2:], strict=False):
        with suppress(TypeError, ValueError, OverflowError):
            yield date(*three)


def _list_names(code: CodeType) -> list[str]:
    """The global names and attributes in a code object and those within it."""
    inner = [name for part in code.co_consts if isinstance(part, CodeType) for name in _list_names(part)]
    return list(dict.fromkeys([*code.co_names, *inner]))


def _list_instance_parts(value: Any) -> list[Any]:
    """What a partial function, a method, a property, a field or an object of the user's holds."""
    for kind, names in _HOLDERS.items():
        if isinstance(value, kind):
            return [getattr(value, name) for name in names]
    if _is_own(type(value)):
        slots = [getattr(value, name, None) for name in getattr(type(value), "__slots__", ())]
        return [*getattr(value, "__dict__", {}).values(), *slots, type(value)]
    return []


_HOLDERS: dict[type, tuple[str, ...]] = {
    partial: ("func", "args", "keywords"),
    MethodType: ("__func__", "__self__"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget",),
    cached_property: ("func",),
    type(lru_cache(len)): ("__wrapped__",),
    np.vectorize: ("pyfunc",),
    attrs.Attribute: ("default",),
}


def _is_own(value: Any) -> bool:
    """Whether a function or a class is the user's: of no library, and no part of dp-arena."""
    return not _is_library((getattr(value, "__module__", None) or "builtins").partition(".")[0])


@lru_cache(maxsize=1_024)
def _is_library(package: str) -> bool:
    """Whether a package is dp-arena's, Python's or installed; a module that nobody can find is a plug-in."""
    if package in _SHIPPED or package in sys.stdlib_module_names:
        return package != "__main__"
    try:
        found = find_spec(package)
    except ValueError:  # a module of a test or a notebook has no specification
        return False
    if found is None or found.origin is None:
        return False
    return any(Path(found.origin).resolve().is_relative_to(folder) for folder in _LIBRARIES)
