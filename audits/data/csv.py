"""Your data as a sample: columns of a CSV file, with every refusal saying where and what to do."""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import math
import os
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from arena.errors import InvalidArgument
from arena.sample import Sample

_SHOWN = 20


def load_sample(
    path: str | os.PathLike[str], *, x: str | Sequence[str], y: str, positive: str | None = None
) -> Sample:
    """The labelled examples of a CSV file, as a multiset: one run for each distinct example, sorted.

    path: UTF-8 text with commas and a first line of column names; gzipped if the name ends in .gz. Blanks
    around a field do not count, nor do empty lines.
    x: the column of the points, numbers; several columns make points with as many coordinates.
    y: the column of the labels, which takes two values.
    positive: the value of y that becomes label 1. Where y holds the numbers 0 and 1 it may be left out.

    Shapes: points (k,) for one name, (k, d) for a sequence of d names.

    Raises: InvalidArgument, naming the file, the line, the column, the value and the remedy.
    """
    name = os.fspath(path)
    table = read_table(name)
    places = [table.column(column) for column in ([x] if isinstance(x, str) else x)]
    label = table.column(y)
    if not places:
        raise InvalidArgument("points need at least one column", value=x, remedy="Name one.")
    if label in places:
        raise InvalidArgument(
            "a column cannot hold both the points and the labels", value=y, remedy="Name two."
        )
    points = [tuple(table.number(line, row, place) for place in places) for line, row in table.rows]
    positive = positive_of(table, label, positive)
    labels = [row[label] == positive for _, row in table.rows]
    return Sample([p[0] for p in points] if isinstance(x, str) else points, labels).distinct()


@attrs.frozen(eq=False)
class Table:
    """A file that is known to be a rectangle: the names in line `head`, and each row with its line."""

    name: str
    head: int
    columns: list[str]
    rows: list[tuple[int, list[str]]]

    def column(self, wanted: str) -> int:
        """The place of the column of that name; InvalidArgument if there is none."""
        if wanted in self.columns:
            return self.columns.index(wanted)
        numbers = [column for column in self.columns if _number(column) is not None]
        if numbers:
            raise _headless(self.name, self.head, numbers[0])
        raise InvalidArgument(
            f"{self.name}, line {self.head}: no such column",
            value=wanted,
            remedy=_nearest(wanted, self.columns)
            + f"The columns are: {_listed(self.columns)}."
            + self._hint(),
        )

    def number(self, line: int, row: list[str], place: int) -> float:
        value = _number(row[place])
        if value is None or not math.isfinite(value):
            raise InvalidArgument(
                f"{self.name}, line {line}, column {self.columns[place]!r}: a point must be a finite number",
                value=row[place],
                remedy="Remove the line, write the value as a number, or name another column.",
            )
        return value

    def _hint(self) -> str:
        found = [mark for mark in (";", "\t", "|") if mark in self.columns[0]]
        if len(self.columns) > 1 or not found:
            return ""
        return f" They seem to be separated by {found[0]!r}: write commas."


def read_table(name: str) -> Table:
    """The table in a CSV file.

    Raises: InvalidArgument if it is none.
    """
    lines = _lines(name)
    head, columns = next(lines, (0, []))
    if not columns:
        raise InvalidArgument(f"{name} is empty", remedy="Give a file of column names and examples.")
    for column, times in Counter(columns).items():
        if column and times > 1:
            raise _repeated(name, head, column)
    rows = []
    for line, row in lines:
        if len(row) != len(columns):
            raise InvalidArgument(
                f"{name}, line {line}: expected {len(columns)} fields, as in line {head}",
                value=len(row),
                remedy="Mend the line; a field that holds a comma needs quotes.",
            )
        rows.append((line, row))
    if not rows:
        raise InvalidArgument(f"{name} has column names but no examples", remedy="Give more data.")
    return Table(name, head, columns, rows)


def _repeated(name: str, line: int, column: str) -> InvalidArgument:
    if _number(column) is not None:
        return _headless(name, line, column)
    return InvalidArgument(
        f"{name}, line {line}: every column needs a name of its own",
        value=column,
        remedy="Rename the columns that share it.",
    )


