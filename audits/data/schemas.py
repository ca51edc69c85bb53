"""Schemas of the user's data: from strategies of columns and records, from examples, and from any strategy.

Each maker returns a Hypothesis strategy, which draws what the mechanism receives and composes like all
others. The schema behind it is found again by `find_schema`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from hypothesis import strategies as st

from arena.claims import read_relation
from arena.errors import InvalidArgument
from arena.records import record_key
from arena.schemas.forms import (
    ArrayForm,
    ColumnsForm,
    Form,
    LabelledForm,
    ListForm,
    TablesForm,
    UserForm,
    VectorForm,
)
from arena.schemas.frames import (
    PANDAS,
    POLARS,
    PandasForm,
    PolarsForm,
    find_library,
    has_plain_index,
    is_column,
    list_column_values,
)
from arena.schemas.schema import Schema
from audits.data.drawable import DrawnData, DrawnRecords
from audits.data.drawn_values import (
    MOST_EXAMPLES,
    choose_examples,
    draw_values,
    list_independent,
    order_values,
)
from audits.data.far_records import list_far_records
from audits.data.membership import Membership, read_list, read_sizes
from audits.data.output_files import check_extra

Strategy = st.SearchStrategy[Any]

_USUAL_SIZES = 12  # records of data that a strategy draws, at most, unless it says otherwise
_schemas: WeakKeyDictionary[Strategy, tuple[Schema, Any]] = WeakKeyDictionary()


def table(
    columns: Mapping[str, Any] | None = None,
    /,
    *,
    user: str | Callable[[Any], Any] | Strategy | None = None,
    unique: Sequence[str] = (),
    min_size: int = 0,
    max_size: int | None = None,
    blank: Sequence[Any] | None = None,
    library: str = PANDAS,
    **more: Any,
) -> Strategy:
    """A strategy of tables: DataFrames of pandas (default) or polars, with these columns.

    columns, more: the strategy of the values of each column; or a Series or a Categorical, whose values and
    type it has. user: the column that says whose a row is, or a function of a row; a strategy is that of a
    column called user, which says it. unique: columns in which no value occurs twice.
    min_size, max_size: the numbers of rows for which the mechanism's claim is meant. blank: the row, a
    sequence of values, that is received in place of one that neighbours zero out.
    """
    if isinstance(user, st.SearchStrategy):
        columns, user = {"user": user, **(columns or {})}, "user"
    given: dict[str, Any] = {**(columns or {}), **more}
    types = {name: column.dtype for name, column in given.items() if is_column(column)}
    drawn = {
        name: st.sampled_from(list_column_values(column)) if name in types else column
        for name, column in given.items()
    }
    for name, strategy in drawn.items():
        if not isinstance(strategy, st.SearchStrategy):
            raise InvalidArgument(
                f"column {name!r} must be a Hypothesis strategy, or a column of pandas or polars",
                value=strategy,
                remedy="Write st.integers(0, 120), st.sampled_from([...]) or st.text().",
            )
    if not drawn:
        raise InvalidArgument("a table needs at least one column", remedy="Write table(age=st.integers()).")
    pools = tuple(tuple(draw_values(strategy, f"column {name!r}")) for name, strategy in drawn.items())
    form = _make_table_form(dict(zip(drawn, pools, strict=True)), library, types)
    unique = (unique,) if isinstance(unique, str) else tuple(unique)
    for name in (*unique, *((user,) if isinstance(user, str) else ())):
        _check_name(name, list(drawn))
    schema = Schema(
        form=form,
        user=user,
        unique=tuple(list(drawn).index(name) for name in unique),
        min_size=min_size,
        max_size=max_size,
        blank=None if blank is None else tuple(blank),
        columns=pools,
        examples=tuple(zip(*(_repeat(pool, MOST_EXAMPLES) for pool in pools), strict=True)),
        drawable=DrawnRecords(st.tuples(*drawn.values())),
    )
    return _register(schema, st.tuples(*drawn.values()))


def _repeat(pool: Sequence[Any], number: int) -> list[Any]:
    return [pool[place % len(pool)] for place in range(number)]


def _check_name(name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise InvalidArgument("a table has no such column", value=name, remedy=f"It has {', '.join(names)}.")


def _make_table_form(pools: Mapping[str, Sequence[Any]], library: str, types: Mapping[str, Any]) -> Form:
    if library in (PANDAS, POLARS):
        check_extra(f"a table of {library}", library, extra=library)
    if library == PANDAS:
        import pandas as pd

        empty = {name: pd.Series(pool, dtype=types.get(name)).iloc[:0] for name, pool in pools.items()}
        return PandasForm.of(pd.DataFrame(empty, index=pd.RangeIndex(0)))
    if library == POLARS:
        import polars as pl

        series = {
            name: pl.Series(list(pool), dtype=types.get(name), strict=False) for name, pool in pools.items()
        }
        return PolarsForm(tuple((name, each.dtype) for name, each in series.items()))
    raise InvalidArgument("library must be pandas or polars", value=library)


def records(
    record: Strategy,
    *,
    pack: Callable[[list[Any]], Any] = list,
    user: Any = None,
    unique: bool | Sequence[Any] = False,
    min_size: int = 0,
    max_size: int | None = None,
    blank: Any = None,
) -> Strategy:
    """A strategy of what `pack` makes of a list of records, by default the list itself.

    record: the strategy of a record: of numbers, text, dates, tuples, dictionaries, or objects of a module's
    classes. user: the place or the key of what says whose a record is, or a function of it.
    unique: the places or keys of fields in which no value occurs twice, or functions of a record; True, if no
    record does. min_size, max_size, blank: as of `table`.
    """
    pool = draw_values(record, "a record")
    if isinstance(unique, bool):
        unique = (record_key,) if unique else ()
    elif isinstance(unique, str):
        unique = (unique,)
    for place in unique:
        _check_unique(place, pool[0])
    form = ListForm(pack) if pack in (list, tuple) else UserForm(pack)
    schema = Schema(
        form=form,
        user=user,
        unique=tuple(unique),
        min_size=min_size,
        max_size=max_size,
        blank=blank,
        columns=list_independent(record, pool),
        examples=choose_examples(pool),
        drawable=DrawnRecords(record),
    )
    different = schema.drop_repetitions(pool)
    most = len(different) if max_size is None else max_size
    for size in sorted({size for size in (0, 1, 2, len(different)) if min_size <= size <= most}):
        few = different[:size] if unique else pool[:1] * size
        form.pack(few if size < 3 else different)  # what it cannot take is said here, not in a search
    return _register(schema, record)


def _check_unique(place: Any, record: Any) -> None:
    if not callable(place):
        try:
            record[place]
        except (TypeError, LookupError) as error:
            raise InvalidArgument(
                "unique must be True, or the places or keys of fields of a record",
                value=place,
                remedy=f"A record is like {record!r}.",
            ) from error


def labelled(
    features: int | Strategy,
    targets: Strategy,
    *,
    user: Any = None,
    min_size: int = 1,
    max_size: int | None = None,
    blank: Any = None,
) -> Strategy:
    """A strategy of pairs (X, y) of arrays, as models are fitted to.

    features: their number, for numbers in [0, 1]; or the strategy of a row of X, a tuple. targets: the
    strategy of an entry of y. user: the place of a feature that says whose an example is, or a function of a
    pair (row, target). min_size, max_size, blank: as of `table`.
    """
    row = features if isinstance(features, st.SearchStrategy) else st.tuples(*[st.floats(0, 1)] * features)
    rows, values = draw_values(row, "a row of features"), draw_values(targets, "a target")
    dtypes = [np.asarray(values), np.asarray(rows)]
    if any(array.dtype.kind not in "biufUS" for array in dtypes) or dtypes[1].ndim != 2:
        raise InvalidArgument(
            "features must be tuples of numbers, of one length, and targets numbers or text",
            value=(rows[-1], values[-1]),
        )
    of_feature = [tuple(draw_values(st.floats(0, 1), "a feature"))] * len(rows[0])
    columns = (*([tuple(rows)] if isinstance(features, st.SearchStrategy) else of_feature), tuple(values))
    kinds = [array.dtype.str if array.dtype.kind in "biuf" else "O" for array in dtypes]
    form = LabelledForm(ArrayForm(kinds[1], dtypes[1].shape[1:]), ArrayForm(kinds[0]))
    schema = Schema(
        form=form,
        user=user,
        min_size=min_size,
        max_size=max_size,
        blank=blank,
        columns=columns,
        examples=tuple(zip(_repeat(rows, MOST_EXAMPLES), _repeat(values, MOST_EXAMPLES), strict=True)),
        drawable=DrawnRecords(st.tuples(row, targets)),
    )
    return _register(schema, st.tuples(row, targets))


_METRICS = {"l1": "at L1 distance", "l2": "at L2 distance", "linf": "at Linf distance"}


def vector(
    length: int, *, metric: str = "linf", distance: float = 1.0, values: Strategy | None = None
) -> Strategy:
    """A strategy of vectors of answers, for mechanisms whose claim is about vectors at a distance, such as
    noisy maximum (`metric="linf"`) or the Laplace mechanism on vectors ("l1"). Neighbours differ in any
    direction by at most the distance. values: of an entry; if all are whole, so are those of neighbours;
    default: real numbers, and of these small multiples of the distance."""
    if metric not in _METRICS:
        raise InvalidArgument("metric must be l1, l2 or linf", value=metric)
    entries = st.integers(-10, 10).map(partial(_scale, distance)) if values is None else values
    pool = draw_values(entries, "an entry")
    relation = read_relation(f"{_METRICS[metric]} at most {distance!r}")
    schema = Schema(
        form=VectorForm(length),
        min_size=1,
        max_size=1,
        relation=relation,
        examples=tuple((value,) * length for value in choose_examples(pool)),
    )
    return _register(schema, st.tuples(*[entries.map(float)] * length))


def _scale(distance: float, number: int) -> float:
    return float(number * distance)


def tables(*, user: str | Callable[[Any], Any] | None = None, **of_name: Strategy) -> Strategy:
    """A strategy of dictionaries of tables, by their names. of_name: made by `table`. user: the column of
    every table that says whose a row is, or a function of (name, row)."""
    parts = {name: find_schema(strategy) for name, strategy in of_name.items()}
    drawn = [
        st.tuples(st.just(name), record)
        for name, strategy in of_name.items()
        if (record := _schemas[strategy][1]) is not None
    ]
    if len(drawn) < len(of_name):
        raise InvalidArgument(
            "tables must be made by audits.table or audits.records",
            value=", ".join(name for name, strategy in of_name.items() if _schemas[strategy][1] is None),
        )
    schema = Schema(
        form=TablesForm({name: part.form for name, part in parts.items()}),
        user=user,
        unique=tuple((name, place) for name, part in parts.items() for place in part.unique),
        examples=tuple(
            (name, record)
            for rows in zip(*(p.examples for p in parts.values()), strict=True)
            for name, record in zip(parts, rows, strict=True)
        ),
        parts=_keep_parts(parts.items()),
        drawable=DrawnRecords(st.one_of(drawn)),
    )
    return _register(schema, st.one_of(drawn))


def _keep_parts(parts: Iterable[tuple[str, Schema]]) -> tuple[tuple[str, Schema], ...]:
    """The schemas of several tables, if the values of the fields of each are known."""
    kept = tuple(parts)
    return kept if all(part.columns is not None for _, part in kept) else ()


def table_like(data: Any, **options: Any) -> Strategy:
    """A strategy of data like an example: a DataFrame, an array, a pair (X, y), a list, or a dictionary of
    DataFrames. Numbers lie in the range of their column, text and categories are those that occur, missing
    values occur where they do. A search that is given the example itself also tries numbers beyond this
    range. options: as of `table`."""
    schema = infer_schema(data, within=True, **options)
    return _register(schema, st.sampled_from(list(schema.examples)))


def _register(schema: Schema, record: Strategy) -> Strategy:
    """The strategy of data of a schema, made of records that are drawn from `record`."""
    most = max(schema.min_size, _USUAL_SIZES) if schema.max_size is None else schema.max_size
    lists = st.lists(record, min_size=schema.min_size, max_size=most).map(schema.drop_repetitions)
    strategy = lists.map(schema.form.pack)
    _schemas[strategy] = schema, record
    return strategy


# --- schemas of what the user gives ------------------------------------------------------------------------


def find_schema(strategy: Strategy) -> Schema:
    """The schema of a strategy of data, whether made here or any other that draws lists, arrays, pairs (X,
    y), DataFrames, or dictionaries of these. Raises: InvalidArgument if it draws nothing, or anything
    else."""
    if strategy in _schemas:
        return _schemas[strategy][0]
    listed = read_list(strategy)
    if listed is not None:
        schema = _make_list_schema(strategy, *listed)
    else:
        membership = Membership(strategy)
        drawn = order_values(membership.list_drawn())
        is_table = all(map(_has_columns, drawn))
        forms = [_find_form(data, is_table=is_table) for data in drawn]
        form = forms[-1]
        whole = [_order_keys(form, data) for data, own in zip(drawn, forms, strict=True) if own == form]
        sizes = [len(form.unpack(data)) for data in whole]
        low, high = read_sizes(strategy) or (min(sizes), None)
        schema = Schema(
            form=form,
            min_size=low,
            max_size=high,
            examples=choose_examples([record for data in whole for record in form.unpack(data)]),
            drawable=DrawnData(
                membership, repr(strategy), form, whole, None if high is not None else max(sizes)
            ),
        )
    return _schemas.setdefault(strategy, (schema, None))[0]


def _order_keys(form: Form, data: Any) -> Any:
    """The data, a dictionary with its keys in the order of the form: Hypothesis draws them in any."""
    return {name: data[name] for name in form.forms} if isinstance(form, TablesForm | ColumnsForm) else data


def _make_list_schema(strategy: Strategy, record: Strategy, unique: Sequence[Callable[[Any], Any]]) -> Schema:
    """The schema of a strategy of all lists of records, of the sizes that it says."""
    low, high = read_sizes(strategy) or (0, None)
    pool = draw_values(record, "a record") if high != 0 else []
    return Schema(
        form=ListForm(),
        min_size=low,
        max_size=high,
        unique=tuple(unique),
        columns=list_independent(record, pool) if pool else None,
        examples=choose_examples(pool),
        drawable=DrawnRecords(record),
    )


def list_records(strategy: Strategy) -> Strategy:
    """A strategy of lists of records: itself if it draws lists, or `table` or the like made it; else that of
    the lists of what it draws."""
    if strategy in _schemas or isinstance(draw_values(strategy, "data")[0], list):
        return strategy
    return records(strategy)


def list_record_strategies(strategy: Strategy) -> tuple[Strategy, Strategy | None]:
    """A strategy of the records of the data that a strategy draws and, unless `table` or the like made it,
    one of their lists, as runs."""
    schema = find_schema(strategy)
    record = _schemas[strategy][1]
    if record is not None:
        return record, None
    lists = strategy.map(schema.form.unpack)
    return lists.filter(bool).flatmap(st.sampled_from), lists.map(_make_runs)


def _make_runs(rows: list[Any]) -> list[tuple[Any, int]]:
    return [(row, 1) for row in rows]


def infer_schema(data: Any, other: Any = None, *, within: bool = False, **options: Any) -> Schema:
    """The schema of data like an example and, if there are two, of both.

    An example shows types, columns, text and categories, but not how large numbers may be.
    within: whether numbers stay in the range of the example, so that the schema has no records `beyond` it.

    Raises: InvalidArgument for data of an unknown kind, or two of different kinds.
    """
    is_table = _has_columns(data) and (other is None or _has_columns(other))
    form = _find_form(data, is_table=is_table)
    if isinstance(form, PandasForm) and other is not None and find_library(other) == PANDAS:
        form = PandasForm.of(data, indexed=not (has_plain_index(data) and has_plain_index(other)))
    rows = [*form.unpack(data), *(form.unpack(other) if other is not None else ())]
    examples = choose_examples(rows)
    parts = []
    if isinstance(form, TablesForm):
        parts = [
            (name, infer_schema(part, None if other is None else other[name], within=within))
            for name, part in data.items()
        ]
    columns = _list_columns(form, rows)
    beyond = () if within else list_far_records(form, rows)
    return Schema(
        form=form, examples=examples, columns=columns, beyond=beyond, parts=_keep_parts(parts), **options
    )


def _list_columns(form: Form, rows: Sequence[Any]) -> tuple[tuple[Any, ...], ...] | None:
    """The values of each field of the records of a table whose rows are not labelled, any of which may
    meet."""
    if not rows or not isinstance(form, PandasForm | PolarsForm | ColumnsForm):
        return None
    if getattr(form, "index", None) is not None:
        return None
    return tuple(tuple(order_values(column)) for column in zip(*rows, strict=True))


def _find_form(data: Any, *, is_table: bool = False) -> Form:
    """The form of data. is_table: whether the parts of a dictionary are the columns of one table."""
    library = find_library(data)
    if library is not None:
        return PandasForm.of(data) if library == PANDAS else PolarsForm.of(data)
    if isinstance(data, np.ndarray) and data.ndim:
        return ArrayForm(data.dtype.str, data.shape[1:])
    if isinstance(data, tuple) and len(data) == 2 and all(isinstance(part, np.ndarray) for part in data):
        return LabelledForm(*(ArrayForm(part.dtype.str, part.shape[1:]) for part in data))
    if type(data) in (list, tuple):
        return ListForm(type(data))
    if isinstance(data, dict) and data and all(isinstance(name, str) for name in data):
        if is_table:
            return ColumnsForm({name: _find_form(part) for name, part in data.items()})
        return TablesForm({name: _find_form(part) for name, part in data.items()})
    raise InvalidArgument(
        "data must be a DataFrame, an array, a pair (X, y), a list of records, or a dictionary of these",
        value=data if isinstance(data, str) else type(data).__name__,
        remedy="Read a file first, as pd.read_csv does."
        if isinstance(data, str)
        else "For anything else write audits.records(record, pack=...), where pack makes it of records.",
    )


def _has_columns(data: Any) -> bool:
    """Whether data are a dictionary of columns of one length."""
    parts = list(data.values()) if isinstance(data, dict) else []
    is_flat = all(
        type(part) in (list, tuple) or (isinstance(part, np.ndarray) and part.ndim == 1) for part in parts
    )
    return bool(parts) and is_flat and len({*map(len, parts)}) == 1
