"""Your data as points of 0 and 1: a coordinate for each value of each column, with a name to print."""

from __future__ import annotations

import os
from collections.abc import Sequence

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.points import frozen
from audits.data import Table, label_values, positive_of, read_table

MOST_VALUES = 64  # of a column


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
    path: str | os.PathLike[str], *, y: str, x: Sequence[str] = (), positive: str | None = None
) -> OneHot:
    """The examples of a CSV file (see `load_sample`), each value of a column a coordinate of its own.

    Which values a column takes is read from the data and taken for public: what is released says so much.

    y: the column of the labels, which takes two values. x: the columns of the points; default: all others.
    positive: the value of y that becomes label 1; default: the number 1 beside 0, else the later in the
    alphabet.

    Raises: InvalidArgument, also for a column of more than `MOST_VALUES` values, as ages or names.
    """
    table = read_table(os.fspath(path))
    label = table.column(y)
    names = [name for i, name in enumerate(table.columns) if i != label and name] if not x else list(x)
    places = [table.column(name) for name in names]
    _check_columns(table, label, places)
    positive = _positive(table, label, positive)
    points, encoded = [], []
    for place in places:
        values, which = _values(table, place)
        points.append(which[:, None] == np.arange(len(values)))
        encoded += [f"{table.columns[place]} = {value}" for value in values]
    negative = next(value for value in label_values(table, label) if value != positive)
    return OneHot(
        path=table.name,
        points=frozen(np.concatenate(points, axis=1).astype(np.int8)),
        labels=frozen(np.array([row[label] == positive for _, row in table.rows], np.int8)),
        names=tuple(encoded),
        column_of=frozen(np.repeat(np.arange(len(places)), [part.shape[1] for part in points])),
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


def _values(table: Table, place: int) -> tuple[list[str], np.ndarray]:
    """The values of a column, sorted, and which of them each line has."""
    found = [row[place] for _, row in table.rows]
    values, which = np.unique(np.array(found), return_inverse=True)
    if len(values) > MOST_VALUES:
        raise InvalidArgument(
            f"{table.name}, column {table.columns[place]!r}: a column needs few values, each a yes or no "
            f"question, at most {MOST_VALUES}",
            value=len(values),
            remedy="Write ranges in place of numbers, as 30-39; or name the columns to use with --x.",
        )
    return [str(value) for value in values], which
