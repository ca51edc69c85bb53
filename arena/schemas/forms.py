"""Forms: how records make up what a mechanism receives, and how they are found again in it."""

from __future__ import annotations

import ast
import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import partial
from types import ModuleType
from typing import Any

import attrs
import numpy as np

from arena.errors import (
    RAISED,
    InvalidArgument,
    count_things,
    describe_error,
    is_users_file,
    locate_error,
)
from arena.parcels import callable_name, fingerprint


class Form(ABC):
    """How records make up what a mechanism receives."""

    @abstractmethod
    def pack(self, records: Sequence[Any]) -> Any:
        """What the mechanism receives; it may change it."""

    @abstractmethod
    def unpack(self, data: Any) -> list[Any]:
        """The records of data of this form. Raises: InvalidArgument for data of another form."""

    def copy(self, data: Any) -> Any:
        """A copy of what `pack` returned, in which nothing can be changed for others."""
        return deepcopy(data)

    def find_field(self, record: Any, name: Any) -> Any:
        """The value of a record in a field, given by its name or its place."""
        return record[name]

    def with_field(self, record: Any, name: Any, value: Any) -> Any:
        """The record with another value in a field."""
        return _replace_part(record, name, value)

    def join(self, values: Sequence[Any]) -> Any:
        """The record whose fields have these values."""
        return tuple(values)

    def show(self, records: Sequence[Any]) -> str:
        """The data as the user would write them, as Python code."""
        return show_value(self.pack(records))

    def define(self) -> str:
        """A comment on the names in what `show` returns, if they need one."""
        return ""

    @abstractmethod
    def describe(self) -> str:
        """What the mechanism receives, in a few words."""

    def list_names(self, number: int) -> list[Any]:
        """The names of the fields of a record, which has so many, for `with_field`; empty without any."""
        return list(range(number))


@attrs.frozen
class ListForm(Form):
    """A list or a tuple of the records. kind: list or tuple."""

    kind: type = list

    def describe(self) -> str:
        return f"{self.kind.__name__} of records"

    def pack(self, records: Sequence[Any]) -> Any:
        return tuple(records) if self.kind is tuple else list(records)

    def unpack(self, data: Any) -> list[Any]:
        if not (type(data) is self.kind and isinstance(data, list | tuple)):
            raise _refuse_data(f"a {self.kind.__name__}", data)
        return [*data]


@attrs.frozen
class ArrayForm(Form):
    """An array with one row a record. dtype: of numpy, as text; shape: of a row, () for numbers."""

    dtype: str
    shape: tuple[int, ...] = ()

    def describe(self) -> str:
        rows = f"rows of shape {self.shape}" if self.shape else "numbers"
        return f"array of {rows}, {np.dtype(self.dtype).name}"

    def pack(self, records: Sequence[Any]) -> np.ndarray:
        array = np.empty((len(records), *self.shape), self.dtype)
        for row, record in enumerate(records):
            array[row] = record
        return array

    def unpack(self, data: Any) -> list[Any]:
        if not isinstance(data, np.ndarray) or data.dtype.str != self.dtype or data.shape[1:] != self.shape:
            raise _refuse_data(
                f"an array of {np.dtype(self.dtype).name}, with rows of shape {self.shape}", data
            )
        return [_as_tuple(row) for row in data.tolist()]

    def copy(self, data: np.ndarray) -> np.ndarray:
        return deepcopy(data) if data.dtype.hasobject else data.copy()

    def find_field(self, record: Any, name: Any) -> Any:
        return record[name] if self.shape else record

    def with_field(self, record: Any, name: Any, value: Any) -> Any:
        return _replace_part(record, name, value) if self.shape else value

    def show(self, records: Sequence[Any]) -> str:
        kind = "" if self.dtype == np.dtype(float).str else f", dtype={np.dtype(self.dtype).name!r}"
        return f"np.array({show_value(_as_list(records))}{kind})"


