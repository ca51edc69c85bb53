"""Records made with attrs as Python code that makes them again."""

from __future__ import annotations

import math
import os
import re
import sys
import textwrap
from ast import literal_eval
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from itertools import accumulate, chain, count
from pathlib import Path
from types import ModuleType
from typing import Any

import attrs
import numpy as np

from arena.dataset import Dataset
from arena.errors import CannotBeSent, is_users_file
from arena.parcels import callable_name, pickle_alone
from arena.schemas.forms import TablesForm, UserForm, show_value
from arena.schemas.schema import Schema
from audits.registry.settings_text import get_default

_WIDTH = 110
_STEP = 4  # of indentation
_MAX_PICKLE = 200_000  # bytes; a message may show the code, and a file of Python is read as a whole


# What code of plain values may use.
_MODULES = {
    "datetime": "import datetime",
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    "pl": "import polars as pl",
}
_ABOUT_PATHS = "\n# Files of yours are looked for relative to this file, then to the current folder."
_MOST_RECORDS = 3  # of a schema, which show the form of what a mechanism receives


def write_assignments(folder: str = ".", /, **records: Any) -> str:
    """Python code that imports what it needs, and assigns records, without their defaults, to these names.

    What no code can name, such as a function in a function, is written as a pickle. The user's files are
    named relative to `folder`, in which the code is saved, so that another machine may have them elsewhere.
    Raises: CannotBeSent.
    """
    writer = _Writer(os.path.realpath(folder))
    codes = {
        name: attrs.evolve(writer.write(record), exploded=True).lay_out() for name, record in records.items()
    }
    folders = _list_folders([*writer.own_imports, *writer.pickled])
    if folders:
        writer.imports.setdefault("audits.registry.user_files", set()).add("add_folder")
    paths = {folder: repr(writer.write_path(folder)) for folder in folders}
    sections = [
        [line for name, line in _MODULES.items() if any(f"{name}." in code for code in codes.values())],
        _write_imports(writer.imports),
        [_ABOUT_PATHS] if folders or writer.own_files else [],
        [f"add_folder({paths[folder]}, {', '.join(map(repr, names))})" for folder, names in folders.items()],
        _write_imports(writer.own_imports),
        list(writer.lines.values()),
        [f"\n{name} = {code}" for name, code in codes.items()],
    ]
    return "\n".join(chain.from_iterable(sections)) + "\n"


def _write_imports(imports: Mapping[str, Iterable[str]]) -> list[str]:
    return sorted(f"from {module} import {', '.join(sorted(names))}" for module, names in imports.items())


def _list_folders(names: Iterable[str]) -> dict[str, list[str]]:
    """The folders of `sys.path` in which these modules of the user's are found, each with their names."""
    folders: dict[str, list[str]] = {}
    paths = [*dict.fromkeys(os.path.realpath(folder) for folder in sys.path)]
    for name in dict.fromkeys(names):
        file = os.path.realpath(str(sys.modules[name].__file__))
        folder = next((path for path in paths if file.startswith(path + os.sep)), None)
        if folder is not None:
            folders.setdefault(folder, []).append(name)
    return folders


def _find_pickled(content: bytes) -> list[str]:
    """The modules of the user's that a pickle imports by their names."""
    modules = [(name, getattr(module, "__file__", None)) for name, module in [*sys.modules.items()]]
    named = [name for name, file in modules if file is not None and is_users_file(file)]
    return [name for name in named if name != "__main__" and _is_named(name.encode(), content)]


def _is_named(name: bytes, content: bytes) -> bool:
    return re.search(rb"(?<![\w.])" + re.escape(name) + rb"(?![\w])", content) is not None


