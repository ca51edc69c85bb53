"""Tables of pandas and polars, whose rows are records. Neither library is imported unless it is used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from arena.errors import InvalidArgument
from arena.records import record_key
from arena.schemas.forms import Form, is_missing, show_value

PANDAS, POLARS = "pandas", "polars"
_ATOMS = {str, float, int, bool, bytes, type(None)}


def find_library(data: object) -> str | None:
    """The library of a table; None if it is no DataFrame."""
    package = type(data).__module__.partition(".")[0]
    return package if package in (PANDAS, POLARS) and type(data).__name__ == "DataFrame" else None


def is_column(data: object) -> bool:
    """Whether this is a column of pandas or polars, such as a Series or a Categorical."""
    return type(data).__module__.partition(".")[0] in (PANDAS, POLARS) and hasattr(data, "dtype")


def list_column_values(column: Any) -> list[Any]:
    """The categories that a column may have, and its values, once each."""
    categories = getattr(column.dtype, "categories", ())
    values = [*(categories if isinstance(categories, Iterable) else ()), *column]
    return list({record_key(value): value for value in values}.values())


@attrs.frozen
class PandasForm(Form):
    """A DataFrame of pandas. A record is the tuple of a row's values, after its label if `indexed`.

    columns: their labels, an Index. dtypes: of the columns. index: the empty index, with its type and names;
    only tables whose rows are not labelled 0, 1, 2, … need it.
    """

    columns: Any = attrs.field(eq=list, hash=False)
    dtypes: tuple[Any, ...]
    index: Any = attrs.field(default=None, eq=repr, hash=False)

    def describe(self) -> str:
        return f"DataFrame with {', '.join(map(str, self.columns))}"

    @classmethod
    def of(cls, frame: Any, *, indexed: bool | None = None) -> PandasForm:
        """The form of a frame. indexed: default: unless its rows are labelled 0, 1, 2, …"""
        if indexed is None:
            indexed = not has_plain_index(frame)
        return cls(frame.columns, tuple(frame.dtypes), frame.index[:0] if indexed else None)

    def pack(self, records: Sequence[Any]) -> Any:
        import pandas as pd

        first = 0 if self.index is None else 1
        cells = [[record[first + place] for record in records] for place in range(len(self.dtypes))]
        series = {
            place: pd.Series(column, dtype=dtype)
            for place, (column, dtype) in enumerate(zip(cells, self.dtypes, strict=True))
        }
        frame = pd.DataFrame(series, index=pd.RangeIndex(len(records)))
        frame.columns = self.columns
        if self.index is not None:
            labels = [record[0] for record in records]
            if isinstance(self.index, pd.MultiIndex):
                frame.index = pd.MultiIndex.from_tuples(labels, names=self.index.names)
            else:
                frame.index = pd.Index(labels, dtype=self.index.dtype, name=self.index.name)
        return frame

    def unpack(self, data: Any) -> list[Any]:
        if find_library(data) != PANDAS:
            raise InvalidArgument("the data must be a DataFrame of pandas", value=type(data).__name__)
        if list(data.columns) != list(self.columns):
            raise InvalidArgument(
                f"the data must have the columns {list(self.columns)}", value=list(data.columns)
            )
        for name, dtype, own in zip(data.columns, data.dtypes, self.dtypes, strict=True):
            if dtype != own:
                raise InvalidArgument(
                    f"column {name!r} must have the type {own}, not {dtype}",
                    value=_find_misfit(data[name], own),
                )
        columns = [data.iloc[:, place].tolist() for place in range(data.shape[1])]
        if self.index is not None:
            columns = [data.index.tolist(), *columns]
        return list(zip(*columns, strict=True)) if columns else [()] * len(data)

    def copy(self, data: Any) -> Any:
        import pandas as pd

        if any(dtype.kind == "O" for dtype in self.dtypes):
            cells = (value for place in range(data.shape[1]) for value in data.iloc[:, place])
            if not {type(value) for value in cells} <= _ATOMS | {type(pd.NA), pd.Timestamp}:
                return self.pack_again(data)
        return data.copy()

    def pack_again(self, data: Any) -> Any:
        """A copy with copies of its cells, which may be lists or other things that can be changed."""
        import pickle

        return pickle.loads(pickle.dumps(data))

    def find_field(self, record: Any, name: Any) -> Any:
        first = 0 if self.index is None else 1
        return record[first + list(self.columns).index(name)]

    def with_field(self, record: Any, name: Any, value: Any) -> Any:
        place = list(self.columns).index(name) + (0 if self.index is None else 1)
        return (*record[:place], value, *record[place + 1 :])

    def list_names(self, number: int) -> list[Any]:
        return list(self.columns)

    def show(self, records: Sequence[Any]) -> str:
        frame = self.pack(records)
        cells = [frame.iloc[:, place].tolist() for place in range(len(self.dtypes))]
        columns = [
            f"{show_value(name)}: {_show_column(column, dtype)}"
            for name, column, dtype in zip(self.columns, cells, self.dtypes, strict=True)
        ]
        types = {
            name: str(dtype)
            for name, column, dtype in zip(self.columns, cells, self.dtypes, strict=True)
            if not hasattr(dtype, "categories") and dtype != _usual_dtype(column)
        }
        more = "" if self.index is None else f", index={_show_index(frame.index)}"
        return f"pd.DataFrame({{{', '.join(columns)}}}{more})" + (f".astype({types!r})" if types else "")


def _find_misfit(column: Any, dtype: Any) -> str | None:
    """The first value that a column of this type cannot hold, with its row, as text; None if it holds all."""
    import pandas as pd

    for row, value in enumerate(column.tolist()):
        try:
            cast = pd.Series([value]).astype(dtype).tolist()[0]
        except (TypeError, ValueError, OverflowError):
            cast = None
        if is_missing(cast) > is_missing(value) or (isinstance(value, float) and value != cast == cast):
            return f"{value!r} in row {row + 1}"
    return None


def _show_index(index: Any) -> str:
    labels, names = show_value(index.tolist()), list(index.names)
    if len(names) > 1:
        return f"pd.MultiIndex.from_tuples({labels}, names={names!r})"
    return labels if names == [None] else f"pd.Index({labels}, name={names[0]!r})"


def _show_column(cells: list[Any], dtype: Any) -> str:
    if not hasattr(dtype, "categories"):
        return show_value(cells)
    ordered = ", ordered=True" if dtype.ordered else ""
    return f"pd.Categorical({show_value(cells)}, {show_value(dtype.categories.tolist())}{ordered})"


def _usual_dtype(cells: list[Any]) -> Any:
    import pandas as pd

    return pd.DataFrame({0: cells}).dtypes[0]


def has_plain_index(frame: Any) -> bool:
    """Whether rows are labelled 0, 1, 2, …, which says nothing about them."""
    import pandas as pd

    index = frame.index
    return isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1 and index.name is None


@attrs.frozen
class PolarsForm(Form):
    """A DataFrame of polars. A record is the tuple of a row's values. types: of the columns, by name."""

    types: tuple[tuple[str, Any], ...]

    def describe(self) -> str:
        return f"DataFrame of polars with {', '.join(name for name, _ in self.types)}"

    @classmethod
    def of(cls, frame: Any) -> PolarsForm:
        return cls(tuple(frame.schema.items()))

    def pack(self, records: Sequence[Any]) -> Any:
        import polars as pl

        columns = list(zip(*records, strict=True)) if records else [()] * len(self.types)
        return pl.DataFrame(
            [
                pl.Series(name, list(column), dtype=kind)
                for (name, kind), column in zip(self.types, columns, strict=True)
            ]
        )

    def unpack(self, data: Any) -> list[Any]:
        if find_library(data) != POLARS:
            raise InvalidArgument("the data must be a DataFrame of polars", value=type(data).__name__)
        if tuple(data.schema.items()) != self.types:
            raise InvalidArgument(
                f"the data must have the schema {dict(self.types)}", value=dict(data.schema)
            )
        return list(data.rows())

    def copy(self, data: Any) -> Any:
        return data.clone()

    def find_field(self, record: Any, name: Any) -> Any:
        return record[[column for column, _ in self.types].index(name)]

    def with_field(self, record: Any, name: Any, value: Any) -> Any:
        place = [column for column, _ in self.types].index(name)
        return (*record[:place], value, *record[place + 1 :])

    def list_names(self, number: int) -> list[Any]:
        return [name for name, _ in self.types]

    def show(self, records: Sequence[Any]) -> str:
        columns = zip(*records, strict=True) if records else [()] * len(self.types)
        cells = {name: list(column) for (name, _), column in zip(self.types, columns, strict=True)}
        types = ", ".join(f"{name!r}: pl.{kind}" for name, kind in self.types)
        return f"pl.DataFrame({show_value(cells)}, schema={{{types}}})"