@attrs.frozen
class LabelledForm(Form):
    """A pair of arrays (X, y); a record is a pair of a row of X and one of y."""

    features: ArrayForm
    targets: ArrayForm

    def describe(self) -> str:
        return f"(X, y) with X an {self.features.describe()} and y an {self.targets.describe()}"

    def pack(self, records: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        return self.features.pack([x for x, _ in records]), self.targets.pack([y for _, y in records])

    def unpack(self, data: Any) -> list[Any]:
        if not isinstance(data, tuple) or len(data) != 2 or len(data[0]) != len(data[1]):
            raise _refuse_data("a pair (X, y) of arrays of the same length", data)
        return list(zip(self.features.unpack(data[0]), self.targets.unpack(data[1]), strict=True))

    def copy(self, data: Any) -> Any:
        return self.features.copy(data[0]), self.targets.copy(data[1])

    def find_field(self, record: Any, name: Any) -> Any:
        return self.features.find_field(record[0], name)

    def list_names(self, number: int) -> list[Any]:
        return []

    def join(self, values: Sequence[Any]) -> Any:
        *row, target = values
        return (row[0] if row and isinstance(row[0], tuple) else tuple(row)), target

    def with_field(self, record: Any, name: Any, value: Any) -> Any:
        return self.features.with_field(record[0], name, value), record[1]

    def show(self, records: Sequence[Any]) -> str:
        return (
            f"({self.features.show([x for x, _ in records])}, {self.targets.show([y for _, y in records])})"
        )


@attrs.frozen
class TablesForm(Form):
    """A dictionary of data of several forms; a record is (key, record of that form)."""

    forms: dict[str, Form] = attrs.field(hash=False)

    def describe(self) -> str:
        return "; ".join(f"{name}: {form.describe()}" for name, form in self.forms.items())

    def pack(self, records: Sequence[Any]) -> dict[str, Any]:
        of_table: dict[str, list[Any]] = {name: [] for name in self.forms}
        for name, record in records:
            of_table[name].append(record)
        return {name: form.pack(of_table[name]) for name, form in self.forms.items()}

    def unpack(self, data: Any) -> list[Any]:
        if not isinstance(data, dict) or list(data) != list(self.forms):
            raise _refuse_data(f"a dictionary with the keys {', '.join(map(repr, self.forms))}", data)
        return [(name, record) for name, form in self.forms.items() for record in form.unpack(data[name])]

    def copy(self, data: Any) -> Any:
        return {name: form.copy(data[name]) for name, form in self.forms.items()}

    def find_field(self, record: Any, name: Any) -> Any:
        return self.forms[record[0]].find_field(record[1], name)

    def with_field(self, record: Any, name: Any, value: Any) -> Any:
        return record[0], self.forms[record[0]].with_field(record[1], name, value)

    def show(self, records: Sequence[Any]) -> str:
        parts = [
            f"{name!r}: {form.show([record for key, record in records if key == name])}"
            for name, form in self.forms.items()
        ]
        return "{" + ", ".join(parts) + "}"


@attrs.frozen
class ColumnsForm(Form):
    """A dictionary of columns of one length, which is one table; a record is the tuple of a row's values."""

    forms: dict[str, Form] = attrs.field(hash=False)

    def describe(self) -> str:
        return f"dictionary of the columns {', '.join(self.forms)}"

    def pack(self, records: Sequence[Any]) -> dict[str, Any]:
        return {
            name: form.pack([record[place] for record in records])
            for place, (name, form) in enumerate(self.forms.items())
        }

    def unpack(self, data: Any) -> list[Any]:
        if not isinstance(data, dict) or list(data) != list(self.forms):
            raise _refuse_data(f"a dictionary with the keys {', '.join(map(repr, self.forms))}", data)
        columns = [form.unpack(data[name]) for name, form in self.forms.items()]
        if len({*map(len, columns)}) > 1:
            sizes = ", ".join(
                f"{len(column)} in {name}" for name, column in zip(self.forms, columns, strict=True)
            )
            raise InvalidArgument("the columns of a table must have one length", value=sizes)
        return list(zip(*columns, strict=True))

    def copy(self, data: Any) -> Any:
        return {name: form.copy(data[name]) for name, form in self.forms.items()}

    def find_field(self, record: Any, name: Any) -> Any:
        return record[list(self.forms).index(name)]

    def with_field(self, record: Any, name: Any, value: Any) -> Any:
        return _replace_part(record, list(self.forms).index(name), value)

    def list_names(self, number: int) -> list[Any]:
        return list(self.forms)

    def show(self, records: Sequence[Any]) -> str:
        parts = [
            f"{name!r}: {form.show([record[place] for record in records])}"
            for place, (name, form) in enumerate(self.forms.items())
        ]
        return "{" + ", ".join(parts) + "}"


@attrs.frozen
class VectorForm(Form):
    """One vector (d,), all of which is one record: the answers of queries."""

    length: int

    def describe(self) -> str:
        return f"vector of {count_things(self.length, 'number')}"

    def pack(self, records: Sequence[Any]) -> np.ndarray:
        return np.array([part for record in records for part in record], float)

    def unpack(self, data: Any) -> list[Any]:
        array = np.asarray(data)
        if array.shape != (self.length,) or array.dtype.kind not in "biuf":
            raise _refuse_data(f"a vector of {count_things(self.length, 'number')}", data)
        return [tuple(array.astype(float).tolist())]

    def copy(self, data: np.ndarray) -> np.ndarray:
        return data.copy()

    def show(self, records: Sequence[Any]) -> str:
        return f"np.array({self.pack(records).tolist()})"


@attrs.frozen
class UserForm(Form):
    """What a function of the user's makes of a list of records."""

    make: Callable[[list[Any]], Any] = attrs.field(eq=fingerprint, repr=callable_name)

    def describe(self) -> str:
        return f"what {callable_name(self.make)} makes of records"

    def pack(self, records: Sequence[Any]) -> Any:
        try:
            return self.make(list(records))
        except RAISED as error:
            place = locate_error(error)
            raise InvalidArgument(
                f"{callable_name(self.make)} cannot pack {self._name_failing(records)}, "
                f"{describe_error(error)}" + (f" ({place})" if place else ""),
                remedy="" if records else "Give min_size=1 if the claim is meant for one record or more.",
            ) from error

    def _name_failing(self, records: Sequence[Any]) -> str:
        """The first record that cannot be packed alone although another one can; else all of them."""
        fail = [self._fails(record) for record in records]
        if any(fail) and (len(records) == 1 or not all(fail)):
            return f"record {fail.index(True) + 1}, {records[fail.index(True)]!r}"
        return f"{count_things(len(records), 'record')}, {list(records[:3])!r}" if records else "no records"

    def _fails(self, record: Any) -> bool:
        try:
            self.make([record])
        except RAISED:
            return True
        return False

    def unpack(self, data: Any) -> list[Any]:
        if isinstance(data, list | tuple):
            return list(data)
        raise InvalidArgument(
            f"data for {callable_name(self.make)} are given as the list of records that it packs",
            value=type(data).__name__,
        )

    def copy(self, data: Any) -> Any:
        raise NotImplementedError  # each game gets a packing of its own

    def show(self, records: Sequence[Any]) -> str:
        return show_call(self.make, list(records))

    def define(self) -> str:
        return "" if _name_callable(self.make) is not None else _describe_definition(self.make)


def _replace_part(record: Any, name: Any, value: Any) -> Any:
    if isinstance(record, dict):
        return {**record, name: value}
    if isinstance(record, list | tuple):
        place = range(len(record))[name]
        return type(record)(value if each == place else part for each, part in enumerate(record))
    changed = deepcopy(record)
    setattr(changed, name, value)
    return changed


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or one of those with which pandas marks what is missing."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and math.isnan(value)


def show_value(value: Any) -> str:
    """A value as Python code, in which pandas is `pd`."""
    kind = type(value)
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if kind.__module__.partition(".")[0] == "pandas":
        missing = {"NAType": "pd.NA", "NaTType": "pd.NaT"}
        return missing.get(kind.__name__, f"pd.{value!r}")
    if kind in (list, tuple):
        parts = ", ".join(map(show_value, value))
        return f"[{parts}]" if kind is list else f"({parts}{',' * (len(value) == 1)})"
    if kind is dict:
        return "{" + ", ".join(f"{show_value(key)}: {show_value(part)}" for key, part in value.items()) + "}"
    return repr(value)


def show_call(function: Callable[..., Any], argument: Any) -> str:
    """A call with one argument as Python code, in which a function that no code can name is `pack`.

    >>> show_call(" ".join, ["fine"])
    "' '.join(['fine'])"
    >>> show_call(partial(round, ndigits=2), 0.123)
    'round(0.123, ndigits=2)'
    """
    if isinstance(function, partial):
        first = [show_value(value) for value in function.args]
        named = [f"{name}={show_value(value)}" for name, value in function.keywords.items()]
        name = _name_callable(function.func) or "pack"
        return f"{name}({', '.join([*first, show_value(argument), *named])})"
    return f"{_name_callable(function) or 'pack'}({show_value(argument)})"


_ALIASES = {"builtins": "", "numpy": "np.", "pandas": "pd.", "polars": "pl."}


def _name_callable(function: Any) -> str | None:
    """What code calls a function: its name, after that of its module unless that is the user's, or after the
    object whose method it is. None if no code can name it."""
    while isinstance(function, partial):
        function = function.func
    owner = getattr(function, "__self__", None)
    if owner is not None and not isinstance(owner, ModuleType):
        if isinstance(owner, type):
            name = _name_callable(owner)
            return None if name is None else f"{name}.{function.__name__}"
        text = show_value(owner)
        with suppress(ValueError, SyntaxError, TypeError):
            if ast.literal_eval(text) == owner and not isinstance(owner, int | float):
                return f"{text}.{function.__name__}"
        return None
    name, module = getattr(function, "__qualname__", ""), getattr(function, "__module__", None) or "builtins"
    if not name or "<" in name:
        return None
    file = getattr(sys.modules.get(module), "__file__", None)
    if module == "__main__" or (file is not None and is_users_file(file)):
        return str(name)
    package = module.partition(".")[0]
    if package in _ALIASES and (
        package == "builtins" or hasattr(sys.modules[package], name.partition(".")[0])
    ):
        return _ALIASES[package] + name
    return f"{module}.{name}"


def _describe_definition(function: Any) -> str:
    """What `pack` stands for, as a comment."""
    while isinstance(function, partial):
        function = function.func
    code = getattr(function, "__code__", None) or getattr(
        getattr(function, "__func__", None), "__code__", None
    )
    where = "" if code is None else f", in {code.co_filename}, line {code.co_firstlineno}"
    owner = getattr(function, "__self__", None)
    of = "" if owner is None else f" of an object of {type(owner).__qualname__}"
    what = "an object of " if code is None and owner is None else ""
    return f"# define pack as {what}{callable_name(function)}{of}{where}"


def _as_list(value: Any) -> Any:
    return list(map(_as_list, value)) if isinstance(value, list | tuple) else value


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


def _refuse_data(expected: str, data: Any) -> InvalidArgument:
    got = f"{type(data).__name__} {getattr(data, 'dtype', '')}".strip()
    shape = f" of shape {data.shape}" if hasattr(data, "shape") else ""
    return InvalidArgument(f"the data must be {expected}", value=got + shape)