def _headless(name: str, line: int, value: str) -> InvalidArgument:
    return InvalidArgument(
        f"{name}, line {line}: expected the names of the columns",
        value=value,
        remedy="Put a line of column names first.",
    )


def _lines(name: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, fields stripped, each with the number of its last line."""
    reader = csv.reader(io.StringIO(_text(name), newline=""), skipinitialspace=True, strict=True)
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            if fields not in ([], [""]):
                yield reader.line_num, fields
    except csv.Error as error:
        raise InvalidArgument(
            f"{name}, line {reader.line_num}: not CSV ({error})", remedy="Mend the quotes of the line."
        ) from error


def _text(name: str) -> str:
    data = _bytes(name)
    try:
        text = data.decode("utf-8-sig")
        place = data.find(b"\0")
    except UnicodeDecodeError as error:
        text, place = "", error.start
    if place >= 0:
        line = data.count(b"\n", 0, place) + 1
        gzipped = data.startswith(b"\x1f\x8b")
        raise InvalidArgument(
            f"{name}, line {line}: not text in UTF-8",
            value=data[place : place + 1],
            remedy="It is gzipped: end its name in .gz." if gzipped else "Save it as CSV in UTF-8.",
        )
    return text


def _bytes(name: str) -> bytes:
    try:
        data = Path(name).read_bytes()
        return gzip.decompress(data) if name.endswith(".gz") else data
    except FileNotFoundError:
        raise InvalidArgument(f"{name}: no such file", remedy="Check the path.") from None
    except IsADirectoryError:
        raise InvalidArgument(f"{name} is a directory", remedy="Give a CSV file in it.") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InvalidArgument(
            f"{name} is not whole gzip data, though its name ends in .gz ({error})",
            remedy="Fetch it again, or take .gz off the name of a plain file.",
        ) from error
    except OSError as error:
        raise InvalidArgument(
            f"{name} cannot be read ({error.strerror})", remedy="Check its rights."
        ) from error


def positive_of(table: Table, label: int, positive: str | None) -> str:
    """The text of label 1 in column `label`, after checking that there are two labels and it is one of them.

    Raises: InvalidArgument if not, or if it is not said and the labels are not 0 and 1.
    """
    values = label_values(table, label)
    where = f"{table.name}, column {table.columns[label]!r}"
    if positive is None:
        return _one_of_zero_and_one(values, where)
    wanted = positive.strip()
    if wanted not in values:
        raise InvalidArgument(
            f"{where}: no label is",
            value=positive,
            remedy=f"{_nearest(wanted, values)}The labels are: {_listed(values)}.",
        )
    return wanted


def label_values(table: Table, label: int) -> list[str]:
    """The two values of column `label`, in the order of their first lines.

    Raises: InvalidArgument if there are more, or fewer.
    """
    first: dict[str, int] = {}
    for line, row in table.rows:
        first.setdefault(row[label], line)
    values = list(first)
    if len(values) != 2:
        third = f" (the third in line {first[values[2]]})" if len(values) > 2 else ""
        raise InvalidArgument(
            f"{table.name}, column {table.columns[label]!r}: labels must take two values, found "
            f"{len(values)}{third}: {_listed(values)}",
            remedy="Name a column of two values, or merge or remove the others.",
        )
    return values


def _one_of_zero_and_one(values: list[str], where: str) -> str:
    numbers = {_number(value): value for value in values}
    if numbers.keys() != {0.0, 1.0}:
        raise InvalidArgument(
            f"{where}: the labels are {_listed(values)}, and which of them is 1 was not said",
            remedy=f"Name it, as in positive={values[0]!r}.",
        )
    return numbers[1.0]


def _number(text: str) -> float | None:
    # Python also reads 1_000, which in data is more likely a slip.
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _nearest(wanted: str, names: list[str]) -> str:
    folded = {name.casefold().rstrip("."): name for name in reversed(names)}
    near = difflib.get_close_matches(wanted.casefold().rstrip("."), folded, n=1, cutoff=0.7)
    if not near:
        return ""
    name = folded[near[0]]
    dot = " (mind the '.' at the end)" if name.endswith(".") != wanted.endswith(".") else ""
    return f"Did you mean {name!r}{dot}? "


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(repr(name) for name in names[:_SHOWN]) + more
