"""One-hot encoded data from a CSV file: one coordinate for each value of each column, with a name to print.

Numbers that take many values can be cut into ranges by quantiles: "age = 28-37" is then a value like others.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.sample import freeze
from arena.settings import at_least, at_most, check_value, whole
from audits.data.csv_files import Table, read_table, resolve_labels

MAX_VALUES = 64  # of a column
MAX_RANGES = 64  # that a column is cut into


@attrs.frozen(eq=False)
class OneHotData:
    """Examples of a CSV file as points of 0 and 1.

    Shapes: points (n, d) int8, labels (n,) int8, names (d,), such as "Odor = f", column_of (d,), the index of
    the column of each coordinate. values: those of the column y that are label 0 and label 1.
    """

    path: str
    points: np.ndarray
    labels: np.ndarray
    names: tuple[str, ...]
    column_of: np.ndarray
    columns: tuple[str, ...]
    y: str
    values: tuple[str, str]


def load_one_hot(
    path: str | os.PathLike[str],
    *,
    y: str,
    x: Sequence[str] = (),
    positive: str | None = None,
    quantiles: int | None = None,
) -> OneHotData:
    """The examples of a CSV file (see `load_sample`), with a coordinate for each value of each column.

    The values and ranges of columns are read from the data and treated as public.

    y: the column of the labels. x: the columns of the points; default: all others. positive: the value of y
        that becomes label 1; default: the number 1 beside 0, otherwise the later in alphabetical order.
    quantiles: the number of ranges, of about equally many examples, that a numerical column with more values
        is cut into. Default: no column is cut. Raises: InvalidArgument.
    """
    if quantiles is not None:
        check_value("quantiles", quantiles, whole, at_least(2), at_most(MAX_RANGES))
    table = read_table(os.fspath(path))
    label = table.find_column(y)
    names = [name for i, name in enumerate(table.columns) if i != label and name] if not x else list(x)
    columns = [table.find_column(name) for name in names]
    if not columns:
        raise InvalidArgument(
            f"{table.name} has no column beside that of the labels", remedy="Give more columns."
        )
    if label in columns:
        raise InvalidArgument(
            "a column cannot hold both the points and the labels", value=y, remedy="Name two."
        )
    repeated = {column for column in columns if columns.count(column) > 1}
    if repeated:
        raise InvalidArgument(
            "a column can be named only once", value=table.columns[min(repeated)], remedy="Remove one --x."
        )
    negative, positive = resolve_labels(table, label, positive, guess=True)
    points, encoded = [], []
    for column in columns:
        values, codes = _encode(table, column, quantiles)
        points.append(codes[:, None] == np.arange(len(values)))
        encoded += [f"{table.columns[column]} = {value}" for value in values]
    return OneHotData(
        path=table.name,
        points=freeze(np.concatenate(points, axis=1).astype(np.int8)),
        labels=freeze(np.array([row[label] == positive for _, row in table.rows], np.int8)),
        names=tuple(encoded),
        column_of=freeze(np.repeat(np.arange(len(columns)), [part.shape[1] for part in points])),
        columns=tuple(names),
        y=y,
        values=(negative, positive),
    )


def _encode(table: Table, column: int, quantiles: int | None) -> tuple[list[str], np.ndarray]:
    """The values of a column, sorted, and the index of the value in each row."""
    values, codes = np.unique(np.array([row[column] for _, row in table.rows]), return_inverse=True)
    if quantiles is not None and len(values) > quantiles:
        numbers = _parse_numbers(values)
        if numbers is not None:
            return _make_ranges(values, numbers, codes, quantiles)
    if len(values) > MAX_VALUES:
        remedy = "Cut numbers into ranges with --quantiles 5"
        if quantiles is not None:
            remedy = "Only columns with a number in every line are cut into ranges: correct it"
        raise InvalidArgument(
            f"{table.name}, column {table.columns[column]!r}: a column may take at most {MAX_VALUES} values",
            value=len(values),
            remedy=f"{remedy}; or name the columns to use with --x.",
        )
    return [str(value) for value in values], codes


def _parse_numbers(values: np.ndarray) -> np.ndarray | None:
    """The values as finite numbers; None if one of them is no such number."""
    try:
        numbers = np.array([float(value) for value in values])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _make_ranges(
    values: np.ndarray, numbers: np.ndarray, codes: np.ndarray, quantiles: int
) -> tuple[list[str], np.ndarray]:
    """The ranges of a column, named by their least and greatest values, and the index of each row's range."""
    cuts = np.quantile(numbers[codes], np.arange(1, quantiles) / quantiles, method="inverted_cdf")
    range_of_value = np.searchsorted(np.unique(cuts), numbers, side="left")
    order = np.argsort(numbers, kind="stable")
    separator = " to " if numbers.min() < 0 else "-"
    names = []
    for index in np.unique(range_of_value):
        members = values[order[range_of_value[order] == index]]
        names.append(str(members[0]) if len(members) == 1 else f"{members[0]}{separator}{members[-1]}")
    return names, np.unique(range_of_value, return_inverse=True)[1][codes]
