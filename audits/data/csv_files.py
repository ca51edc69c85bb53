"""Labelled examples from columns of a CSV file. Every error names the file, the line and the remedy."""

from __future__ import annotations

import difflib
import gzip
import io
import math
import os
import re
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import attrs
import numpy as np

from arena.errors import InvalidArgument, Unsupported, describe_error, suggest_extra
from arena.sample import LARGEST_INTEGER, Sample
from arena.settings import check_size, parse_rows, read_file

_MAX_LISTED = 20  # names in an error message
_MISSING = ("", "?", "na", "n/a", "nan", "null", "none")  # how files say that a value is missing
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$")
_INTEGER = re.compile(r"[+-]?\d+")
_MAX_SIZE = 256  # MiB of text, whose rows take some twenty times as much memory


def load_sample(
    path: str | os.PathLike[str],
    *,
    x: str | Sequence[str],
    y: str,
    positive: str | None = None,
    user: str | None = None,
) -> Sample:
    """The labelled examples of a CSV file, as a multiset: one run for each distinct example, sorted.

    path: UTF-8 text with commas and a first line of column names; gzipped if the name ends in .gz.
    x: the column of the points (k,), which are numbers; a sequence of d columns gives points (k, d).
    y: the column of the labels. positive: its value that becomes label 1, by default the number 1 beside 0.
    user: the column that says whose an example is. Its values, numbered from 0 in alphabetical order, become
        the last coordinate of the points. Raises: InvalidArgument.
    """
    table = read_table(os.fspath(path))
    columns = [table.find_column(name) for name in ([x] if isinstance(x, str) else x)]
    label = table.find_column(y)
    if not columns:
        raise InvalidArgument("points need at least one column", value=x, remedy="Name one.")
    if label in columns:
        raise InvalidArgument(
            "a column cannot hold both the points and the labels", value=y, remedy="Name two."
        )
    users: list[tuple[float, ...]] = [()] * len(table.rows)
    if user is not None:
        users = _number_users(table, user, [*columns, label])
    points = [
        (*(table.parse_number(line, row, column) for column in columns), *number)
        for (line, row), number in zip(table.rows, users, strict=True)
    ]
    _, positive = resolve_labels(table, label, positive)
    labels = [row[label] == positive for _, row in table.rows]
    scalar = isinstance(x, str) and user is None
    return Sample([p[0] for p in points] if scalar else points, labels).distinct()


def read_frame(path: str | os.PathLike[str], *, text: Collection[str] = ()) -> Any:
    """A DataFrame of pandas with the typed columns of a CSV file: numbers, true and false, dates as ISO 8601
    writes them, text, and missing values. text: columns that are read as text, whatever is written there.
    Raises: InvalidArgument; Unsupported without pandas."""
    content = read_file("data file", path, mebibytes=_MAX_SIZE)
    try:
        import pandas as pd
    except ImportError as error:
        raise Unsupported(f"pandas cannot be imported ({error})", remedy=suggest_extra("pandas")) from error
    try:
        compression = "gzip" if os.fspath(path).endswith(".gz") else None
        frame = pd.read_csv(io.BytesIO(content), compression=compression, dtype=dict.fromkeys(text, str))
    except Exception as error:  # of several parsers
        raise InvalidArgument(
            f"{path} cannot be read as a CSV file, {describe_error(error)}",
            remedy="Give a file with a line of column names.",
        ) from error
    for name in frame.columns.difference(text, sort=False):
        written = frame[name].dropna()
        if len(written) and written.map(_is_date).all():
            frame[name] = pd.to_datetime(frame[name], format="ISO8601")
    return frame


def read_frames(paths: Sequence[str]) -> list[Any]:
    """The DataFrames in CSV files, with types of the columns that suit the values of all, such as float
    where one file lacks a number. Raises: as `read_frame`."""
    frames = [read_frame(path) for path in paths]
    import pandas as pd

    for name in frames[0].columns if len(frames) > 1 else ():
        if all(name in frame.columns for frame in frames):
            kind = pd.concat([frame[name] for frame in frames]).dtype
            if kind.kind != "O":
                frames = [frame.assign(**{name: frame[name].astype(kind)}) for frame in frames]
    return frames


