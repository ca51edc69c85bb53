"""The Python objects that may be released, taken apart into numbers, symbols, lists of parts and `Fields`.

A type is known if all that one can read from its objects is in these parts; every other type is refused.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
from array import array
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from math import isfinite, isnan
from pathlib import PurePath
from types import MappingProxyType, SimpleNamespace
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import attrs
import numpy as np

from arena.errors import UnknownRelease
from arena.released.paths import ALLOWED, Refused, list_fitted, list_state

MAX_DEPTH = 32  # of containers in containers; a list may even contain itself
_MICROSECOND = timedelta(microseconds=1)


@attrs.frozen
class Symbol:
    """A value that is compared for equality only, such as text: its type and its text."""

    kind: str
    text: str


@attrs.frozen
class Fields:
    """Parts with names, whose order does not matter."""

    parts: dict[str, Part]


Number = int | float | Fraction | np.longdouble
Part = Number | Symbol | list["Part"] | Fields


def take_apart(value: Any) -> Part:
    """The parts of a released value. Raises: UnknownRelease if its type is not known.

    Numbers are compared by value: 1, 1.0 and True are equal. So are sequences: lists, tuples and arrays. The
    order of dictionaries and sets does not matter, nor does how a sparse matrix is stored.
    """
    try:
        return _take_apart(value, 0)
    except Refused as refused:
        refusal = refused.explain()
    raise refusal  # here, so that it travels to other processes without the object


def _take_apart(value: Any, depth: int) -> Part:
    kind = type(value)
    if kind is float or kind is int or kind is bool:
        return value  # type: ignore[no-any-return]
    if depth > MAX_DEPTH:
        raise UnknownRelease(
            "a release must be made of numbers, text and None",
            value=f"containers within containers, more than {MAX_DEPTH} deep",
            remedy=f"{ALLOWED}, a few levels deep.",
        )
    reader = _find_reader(kind, value)
    if reader is None:
        raise Refused(value)
    try:
        return reader(value, lambda part: _take_apart(part, depth + 1))
    except Refused as refused:
        if refused.part is not value:  # a reader may refuse its own value
            refused.add_container(value)
        raise


def name_key(part: Part) -> str:
    """A key of a dictionary or an element of a set as text; equal keys have equal texts."""
    if isinstance(part, Symbol):
        return f"{part.kind} {part.text}"
    if isinstance(part, list):
        return f"[{', '.join(map(name_key, part))}]"
    if isinstance(part, Fields):
        return f"{{{', '.join(f'{key}: {name_key(each)}' for key, each in sorted(part.parts.items()))}}}"
    if isfinite(part) and part != float(part):  # an integer or a fraction that no float equals
        return str(Fraction(part) if isinstance(part, int | Fraction) else part)
    return repr(float(part)).removesuffix(".0")


Take = Callable[[Any], Part]
Reader = Callable[[Any, Take], Part]


def _find_reader(kind: type, value: Any) -> Reader | None:
    reader = _READERS.get(kind)
    if reader is not None:
        takes_attributes = reader in (_read_mapping, _read_sequence) and getattr(value, "__dict__", None)
        return _read_with_attributes if takes_attributes else reader
    if isinstance(value, enum.Enum):
        return _read_enum
    if kind.__module__ in ("numpy", "ml_dtypes") and issubclass(kind, np.generic):
        return _read_numpy_scalar
    for module, readers in _LIBRARIES.items():
        if (
            kind.__module__.partition(".")[0] == module and module in sys.modules
        ) and kind.__name__ in readers:
            return readers[kind.__name__]
    if isinstance(value, BaseException):
        return _read_exception
    if any(base.__module__ == "torch.nn.modules.module" for base in kind.__mro__):
        return lambda value, take: take(value.state_dict())  # what one saves
    if isinstance(value, PurePath):
        return _read_symbol
    if isinstance(value, tuple) and hasattr(kind, "_fields") and not _has_state(value, tuple):
        return _read_namedtuple
    for base in (float, int, str, bytes, list, tuple, dict, set, frozenset):
        if isinstance(value, base):  # a subclass that adds no state of its own is its base
            return None if _has_state(value, base) else _READERS.get(base, _read_base(base))
    if dataclasses.is_dataclass(kind) or attrs.has(kind):
        return _read_record
    return _read_model if callable(getattr(value, "fit", None)) and not isinstance(value, type) else None


def _has_state(value: object, base: type) -> bool:
    own = type(value).__mro__[: type(value).__mro__.index(base)]
    return bool(getattr(value, "__dict__", None)) or any(vars(kind).get("__slots__") for kind in own)


def _read_base(base: type) -> Reader:
    return lambda value, take: take(base.__new__(base, value))  # int and float have no reader of their own


def _name_type(kind: type) -> str:
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _read_symbol(value: Any, take: Take) -> Part:
    return Symbol(type(value).__name__, repr(value))


def _read_enum(value: Any, take: Take) -> Part:
    if isinstance(value, enum.Flag):
        return _make_fields(type(value), {"value": int(value.value)}, take)
    return Symbol("enum", f"{_name_type(type(value))}.{value.name}")


def _read_sequence(value: Any, take: Take) -> Part:
    return [take(part) for part in value]


def _read_with_attributes(value: Any, take: Take) -> Part:
    """The entries of a built-in container, and the attributes that it was given."""
    return Fields({"attributes": take(vars(value)), "entries": _READERS[type(value)](value, take)})


def _read_mapping(value: Any, take: Take) -> Part:
    return Fields({name_key(take(key)): take(part) for key, part in value.items()})


def _read_set(value: Any, take: Take) -> Part:
    parts = [take(part) for part in value]
    numbers: list[Any] = [part for part in parts if not isinstance(part, Symbol | list | Fields)]
    numbers.sort(key=lambda number: (isnan(number), number))
    fields: dict[str, Part] = {"<type>": Symbol("type", "set"), "numbers": numbers}
    return Fields(fields | {name_key(part): 1 for part in parts if isinstance(part, Symbol | list | Fields)})


def _read_namedtuple(value: Any, take: Take) -> Part:
    return _make_fields(type(value), dict(zip(type(value)._fields, value, strict=True)), take)


def _read_record(value: Any, take: Take) -> Part:
    return _make_fields(type(value), list_state(value), take)


def _read_model(value: Any, take: Take) -> Part:
    """The fitted attributes of a model, or the fitted models that it is composed of, as a pipeline is. An
    attribute that is a model without any, as of a forest, says only how others were made."""
    fitted = {name: getattr(value, name) for name in list_fitted(value)}
    state = {name: part for name, part in fitted.items() if list_fitted(part) or not hasattr(part, "fit")}
    if not state and hasattr(value, "get_params"):
        state = {name: part for name, part in value.get_params().items() if list_fitted(part)}
    if not state:
        raise Refused(value)
    return _make_fields(type(value), state, take)


def _read_exception(value: Any, take: Take) -> Part:
    state = {**vars(value), "args": value.args, "text": str(value), "cause": value.__cause__}
    return _make_fields(type(value), state, take)


def _read_attributes(value: Any, take: Take, *names: str, typed: bool = False) -> Fields:
    state = {name: getattr(value, name) for name in names}
    return _make_fields(type(value) if typed else None, state, take)


def _make_fields(kind: type | None, state: dict[str, Any], take: Take) -> Fields:
    fields: dict[str, Part] = {} if kind is None else {"<type>": Symbol("type", _name_type(kind))}
    return Fields(fields | {name: take(part) for name, part in state.items()})


def _read_decimal(value: Any, take: Take) -> Part:
    if value.is_snan():
        return Symbol("Decimal", str(value))
    return Fraction(value) if value.is_finite() else float(value)


def _read_datetime(value: Any, take: Take) -> Part:
    offset = value.utcoffset()
    since = value.replace(tzinfo=None, fold=0) - datetime(1970, 1, 1)
    return _make_fields(
        type(value),
        {
            "microseconds": since // _MICROSECOND,
            "offset": None if offset is None else offset // _MICROSECOND,
            "zone": value.tzinfo,
            "fold": value.fold,
        },
        take,
    )


def _read_time(value: Any, take: Take) -> Part:
    since = timedelta(
        hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
    )
    state = {"microseconds": since // _MICROSECOND, "zone": value.tzinfo, "fold": value.fold}
    return _make_fields(type(value), state, take)


def _read_numpy_scalar(value: Any, take: Take) -> Part:
    if isinstance(value, np.datetime64 | np.timedelta64):
        unit = Symbol("unit", value.dtype.str)
        if np.isnat(value):
            return Symbol("numpy", "NaT")
        return Fields({"type": unit, "count": int(value.view(np.int64))})
    if isinstance(value, np.void):
        if value.dtype.names is None:
            return Symbol("bytes", repr(value.tobytes()))
        return Fields({Symbol("str", repr(name)).text: take(value[name]) for name in value.dtype.names})
    if isinstance(value, np.longdouble):
        return value
    if isinstance(value, np.clongdouble):
        return _read_attributes(value, take, "real", "imag")
    return take(value.item())


def convert_to_numpy(value: Any) -> np.ndarray:
    """An array of NumPy, PyTorch, JAX or CuPy, on whatever device, as NumPy's. Numbers of a type that NumPy
    lacks, such as bfloat16, become 64-bit floats of the same value."""
    package = type(value).__module__.partition(".")[0]
    if package == "torch":
        value = value.detach().cpu().to_dense().resolve_conj().resolve_neg()
        try:
            return np.asarray(value.numpy())
        except TypeError:
            value = value.double()
    elif package == "cupy":
        value = value.get()
    array = np.asarray(value)
    return array.astype(np.float64) if array.dtype.type.__module__ == "ml_dtypes" else array


def _read_array(value: Any, take: Take) -> Part:
    value = convert_to_numpy(value)  # a part of a np.matrix is an array, too
    if value.ndim == 0:
        return take(value[()])
    if value.dtype.kind in "biufcSUO" and value.dtype.itemsize <= 8 and value.ndim == 1:
        return [take(part) for part in value.tolist()]
    return [take(part) for part in value]


def _read_sparse(value: Any, take: Take) -> Part:
    table = value.tocoo(copy=True)
    table.sum_duplicates()
    places = zip(*(axis.tolist() for axis in table.coords), strict=True)
    entries = dict(zip(places, table.data, strict=True))
    return _make_fields(type(value), {"shape": value.shape, "entries": entries}, take)


def _read_pandas_index(value: Any, take: Take) -> Part:
    state: dict[str, Any] = {"names": list(value.names), "entries": list(value)}
    if hasattr(value.dtype, "categories"):
        state["categories"] = list(value.dtype.categories)
    return _make_fields(None, state, take)


def _read_pandas_series(value: Any, take: Take) -> Part:
    state = {"name": value.name, "index": value.index, "entries": list(value), "attrs": dict(value.attrs)}
    if hasattr(value.dtype, "categories"):
        state["categories"] = list(value.dtype.categories)
    return _make_fields(None, state, take)


def _read_pandas_frame(value: Any, take: Take) -> Part:
    columns = [value.iloc[:, place].rename(None).reset_index(drop=True) for place in range(value.shape[1])]
    frame = {"columns": value.columns, "index": value.index, "attrs": dict(value.attrs), "entries": columns}
    return _make_fields(None, frame, take)


def _read_pandas_range(value: Any, take: Take) -> Part:
    state = {"names": list(value.names), "start": value.start, "stop": value.stop, "step": value.step}
    return _make_fields(None, state, take)


def _read_pandas_time(value: Any, take: Take) -> Part:
    zone = None if getattr(value, "tz", None) is None else str(value.tz)
    return Fields({"type": Symbol("unit", f"{value.unit} {zone}"), "count": int(value.value)})


def _read_polars_series(value: Any, take: Take) -> Part:
    return Fields(
        {"name": take(value.name), "type": take(str(value.dtype)), "entries": take(value.to_list())}
    )


_READERS: dict[type, Reader] = {
    Symbol: lambda value, take: value,
    **dict.fromkeys(
        (type(None), type(Ellipsis), type(NotImplemented), UUID, timezone, ZoneInfo), _read_symbol
    ),
    str: lambda value, take: Symbol("str", repr(str.__str__(value))),
    **dict.fromkeys((bytes, bytearray, memoryview), lambda value, take: Symbol("bytes", repr(bytes(value)))),
    **dict.fromkeys((list, tuple, deque, array, type({}.values())), _read_sequence),
    **dict.fromkeys((dict, OrderedDict, defaultdict, Counter, MappingProxyType), _read_mapping),
    **dict.fromkeys((set, frozenset, type({}.keys()), type({}.items())), _read_set),
    **dict.fromkeys((np.ndarray, np.memmap, np.matrix, np.recarray), _read_array),
    np.record: _read_numpy_scalar,
    SimpleNamespace: _read_record,
    complex: lambda value, take: _read_attributes(value, take, "real", "imag"),
    Fraction: lambda value, take: value,
    Decimal: _read_decimal,
    **dict.fromkeys(
        (range, slice), lambda value, take: _read_attributes(value, take, "start", "stop", "step", typed=True)
    ),
    datetime: _read_datetime,
    time: _read_time,
    date: lambda value, take: _make_fields(type(value), {"days": value.toordinal()}, take),
    timedelta: lambda value, take: _make_fields(type(value), {"microseconds": value // _MICROSECOND}, take),
}

_KINDS = "ArrowExtension ArrowString Boolean Datetime Floating Integer Interval Period String Timedelta"
_PANDAS_ARRAYS = [f"{kind}Array" for kind in _KINDS.split()]
# By the package and the name of the type, since none of these is imported here.
_LIBRARIES: dict[str, dict[str, Reader]] = {
    "numpy": {"chararray": _read_array},  # deprecated, so that its name warns
    "scipy": {
        f"{layout}_{kind}": _read_sparse
        for layout in ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")
        for kind in ("array", "matrix")
    },
    "pandas": {
        "DataFrame": _read_pandas_frame,
        "Series": _read_pandas_series,
        "Index": _read_pandas_index,
        "MultiIndex": _read_pandas_index,
        "CategoricalIndex": _read_pandas_index,
        "DatetimeIndex": _read_pandas_index,
        "IntervalIndex": _read_pandas_index,
        "PeriodIndex": _read_pandas_index,
        "TimedeltaIndex": _read_pandas_index,
        "RangeIndex": _read_pandas_range,
        "Timestamp": _read_pandas_time,
        "Timedelta": _read_pandas_time,
        "Interval": lambda value, take: _read_attributes(value, take, "left", "right", "closed"),
        "Period": _read_symbol,
        "NAType": _read_symbol,
        "NaTType": _read_symbol,
        **dict.fromkeys(_PANDAS_ARRAYS, lambda value, take: take(list(value))),
    },
    "polars": {
        "DataFrame": lambda value, take: Fields(
            {"columns": take(value.columns), "entries": take(value.get_columns())}
        ),
        "Series": _read_polars_series,
    },
    "sklearn": {"Tree": lambda value, take: _make_fields(type(value), value.__getstate__(), take)},
    "torch": dict.fromkeys(("Tensor", "Parameter"), _read_array),
    "jaxlib": {"ArrayImpl": _read_array},
    "cupy": {"ndarray": _read_array},
}
