"""What a user's function receives where the user does not say: by its annotation, or the names of its
parameters."""

from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from collections.abc import Sequence
from itertools import islice
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from arena.errors import InvalidArgument
from arena.parcels import callable_name, is_model
from arena.schemas.forms import ArrayForm, Form, ListForm
from arena.schemas.schema import Schema
from learners.foreign.base import BOTH, DESCRIPTIONS, LABELS, ONES, POINTS, RECORDS
from learners.foreign.mechanism import list_parameters, takes_labels

# The last words of names of parameters that say what these are.
_LABELS = ("labels", "label", "bits", "bit", "votes", "vote", "y", "targets", "target", "flags", "booleans")
_TABLES = ("df", "frame", "dataframe", "table")

_ARRAYS = ("ndarray", "NDArray", "ArrayLike")  # what annotations may name that are read as text
_SEQUENCES = (
    list,
    tuple,
    collections.abc.Sequence,
    collections.abc.Iterable,
    collections.abc.Collection,
    collections.abc.MutableSequence,
)
_CHANGE = "receives=... or data=... changes that"
_DATA = (
    "Give data=, an example or a strategy, such as audits.table(age=st.integers(0, 120)) or "
    "st.lists(st.floats(0, 1)), on the command line --data FILE.csv or --schema FILE.py:NAME; or receives=, "
    "which is points (an array of numbers), labels (of 0 and 1), both, ones (the number of labels 1) or sum "
    "(of the points)."
)

# The values in lists and arrays of declared types: the simplest first, both ends of a wide range, and so
# many that a search takes constants of the code between these for values, too.
_SIZES = (2, 3, 4, 5, 10, 20, 50, 100, 1_000, 10_000, 1_000_000)
_NUMBERS = (0, 1, -1, *(sign * size for size in _SIZES for sign in (1, -1)))
_VALUES: dict[type, tuple[Any, ...]] = {
    bool: (False, True),
    int: _NUMBERS,
    float: (0.0, 1.0, 0.5, -0.5, 0.25, *map(float, _NUMBERS[2:])),
    str: ("", "a", "b", "A", "0", "ab", "a b", "é", "a" * 1_000),
}
_NAMES = {bool: "truth values", int: "whole numbers", float: "numbers", str: "texts"}
_MOST_EXAMPLES = 64
_LONG_ANNOTATION = 50  # characters, from which on its parameters are left out


@attrs.frozen
class Input:
    """What a mechanism receives.

    part: of the sample, or `RECORDS` of a schema. reason: what says so, as "its parameter is called labels";
    empty if nothing does. schema: of the records; None if only the user can give it.
    """

    part: str
    reason: str = ""
    schema: Schema | None = None


def find_input(mechanism: Any) -> Input:
    """What a mechanism receives, as far as it says so by the annotation of its first parameter, or else by
    the names of its parameters. One that says nothing receives the points, which are numbers."""
    if is_model(mechanism):
        labelled = takes_labels(mechanism)
        return Input(BOTH if labelled else POINTS, f"its fit takes {'X and y' if labelled else 'X'}")
    parameters = list_data_parameters(mechanism)
    if not parameters:
        return Input(POINTS)
    first = parameters[0]
    if len(parameters) > 1:
        annotated = [
            _read_annotation(each.annotation, is_label)
            for each, is_label in zip(parameters, (False, True), strict=True)
        ]
        are_arrays = all(each is None or each.part == POINTS for each in annotated)
        part = BOTH if are_arrays and _last_word(first) not in _TABLES else RECORDS
        return Input(part, f"its parameters are called {first.name} and {parameters[1].name}")
    word, called = _last_word(first), f"its parameter is called {first.name}"
    declared = _read_annotation(first.annotation, word in _LABELS)
    if declared is not None and not (declared.part == POINTS and word in _LABELS):
        reason = f"its parameter is annotated {_show_annotation(first.annotation)}"
        return attrs.evolve(declared, reason=reason)
    if word in _LABELS:
        return Input(LABELS, called)
    return Input(RECORDS, called) if word in _TABLES and declared is None else Input(POINTS)