def _is_date(value: object) -> bool:
    return isinstance(value, str) and _DATE.match(value) is not None


@attrs.frozen(eq=False)
class Table:
    """A rectangular CSV file: its column names, which are in line `header`, and each row with its line."""

    name: str
    header: int
    columns: list[str]
    rows: list[tuple[int, list[str]]]

    def find_column(self, name: str) -> int:
        """The index of the column of that name. Raises: InvalidArgument if there is none."""
        if name in self.columns:
            return self.columns.index(name)
        numbers = [column for column in self.columns if _parse_number(column) is not None]
        if numbers:
            raise _missing_header(self.name, self.header, numbers[0])
        remedy = f"{_suggest(name, self.columns)}The columns are: {_format_names(self.columns)}."
        separators = [mark for mark in (";", "\t", "|") if mark in self.columns[0]]
        if len(self.columns) == 1 and separators:
            remedy += f" They seem to be separated by {separators[0]!r}: write commas."
        raise InvalidArgument(
            f"{self.name}, line {self.header}: no such column",
            value=name,
            remedy=remedy,
            corrected=_correct(name, self.columns),
        )

    def parse_number(self, line: int, row: list[str], column: int, kind: str = "a point") -> float:
        """The number in a column of a row. Raises: InvalidArgument if it is not a finite number."""
        value = _parse_number(row[column])
        if value is None or not math.isfinite(value):
            raise InvalidArgument(
                f"{self.name}, line {line}, column {self.columns[column]!r}: {kind} must be a finite number",
                value=row[column],
                remedy="Remove the line, write the value as a number, or name another column.",
            )
        if abs(value) >= LARGEST_INTEGER and _INTEGER.fullmatch(row[column]) and int(row[column]) != value:
            raise InvalidArgument(
                f"{self.name}, line {line}, column {self.columns[column]!r}: integers must lie within ±2^53, "
                "where float64 is exact",
                value=row[column],
                remedy="Scale the column down, or code it in smaller numbers.",
            )
        return value


def read_table(name: str) -> Table:
    """The table in a CSV file. Raises: InvalidArgument if the file cannot be read or is no such table."""
    lines = _read_rows(name)
    header, columns = next(lines, (0, []))
    if not columns:
        raise InvalidArgument(f"{name} is empty", remedy="Give a file of column names and examples.")
    for column, times in Counter(columns).items():
        if column and times > 1:
            if _parse_number(column) is not None:
                raise _missing_header(name, header, column)
            raise InvalidArgument(
                f"{name}, line {header}: column names must be distinct", value=column, remedy="Rename one."
            )
    rows = []
    for line, row in lines:
        if len(row) != len(columns):
            raise InvalidArgument(
                f"{name}, line {line}: expected {len(columns)} fields, as in line {header}",
                value=len(row),
                remedy="Correct the line; a field that contains a comma needs quotes.",
            )
        rows.append((line, row))
    if not rows:
        raise InvalidArgument(f"{name} has column names but no examples", remedy="Give more data.")
    return Table(name, header, columns, rows)


def resolve_labels(table: Table, label: int, positive: str | None, *, guess: bool = False) -> tuple[str, str]:
    """The values of column `label` that become label 0 and label 1. Raises: InvalidArgument.

    positive: of label 1; by default the number 1 beside 0, or if `guess` is true, the later in the alphabet.
    """
    location = f"{table.name}, column {table.columns[label]!r}"
    first_line: dict[str, int] = {}
    for line, row in table.rows:
        first_line.setdefault(row[label], line)
    values = list(first_line)
    if len(values) != 2:
        third = f" (the third in line {first_line[values[2]]})" if len(values) > 2 else ""
        raise InvalidArgument(
            f"{location}: labels must take two values, found {len(values)}{third}: {_format_names(values)}",
            remedy="Name a column of two values, or merge or remove the others.",
        )
    numbers = {_parse_number(value): value for value in values}
    if positive is not None:
        name = positive.strip()
    elif numbers.keys() == {0.0, 1.0}:
        name = numbers[1.0]
    elif guess:
        name = max(values)
    else:
        raise InvalidArgument(
            f"{location}: the labels are {_format_names(values)}, and it is not given which of them is 1",
            remedy=f"Name it, as in positive={values[0]!r}.",
        )
    if name not in values:
        raise InvalidArgument(
            f"{location}: there is no such label",
            value=positive,
            remedy=f"{_suggest(name, values)}The labels are: {_format_names(values)}.",
            corrected=_correct(name, values),
        )
    return values[1 - values.index(name)], name


