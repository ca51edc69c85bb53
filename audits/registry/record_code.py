"""Records made with attrs as Python code that makes them again."""

from __future__ import annotations

import math
import sys
import textwrap
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import partial
from itertools import accumulate
from typing import Any

import attrs
import numpy as np

from arena.errors import is_users_file
from arena.sample import Sample
from audits.registry.settings_text import get_default

_WIDTH = 110
_STEP = 4  # of indentation


def write_assignment(name: str, record: Any) -> str:
    """Python code that imports what it needs and assigns a record, without its defaults, to a name."""
    writer = _Writer()
    code = attrs.evolve(writer.write(record), exploded=True).lay_out()
    imports = [f"from {module} import {', '.join(sorted(names))}" for module, names in writer.imports.items()]
    numpy = ["import numpy as np"] if "np." in code else []
    return "\n".join([*numpy, *sorted(imports), *sorted(writer.lines), "", f"{name} = {code}\n"])


@attrs.frozen
class _Code:
    """An expression: `opening` alone, or parts between it and `closing`. exploded: one line for each part."""

    opening: str
    parts: Sequence[_Code] = ()
    closing: str = ""
    is_call: bool = False
    exploded: bool = False

    def lay_out(self, indent: int = 0) -> str:
        lines = [part.lay_out(indent + _STEP) for part in self.parts]
        comma = "," if len(lines) == 1 and self.closing == ")" and not self.is_call else ""
        whole = f"{self.opening}{', '.join(lines)}{comma}{self.closing}"
        if not lines or not (self.exploded or "\n" in whole or indent + len(whole) >= _WIDTH):
            return whole
        if not self.is_call and not any(part.parts or " " in part.opening for part in self.parts):
            width = _WIDTH - indent - _STEP
            lines = [
                line.rstrip(",") for line in textwrap.wrap(", ".join(lines), width, break_on_hyphens=False)
            ]
        margin = " " * indent
        return "\n".join(
            [self.opening, *(f"{margin}{' ' * _STEP}{line}," for line in lines), margin + self.closing]
        )


@attrs.frozen
class _Writer:
    """Writes values. imports: the names that they use, by module. lines: that define further names."""

    imports: dict[str, set[str]] = attrs.field(factory=dict)
    lines: set[str] = attrs.field(factory=set)

    def write(self, value: Any, opening: str = "") -> _Code:
        """A value as code that begins with `opening`."""
        if isinstance(value, partial):
            named = [self.write(part, f"{name}=") for name, part in value.keywords.items()]
            return self._call(opening, partial, [*map(self.write, (value.func, *value.args)), *named])
        if isinstance(value, np.ndarray):
            return _Code(f"{opening}np.array(", [self.write(value.tolist())], ")", is_call=True)
        if attrs.has(type(value)):
            return self._call(opening, type(value), self._write_fields(value))
        if isinstance(value, tuple | list):
            parts = [self.write(part) for part in value]
            brackets = "()" if isinstance(value, tuple) else "[]"
            exploded = len(parts) > 1 and all(part.is_call for part in parts)
            return _Code(opening + brackets[0], parts, brackets[1], exploded=exploded)
        if isinstance(value, Enum):
            return _Code(f"{opening}{self._find(type(value))}.{value.name}")
        return _Code(opening + (self._find(value) if hasattr(value, "__qualname__") else _write_plain(value)))

    def _call(self, opening: str, called: Any, parts: Iterable[_Code]) -> _Code:
        return _Code(f"{opening}{self._find(called)}(", [*parts], ")", is_call=True)

    def _write_fields(self, record: Any) -> Iterable[_Code]:
        """Required fields by their place, the others by name."""
        unrepeated = isinstance(record, Sample) and record.size == len(record.points)
        for field in attrs.fields(type(record)):
            value = getattr(record, field.name)
            is_default = repr(value) == repr(get_default(field, record)) or (
                unrepeated and field.name == "counts"
            )
            if is_default or not field.init:
                continue
            if isinstance(value, np.ndarray) and field.converter is not None:
                value = value.tolist()
            by_name = field.kw_only or field.default is not attrs.NOTHING
            yield self.write(value, f"{field.alias}=" if by_name else "")

    def _find(self, item: Any) -> str:
        """The name of a class or a function; what defines it is noted."""
        code, module = getattr(item, "__code__", None), sys.modules.get(item.__module__)
        path = code.co_filename if code is not None else getattr(module, "__file__", None)
        name = item.__name__ if item.__name__.isidentifier() else "function"
        if item.__qualname__ != item.__name__ or name != item.__name__:  # a local one, or a lambda
            self.lines.add(f"{name} = ...  # {item.__qualname__} of {path or item.__module__}: paste it here")
        elif path is not None and is_users_file(path):
            self.imports.setdefault("audits.registry.user_files", set()).add("load_function")
            self.lines.add(f"{name} = load_function({_write_plain(f'{path}:{name}')})")
        else:
            packages = accumulate(item.__module__.split("."), "{}.{}".format)
            holders = (p for p in packages if getattr(sys.modules.get(p), name, None) is item)
            public = next(holders, item.__module__)
            self.imports.setdefault(public, set()).add(name)
        return name


def _write_plain(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if type(value) is int and abs(value) >= 10_000:
        return f"{value:_}"
    text = repr(value)
    return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text