def list_data_parameters(mechanism: Any) -> list[inspect.Parameter]:
    """The parameters of a function that receive data: the first one, and the second one if it is required
    and called y, labels or the like."""
    parameters = [
        each
        for each in list_parameters(mechanism).values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    is_pair = (len(parameters) > 1 and parameters[1].default is inspect.Parameter.empty) and _last_word(
        parameters[1]
    ) in _LABELS
    return parameters[: 2 if is_pair else 1]


def refuse_unknown_input(mechanism: Any) -> InvalidArgument:
    """The error for a function that receives what only the user can describe."""
    reason = find_input(mechanism).reason
    return InvalidArgument(
        f"what {callable_name(mechanism)} receives must be said" + (f", since {reason}" if reason else ""),
        remedy=_DATA,
    )


def describe_input(mechanism: Any, part: str, schema: Schema | None) -> str:
    """What a mechanism receives, why, and how to change it; empty for a schema that the user has given."""
    own = find_input(mechanism)
    if schema is not None:
        is_declared = schema == own.schema
        return f"{_describe_declared(schema)}, as {own.reason}; {_CHANGE}" if is_declared else ""
    words = DESCRIPTIONS[part]
    if own.part != part:
        return words  # the user has chosen it
    return f"{words}, as {own.reason}; {_CHANGE}" if own.reason else f"{words}; {_CHANGE}"


def _describe_declared(schema: Schema) -> str:
    kinds = " and ".join(dict.fromkeys(_name_values(pool) for pool in schema.columns or (schema.examples,)))
    container = f"{schema.form.kind.__name__}s" if isinstance(schema.form, ListForm) else "arrays"
    return f"{container} of {'tuples of ' * (schema.columns is not None)}{kinds}"


def _name_values(pool: Sequence[Any]) -> str:
    name = next((name for kind, name in _NAMES.items() if type(pool[0]) is kind), type(pool[0]).__name__)
    return (
        f"{name} {' and '.join(map(repr, pool))} only" if len(pool) == 2 and name != "truth values" else name
    )


def _last_word(parameter: inspect.Parameter) -> str:
    return parameter.name.lower().rpartition("_")[2]


def _show_annotation(annotation: Any) -> str:
    if annotation is npt.ArrayLike:
        return "ArrayLike"
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return text if len(text) <= _LONG_ANNOTATION else text.partition("[")[0]


def _read_annotation(annotation: Any, is_label: bool) -> Input | None:
    """What an annotation says; None if it says nothing. is_label: whether numbers are labels 0 and 1, as the
    parameter's name says."""
    if isinstance(annotation, str):  # it names what only type checkers import
        name = annotation.partition("[")[0].rpartition(".")[2]
        return Input(POINTS) if name in _ARRAYS else Input(RECORDS) if name == "DataFrame" else None
    annotation = (
        getattr(annotation, "__origin__", None) if hasattr(annotation, "__metadata__") else annotation
    )
    if _says_nothing(annotation):
        return None
    if annotation is npt.ArrayLike:
        return Input(POINTS)
    origin, arguments = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        members = [_read_annotation(each, is_label) for each in arguments if each is not types.NoneType]
        known = (each for each in members if each is None or each.part != RECORDS or each.schema is not None)
        return next(known, Input(RECORDS))
    if origin is np.ndarray:
        return _read_array(arguments, is_label)
    if origin is tuple and arguments[1:] != (Ellipsis,) and arguments:
        parts = [_read_annotation(each, False) for each in arguments]
        is_pair = len(parts) == 2 and all(part is not None and part.part == POINTS for part in parts)
        return Input(BOTH if is_pair else RECORDS)
    if origin in _SEQUENCES:
        form = ListForm(tuple if origin is tuple else list)
        return _make_records(form, _list_columns(arguments[0] if arguments else Any, is_label))
    return Input(ONES if annotation is int else RECORDS)


def _says_nothing(annotation: Any) -> bool:
    return annotation in (inspect.Parameter.empty, Any, object) or isinstance(annotation, typing.TypeVar)


def _read_array(arguments: Sequence[Any], is_label: bool) -> Input:
    """An array: points if it is of floats, of an unknown type, or of labels; else of the declared type."""
    scalar = next(iter(typing.get_args(arguments[-1])), Any) if arguments else Any
    kind = _find_kind(scalar)
    if kind is None:
        return Input(RECORDS)
    if kind is float or (is_label and kind is int):
        return Input(POINTS)
    pool = _VALUES[kind]
    dtype: np.dtype[Any] = np.dtype(object if kind is str else kind)
    if inspect.isclass(scalar) and issubclass(scalar, np.integer) and scalar not in _ABSTRACT:
        dtype = np.dtype(scalar)
        limits = np.iinfo(scalar)
        pool = tuple(value for value in pool if limits.min <= value <= limits.max)
    return _make_records(ArrayForm(dtype.str), (pool,))


_ABSTRACT = (np.integer, np.signedinteger, np.unsignedinteger)


def _make_records(form: Form, columns: tuple[tuple[Any, ...], ...] | None) -> Input:
    """The input of lists of values of one pool, or of tuples with one value of each of several."""
    if columns is None:
        return Input(RECORDS)
    if len(columns) == 1:
        return Input(RECORDS, schema=Schema(form=form, examples=columns[0]))
    most = min(_MOST_EXAMPLES, max(map(len, columns)))
    rows = ([pool[place % len(pool)] for pool in columns] for place in range(most))
    return Input(RECORDS, schema=Schema(form=form, columns=columns, examples=tuple(map(tuple, rows))))


def _list_columns(element: Any, is_label: bool) -> tuple[tuple[Any, ...], ...] | None:
    """The values of an element of a sequence or, if it is a tuple, of each of its fields; None if its type is
    not known."""
    origin, arguments = typing.get_origin(element), typing.get_args(element)
    if origin is tuple and len(arguments) > 1 and Ellipsis not in arguments:
        fields = [_list_columns(each, False) for each in arguments]
        known = [field[0] for field in fields if field is not None and len(field) == 1]
        return tuple(known) if len(known) == len(fields) else None
    if origin is typing.Literal:
        return (arguments,)
    kind = _find_kind(element)
    if kind is None:
        return None
    return (tuple(islice(_VALUES[kind], 2 if is_label and kind is int else None)),)


def _find_kind(annotation: Any) -> type | None:
    """bool, int, float or str, which values of an annotation are; float if it says nothing; else None."""
    if _says_nothing(annotation):
        return float
    for kind, others in ((bool, np.bool_), (int, np.integer), (float, np.number), (str, np.str_)):
        if inspect.isclass(annotation) and issubclass(annotation, (kind, others)):
            return kind
    return None