def _is_importable(module: ModuleType) -> bool:
    """Whether a new process with the same `sys.path` finds a module under its name."""
    root, *rest = module.__name__.split(".")
    if module.__spec__ is None or root == "__main__":
        return False
    specs = (finder.find_spec(root, None) for finder in sys.meta_path)
    spec = next((spec for spec in specs if spec is not None), None)
    if spec is None:
        return False
    paths = [os.path.join(folder, *rest) for folder in spec.submodule_search_locations or ()]
    files = (
        [path + end for path in paths for end in (".py", f"{os.sep}__init__.py")] if rest else [spec.origin]
    )
    return os.path.realpath(str(module.__file__)) in map(os.path.realpath, filter(None, files))


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
    """Writes values.

    folder: of the file with the code.
    imports: the names that they use, by module.
    own_imports: those of modules of the user's.
    lines: that define other names, by name.
    origins: the module of each name.
    pickled: modules of the user's that pickles import.
    own_files: files of the user's that are loaded by their paths.
    """

    folder: str
    imports: dict[str, set[str]] = attrs.field(factory=dict)
    own_imports: dict[str, set[str]] = attrs.field(factory=dict)
    lines: dict[str, str] = attrs.field(factory=dict)
    origins: dict[str, str] = attrs.field(factory=dict)
    pickled: list[str] = attrs.field(factory=list)
    own_files: list[str] = attrs.field(factory=list)

    def write_path(self, path: str) -> str:
        """A path relative to the folder of the code, or an absolute one on another drive."""
        try:
            return Path(os.path.relpath(os.path.realpath(path), self.folder)).as_posix()
        except ValueError:
            return path

    def write(self, value: Any, opening: str = "") -> _Code:
        """A value as code that begins with `opening`."""
        if isinstance(value, partial):
            named = [self.write(part, f"{name}=") for name, part in value.keywords.items()]
            return self._call(opening, partial, [*map(self.write, (value.func, *value.args)), *named])
        if isinstance(value, np.ndarray):
            return _Code(f"{opening}np.array(", [self.write(value.tolist())], ")", is_call=True)
        if isinstance(value, Schema) and (value.source or not isinstance(value.form, UserForm)):
            return self._write_schema(value, opening)
        if type(value).__module__.partition(".")[0] in ("pandas", "datetime"):
            return _Code(opening + show_value(value))
        if attrs.has(type(value)):
            return self._call(opening, type(value), self._write_fields(value))
        if isinstance(value, tuple | list):
            parts = [self.write(part) for part in value]
            brackets = "()" if isinstance(value, tuple) else "[]"
            exploded = len(parts) > 1 and all(part.is_call for part in parts)
            return _Code(opening + brackets[0], parts, brackets[1], exploded=exploded)
        if isinstance(value, Enum):
            return _Code(f"{opening}{self._find(type(value))}.{value.name}")
        if hasattr(value, "__qualname__"):
            return _Code(opening + self._find(value))
        return _Code(opening + (self._embed(value) if (text := _write_plain(value)) is None else text))

    def _call(self, opening: str, called: Any, parts: Iterable[_Code]) -> _Code:
        return _Code(f"{opening}{self._find(called)}(", [*parts], ")", is_call=True)

    def _write_schema(self, schema: Schema, opening: str) -> _Code:
        """A schema by its name in a file, or by a few records of its form."""
        if schema.source:
            self.imports.setdefault("audits.registry.user_files", set()).add("load_schema")
            return _Code(opening + "load_schema(", [_Code(repr(schema.source))], ")", is_call=True)
        self.imports.setdefault("audits.data.schemas", set()).add("infer_schema")
        named = [
            self.write(getattr(schema, name), f"{name}=")
            for name in ("user", "min_size", "max_size", "blank", "relation")
            if getattr(schema, name) != attrs.fields_dict(Schema)[name].default
        ]
        tables = schema.form.forms if isinstance(schema.form, TablesForm) else {}
        # One record in each of the tables would look like a row of one.
        number = _MOST_RECORDS - (len(tables) == _MOST_RECORDS)
        data = _Code(schema.form.show(schema.examples[:number]))
        return _Code(opening + "infer_schema(", [data, *named], ")", is_call=True)

    def _write_fields(self, record: Any) -> Iterable[_Code]:
        """Required fields by their place, the others by name."""
        unrepeated = isinstance(record, Dataset) and record.size == len(record.counts)
        # A class may inherit fields that are given by name.
        for field in sorted(attrs.fields(type(record)), key=_is_keyword):
            value = getattr(record, field.name)
            is_default = repr(value) == repr(get_default(field, record)) or (
                unrepeated and field.name == "counts"
            )
            if is_default or not field.init or not field.metadata.get("is_setting", True):
                continue
            if isinstance(value, np.ndarray) and field.converter is not None:
                value = value.tolist()
            yield self.write(value, f"{field.alias}=" if _is_keyword(field) else "")

    def _find(self, item: Any) -> str:
        """The name of a class or a function; what defines it is noted."""
        module = sys.modules.get(item.__module__ or "")
        name = None if module is None else _find_attribute(module, item)
        if module is None or name is None:
            return self._embed(item)
        own, path = module.__name__, getattr(module, "__file__", None)
        root = name.partition(".")[0]
        if self.origins.setdefault(root, own) != own:  # two modules have something of this name
            return self._embed(item)
        if path is None or not is_users_file(path):
            packages = accumulate(own.split("."), "{}.{}".format)
            holders = (p for p in packages if getattr(sys.modules.get(p), name, None) is item)
            self.imports.setdefault(next(holders, own), set()).add(root)
        elif _is_importable(module):
            self.own_imports.setdefault(own, set()).add(root)
        else:
            self.imports.setdefault("audits.registry.user_files", set()).add("load_beside")
            self.lines[root] = f"{root} = load_beside({_write_plain(self.write_path(path))}).{root}"
            self.own_files.append(path)
        return name

    def _embed(self, value: Any) -> str:
        """A name for what only a pickle can hold."""
        described = callable_name(value) if callable(value) else f"a {type(value).__name__}"
        try:
            content = pickle_alone(value)
        except CannotBeSent as error:
            raise CannotBeSent(f"{described} cannot be pickled: {error}") from error
        if len(content) > _MAX_PICKLE:
            raise CannotBeSent(f"{described} encloses too much: its pickle has {len(content):,} bytes")
        self.pickled.extend(_find_pickled(content))
        name = getattr(value, "__name__", "")
        name = name if name.isidentifier() else "function" if callable(value) else "value"
        self.imports.setdefault("base64", set()).add("b64decode")
        self.imports.setdefault("pickle", set()).add("loads")
        text = "\n".join(f'    "{line}"' for line in textwrap.wrap(b64encode(content).decode(), _WIDTH - 6))
        code = f"loads(b64decode(  # {described}, as a pickle\n{text}\n))"
        names = chain([name], (f"{name}_{number}" for number in count(2)))
        used = {**self.origins, **{each: line.partition(" = ")[2] for each, line in self.lines.items()}}
        free = next(each for each in names if used.get(each, code) == code)
        self.lines[free] = f"{free} = {code}"
        return free


def _is_keyword(field: attrs.Attribute[Any]) -> bool:
    return field.kw_only or field.default is not attrs.NOTHING


def _find_attribute(module: ModuleType, item: Any) -> str | None:
    """The name under which a module has an item, with a dot if a class of the module has it; None if none."""
    found: Any = module
    for part in item.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is item:
        return str(item.__qualname__)
    return next((name for name, value in vars(module).items() if value is item and name.isidentifier()), None)


def _write_plain(value: Any) -> str | None:
    """A value as code; None if no literal is equal to it."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if type(value) is int and abs(value) >= 10_000:
        return f"{value:_}"
    text = repr(value)
    if not isinstance(value, np.generic):
        try:
            if literal_eval(text) != value:
                return None
        except (ValueError, SyntaxError):
            return None
    return f'"{text[1:-1]}"' if text[0] == "'" and '"' not in text else text
