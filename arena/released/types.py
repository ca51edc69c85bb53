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
from types import CellType, FunctionType, MappingProxyType, ModuleType, SimpleNamespace
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import attrs
import numpy as np

from arena.errors import UnknownRelease, hide_addresses
from arena.released.paths import (
    ALLOWED,
    Refused,
    is_duration,
    is_fit_object,
    is_fitted,
    is_generator,
    list_content,
    list_state,
)

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

    Numbers are compared by value: 1, 1.0 and True are equal, but 0.0 and -0.0 are not. So are sequences:
    lists, tuples and arrays. The order of dictionaries and sets does not matter, except where the order is
    part of the type (OrderedDict), nor does how a sparse matrix is stored.
    """
    try:
        return _take_apart(value, Take())
    except Refused as refused:
        refusal = refused.explain()
    raise refusal  # here, so that it travels to other processes without the object


@attrs.frozen(eq=False)
class Take:
    """Takes the parts of an object apart, for its reader. depth: how many containers there are around these.
    saved: by their identity, the objects of a model that were taken apart, whose parts are None while they
    are; None outside of models."""

    depth: int = 0
    saved: dict[int, tuple[Any, Part | None]] | None = None

    def __call__(self, part: Any) -> Part:
        return _take_apart(part, Take(self.depth + 1, self.saved))

    def enter_model(self) -> Take:
        """The same within a model, where objects of other types are taken as one would save them."""
        return self if self.saved is not None else Take(self.depth, {})


def _take_apart(value: Any, take: Take) -> Part:
    kind = type(value)
    if kind is float or kind is int or kind is bool:
        return value  # type: ignore[no-any-return]
    if take.depth > MAX_DEPTH:
        raise UnknownRelease(
            "a release must be made of numbers, text and None",
            value=f"containers within containers, more than {MAX_DEPTH} deep",
            remedy=f"{ALLOWED}, a few levels deep.",
        )
    reader = _find_reader(kind, value)
    if reader is None and take.saved is not None:
        reader = _read_saved_once
    if reader is None:
        raise Refused(value)
    try:
        return reader(value, take)
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
    return _read_model if is_fit_object(value) else None


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
    items = value.items()
    if take.saved is not None:  # how long fitting took is no release
        items = [(key, part) for key, part in items if not is_duration(key)]
    fields = {name_key(take(key)): take(part) for key, part in items}
    if type(value) is OrderedDict:
        fields["<order>"] = Symbol("order", ", ".join(fields))
    if type(value) is not dict:
        fields["<type>"] = Symbol("type", _name_type(type(value)))
    return Fields(fields)


def _read_set(value: Any, take: Take) -> Part:
    parts = [take(part) for part in value]
    numbers: list[Any] = [part for part in parts if not isinstance(part, Symbol | list | Fields)]
    numbers.sort(key=lambda number: (isnan(number), number))
    kind = "frozenset" if isinstance(value, frozenset) else "set"
    fields: dict[str, Part] = {"<type>": Symbol("type", kind), "numbers": numbers}
    return Fields(fields | {name_key(part): 1 for part in parts if isinstance(part, Symbol | list | Fields)})


def _read_namedtuple(value: Any, take: Take) -> Part:
    return _make_fields(type(value), dict(zip(type(value)._fields, value, strict=True)), take)


def _read_record(value: Any, take: Take) -> Part:
    return _make_fields(type(value), list_state(value), take)


def _read_model(value: Any, take: Take) -> Part:
    """What a fitted model holds, as one would save it: all attributes but those `list_content` leaves out."""
    if take.saved is None and not is_fitted(value):
        raise Refused(value)
    return _read_saved_once(value, take.enter_model())


def _read_saved_once(value: Any, take: Take) -> Part:
    """An object within a model, which may hold the object that it is part of."""
    assert take.saved is not None
    if id(value) in take.saved:
        known = take.saved[id(value)][1]
        return Symbol("object", "one that contains it") if known is None else known
    take.saved[id(value)] = value, None
    part = _read_saved(value, take)
    take.saved[id(value)] = value, part
    return part


def _read_saved(value: Any, take: Take) -> Part:
    """What a pickle of an object holds. Functions and classes are their names, and what they enclose;
    generators of random numbers are no release. Raises: Refused if it cannot be pickled."""
    if is_fit_object(value):
        return _make_fields(type(value), list_content(value), take)
    kind: Any = type(value)
    if is_generator(value):
        return Symbol("generator", "")
    if isinstance(value, type | ModuleType | np.ufunc):
        return Symbol("name", _name_type(value) if isinstance(value, type) else value.__name__)
    if isinstance(value, FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell != CellType()]
        name = f"{value.__module__}.{value.__qualname__}"
        defaults = [value.__defaults__, value.__kwdefaults__]
        return _make_fields(None, {"name": name, "encloses": cells, "defaults": defaults}, take)
    if isinstance(value, np.ma.MaskedArray):
        entries = np.array(value.tolist(), object)  # None where it is covered
        return _make_fields(kind, {"mask": np.ma.getmaskarray(value), "entries": entries}, take)
    state: dict[str, Any] = list_state(value)
    try:
        reduced = value.__reduce_ex__(4)
    except Exception:  # objects of other libraries may raise anything
        raise Refused(value) from None
    is_usual = (kind.__reduce_ex__, kind.__reduce__) == (object.__reduce_ex__, object.__reduce__)
    if isinstance(reduced, str):
        state["<pickle>"] = reduced
    elif not is_usual or getattr(kind, "__getstate__", None) is not getattr(object, "__getstate__", None):
        maker, arguments, own, items, entries = (*reduced, None, None, None)[:5]
        state["<pickle>"] = [maker, arguments, own, list(items or ()), dict(entries or ())]
    elif reduced[3:]:  # of a subclass of a list or a dictionary
        items, entries = (*reduced[3:], None)[:2]
        state["<entries>"] = [list(items or ()), dict(entries or ())]
    return _make_fields(kind, state, take)


def _read_exception(value: Any, take: Take) -> Part:
    arguments: Any = value.args
    if any(isinstance(part, str) for part in arguments):
        arguments = [hide_addresses(part) if isinstance(part, str) else part for part in arguments]
    text = hide_addresses(str(value))
    state = {**vars(value), "args": arguments, "text": text, "cause": value.__cause__}
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
    return Fraction(value) if value.is_finite() and value else float(value)  # -0.0 is no fraction


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
    if value.ndim > 1 and not value.size:
        return Symbol("empty", str(value.shape))
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
    dtypes = [str(level.dtype) for level in getattr(value, "levels", (value,))]
    state: dict[str, Any] = {"names": list(value.names), "entries": list(value), "dtypes": ", ".join(dtypes)}
    state["freq"] = str(getattr(value, "freq", None))
    if hasattr(value.dtype, "categories"):
        state |= {"categories": list(value.dtype.categories), "ordered": value.dtype.ordered}
    return _make_fields(None, state, take)


def _read_pandas_series(value: Any, take: Take) -> Part:
    state = {"name": value.name, "index": value.index, "entries": list(value), "dtype": str(value.dtype)}
    state["attrs"] = _read_pandas_notes(value)
    if hasattr(value.dtype, "categories"):
        state |= {"categories": list(value.dtype.categories), "ordered": value.dtype.ordered}
    return _make_fields(None, state, take)


def _read_pandas_frame(value: Any, take: Take) -> Part:
    columns = [value.iloc[:, place].rename(None).reset_index(drop=True) for place in range(value.shape[1])]
    frame = {"columns": value.columns, "index": value.index, "entries": columns}
    frame["attrs"] = _read_pandas_notes(value)
    return _make_fields(None, frame, take)


def _read_pandas_notes(value: Any) -> dict[Any, Any]:
    """What a frame or a series says of itself: its attributes, and whether labels must differ."""
    return dict(value.attrs) | ({} if value.flags.allows_duplicate_labels else {"<labels>": "differ"})


def _read_pandas_range(value: Any, take: Take) -> Part:
    state = {"names": list(value.names), "start": value.start, "stop": value.stop, "step": value.step}
    return _make_fields(None, state, take)


def _read_pandas_time(value: Any, take: Take) -> Part:
    zone = None if getattr(value, "tz", None) is None else str(value.tz)
    return Fields({"type": Symbol(type(value).__name__, f"{value.unit} {zone}"), "count": int(value.value)})


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
    **dict.fromkeys(
        (bytes, bytearray, memoryview), lambda value, take: Symbol(type(value).__name__, repr(bytes(value)))
    ),
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
        **dict.fromkeys(
            _PANDAS_ARRAYS,
            lambda value, take: _make_fields(None, {"dtype": str(value.dtype), "entries": list(value)}, take),
        ),
    },
    "polars": {
        "DataFrame": lambda value, take: Fields(
            {"columns": take(value.columns), "entries": take(value.get_columns())}
        ),
        "Series": _read_polars_series,
    },
    "sklearn": {"Tree": lambda value, take: _make_fields(type(value), value.__getstate__(), take)},
    "diffprivlib": {"BudgetAccountant": lambda value, take: Symbol("accountant", "")},  # all models share one
    "torch": dict.fromkeys(("Tensor", "Parameter"), _read_array),
    "jaxlib": {"ArrayImpl": _read_array},
    "cupy": {"ndarray": _read_array},
}