def _number_users(table: Table, user: str, others: Sequence[int]) -> list[tuple[float, ...]]:
    """The number of the user of each row, as a tuple of one. others: the columns that hold something else."""
    column = table.find_column(user)
    if column in others:
        raise InvalidArgument(
            "the users need a column of their own", value=user, remedy="Name another column."
        )
    for line, row in table.rows:
        if row[column].casefold() in _MISSING:
            raise InvalidArgument(
                f"{table.name}, line {line}, column {user!r}: every example must have a user",
                value=row[column],
                remedy="Remove the line, or write whose it is.",
            )
    names = sorted({row[column] for _, row in table.rows})
    numbers = {name: (float(number),) for number, name in enumerate(names)}
    return [numbers[row[column]] for _, row in table.rows]


def _missing_header(name: str, line: int, value: str) -> InvalidArgument:
    return InvalidArgument(
        f"{name}, line {line}: expected the names of the columns", value=value, remedy="Put them first."
    )


def _read_rows(name: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a CSV file, which is unpacked if its name ends in .gz."""
    data = read_file("data file", name, mebibytes=_MAX_SIZE)
    if name.endswith(".gz"):
        try:
            with gzip.open(io.BytesIO(data)) as file:
                data = file.read(_MAX_SIZE * 2**20 + 1)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InvalidArgument(
                f"{name} is not complete gzip data, though its name ends in .gz ({error})",
                remedy="Download it again, or remove .gz from the name of a plain file.",
            ) from error
        check_size("unpacked data file", name, len(data), mebibytes=_MAX_SIZE)
    return parse_rows(name, data)


def _parse_number(text: str) -> float | None:
    # Python also accepts 1_000, which in a data file is more likely a typing error.
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _correct(name: str, names: list[str]) -> dict[str, str]:
    """The name with the closest of the names, whatever the case and a dot at the end; empty if none is."""
    folded = {name.casefold().rstrip("."): name for name in reversed(names)}
    close = difflib.get_close_matches(name.casefold().rstrip("."), folded, n=1, cutoff=0.7)
    return {name: folded[close[0]]} if close else {}


def _suggest(name: str, names: list[str]) -> str:
    meant = _correct(name, names)
    if not meant:
        return ""
    (suggestion,) = meant.values()
    dot = " (note the '.' at the end)" if suggestion.endswith(".") != name.endswith(".") else ""
    return f"Did you mean {suggestion!r}{dot}? "


def _format_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(repr(name) for name in names[:_MAX_LISTED]) + more


_BITS = {"0": False, "1": True, "0.0": False, "1.0": True, "false": False, "true": True}


def load_scores(path: str, *, scores: str, bits: str) -> tuple[np.ndarray, np.ndarray]:
    """The scores (n,), and the bits (n,), 0 and 1 or false and true, in two columns of a CSV file."""
    table = read_table(path)
    score, bit = table.find_column(scores), table.find_column(bits)
    if score == bit:
        raise InvalidArgument("a column cannot hold both scores and bits", value=bits, remedy="Name two.")
    for line, row in table.rows:
        if row[bit].casefold() not in _BITS:
            raise InvalidArgument(
                f"{table.name}, line {line}, column {bits!r}: a bit must be 0 or 1",
                value=row[bit],
                remedy="Write 0 and 1, or false and true, or name another column.",
            )
    return (
        np.array([table.parse_number(line, row, score, "a score") for line, row in table.rows]),
        np.array([_BITS[row[bit].casefold()] for _, row in table.rows]),
    )
