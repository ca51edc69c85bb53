"""Your data as points of 0 and 1: a coordinate for each value of each column, with a name to print.

Numbers that take many values can be cut into ranges, by quantiles: "age = 28-37" is then a value like others.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.points import freeze
from audits.data.csv import Table, label_values, positive_of, read_table

MOST_VALUES = 64  # of a column
MOST_RANGES = 64  # that a column is cut into


@attrs.frozen(eq=False)
class OneHot:
    """Examples of a CSV file.

    Shapes: points (n, d) int8, labels (n,) int8, names (d,), as "Odor = f", column_of (d,), the column that
    each coordinate comes from.
    columns: the columns of the points. y: that of the labels. values: its values of label 0 and 1.
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
) -> OneHot:
    """The examples of a CSV file (see `load_sample`), each value of a column a coordinate of its own.

    Which values a column takes is read from the data and taken for public: what is released says so much. So
    are the ranges that numbers are cut into.

    y: the column of the labels, which takes two values. x: the columns of the points; default: all others.
    positive: the value of y that becomes label 1; default: the number 1 beside 0, else the later in the
    alphabet.
    quantiles: how many ranges a column of numbers that takes more values than that is cut into, of about as
    many examples each; where many examples share a number, there are fewer. default: none is cut.

    Raises: InvalidArgument, also for a column of more than `MOST_VALUES` values that is not cut, as names.
    """
    _check_quantiles(quantiles)
    table = read_table(os.fspath(path))
    label = table.column(y)
    names = [name for i, name in enumerate(table.columns) if i != label and name] if not x else list(x)
    places = [table.column(name) for name in names]
    _check_columns(table, label, places)
    positive = _positive(table, label, positive)
    points, encoded = [], []
    for place in places:
        values, which = _values(table, place, quantiles)
        points.append(which[:, None] == np.arange(len(values)))
        encoded += [f"{table.columns[place]} = {value}" for value in values]
    negative = next(value for value in label_values(table, label) if value != positive)
    return OneHot(
        path=table.name,
        points=freeze(np.concatenate(points, axis=1).astype(np.int8)),
        labels=freeze(np.array([row[label] == positive for _, row in table.rows], np.int8)),
        names=tuple(encoded),
        column_of=freeze(np.repeat(np.arange(len(places)), [part.shape[1] for part in points])),
        columns=tuple(names),
        y=y,
        values=(negative, positive),
    )


def _check_columns(table: Table, label: int, places: list[int]) -> None:
    if not places:
        raise InvalidArgument(
            f"{table.name} has no column beside that of the labels", remedy="Give more columns."
        )
    if label in places:
        raise InvalidArgument(
            "a column cannot hold both the points and the labels",
            value=table.columns[label],
            remedy="Name two.",
        )
    twice = {place for place in places if places.count(place) > 1}
    if twice:
        raise InvalidArgument(
            "a column can be named once only", value=table.columns[min(twice)], remedy="Drop one --x."
        )


def _positive(table: Table, label: int, positive: str | None) -> str:
    """The text of label 1."""
    values = label_values(table, label)
    try:
        return positive_of(table, label, positive)
    except InvalidArgument:
        if positive is not None:
            raise
        return max(values)


def _check_quantiles(quantiles: int | None) -> None:
    if quantiles is not None and not 2 <= quantiles <= MOST_RANGES:
        raise InvalidArgument(
            f"a column is cut into 2 to {MOST_RANGES} ranges", value=quantiles, remedy="5 makes quintiles."
        )


def _values(table: Table, place: int, quantiles: int | None) -> tuple[list[str], np.ndarray]:
    """The values of a column, sorted, and which of them each line has."""
    found = [row[place] for _, row in table.rows]
    values, which = np.unique(np.array(found), return_inverse=True)
    if quantiles is not None and len(values) > quantiles:
        numbers = _numbers(values)
        if numbers is not None:
            return _ranges(values, numbers, which, quantiles)
    if len(values) > MOST_VALUES:
        cut = "Have numbers" if quantiles is None else "Write a number in every line to have them"
        raise InvalidArgument(
            f"{table.name}, column {table.columns[place]!r}: a column needs few values, each a yes or no "
            f"question, at most {MOST_VALUES}",
            value=len(values),
            remedy=f"{cut} cut into ranges with --quantiles 5; or name the columns to use with --x.",
        )
    return [str(value) for value in values], which


def _numbers(values: np.ndarray) -> np.ndarray | None:
    """The values as numbers; None if one is none."""
    try:
        numbers = np.array([float(value) for value in values])
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _ranges(
    values: np.ndarray, numbers: np.ndarray, which: np.ndarray, quantiles: int
) -> tuple[list[str], np.ndarray]:
    """The ranges of a column, each named by the least and the greatest value in it, and that of each line.

    A range ends with the number at a quantile. Texts of one number, as 1 and 1.0, fall into one range.
    """
    cuts = np.quantile(numbers[which], np.arange(1, quantiles) / quantiles, method="inverted_cdf")
    of_value = np.searchsorted(np.unique(cuts), numbers, side="left")
    order = np.argsort(numbers, kind="stable")
    names = []
    for part in np.unique(of_value):
        inside = values[order[of_value[order] == part]]
        to = " to " if numbers.min() < 0 else "-"
        names.append(str(inside[0]) if len(inside) == 1 else f"{inside[0]}{to}{inside[-1]}")
    return names, np.unique(of_value, return_inverse=True)[1][which]
