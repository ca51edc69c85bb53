"""Text that fits a terminal: lines are broken between words, and tables between the words of their cells."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Sequence
from typing import IO, Any

from audits.reports.formatting import WIDTH, wrap

_NARROWEST, _WIDEST = 40, 200  # columns of a terminal that text is fitted to
_RULE = re.compile(r" *-+(?: +-+)* *")  # below the header of a table
_LEAST_RULE = 2  # columns, since a line of dashes may be prose
_NAMED = re.compile(
    r"( *\S+(?: \S+)*  +)\S"
)  # a name, and the first letter of what stands in the next column
_COMMAND = re.compile(r" *(?:\$ )?(?:arena|pip|pytest) ")
_CONTINUED = " \\"
_GAP = 2  # columns between those of a table


def measure_width(stream: IO[str] | None) -> int | None:
    """The columns of a terminal; None if the stream is a file or a pipe, whose lines stay as they are."""
    if stream is None or not stream.isatty():
        return None
    return min(max(shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)


def fit_text(text: str, width: int | None) -> str:
    """The text in lines of at most `width` columns, unless a word is longer. None: as it is."""
    if width is None or all(len(line) <= width for line in text.splitlines()):
        return text
    lines, fitted, place = text.split("\n"), list[str](), 0
    while place < len(lines):
        end = place + 2
        if end <= len(lines) and _is_rule(lines[place + 1]):
            while end < len(lines) and lines[end].strip():
                end += 1
            fitted += _fit_table(lines[place:end], width)
        else:
            end = place + 1
            fitted += _fold_line(lines[place], width)
        place = end
    return "\n".join(fitted)


def _is_rule(line: str) -> bool:
    return _RULE.fullmatch(line) is not None and len(line.split()) >= _LEAST_RULE


def _fold_line(line: str, width: int) -> list[str]:
    """A line, broken between words; what follows stands below the value of a name, or is indented."""
    if len(line) <= width:
        return [line]
    indent = len(line) - len(line.lstrip())
    if _COMMAND.match(line):
        return _fold_command(line, width, indent)
    named = _NAMED.match(line)
    after = (
        len(named[1]) if named is not None and len(named[1]) <= width // 2 else min(indent + 2, width // 2)
    )
    words = line[:after] if named is not None and after == len(named[1]) else " " * indent
    body = line[len(words) :]
    return _wrap(body, width, initial_indent=words, subsequent_indent=" " * after) or [line]


def _fold_command(line: str, width: int, indent: int) -> list[str]:
    """A command, continued on further lines as shells read it."""
    further = " " * (indent + 4)
    parts = _wrap(
        line.removesuffix(_CONTINUED),
        width - len(_CONTINUED),
        initial_indent=" " * indent,
        subsequent_indent=further,
    )
    goes_on = line.endswith(_CONTINUED)
    return [part + _CONTINUED * (goes_on or part is not parts[-1]) for part in parts]


def _wrap(text: str, width: int, **settings: Any) -> list[str]:
    return textwrap.wrap(text.strip(), width, break_long_words=False, break_on_hyphens=False, **settings)


def _fit_table(lines: Sequence[str], width: int) -> list[str]:
    """A table, by its header, its rule and its rows: with narrower columns or, if words are too long for it,
    one line for each name and value."""
    starts = [match.start() for match in re.finditer("-+", lines[1])]
    if max(map(len, lines)) <= width:
        return list(lines)
    ends = [*starts[1:], None]
    rows = [
        [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]
        for line in (lines[0], *lines[2:])
    ]
    columns = [*zip(*rows, strict=True)]
    widths = _share_width(columns, width)
    if widths is None:
        return _list_rows(rows, width)
    fitted = [_join_cells(row, widths) for row in rows]
    rule = (" " * _GAP).join("-" * size for size in widths)
    return [*fitted[0], rule, *(line for part in fitted[1:] for line in part)]


def _share_width(columns: Sequence[Sequence[str]], width: int) -> list[int] | None:
    """Widths of columns that together fit, the widest made narrower first; None if the words are too long."""
    widths = [max(map(len, column)) for column in columns]
    least = [max((len(word) for cell in column for word in cell.split()), default=0) for column in columns]
    spare = width - _GAP * (len(columns) - 1)
    if sum(least) > spare:
        return None
    while sum(widths) > spare:
        number = max(range(len(widths)), key=lambda n: widths[n] - least[n])
        others = [size for size in widths if size < widths[number]]
        lowest = max(least[number], max(others, default=0))
        excess = sum(widths) - spare
        widths[number] = max(lowest if lowest < widths[number] else least[number], widths[number] - excess)
    return widths


def _join_cells(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    parts = [_wrap(cell, size) for cell, size in zip(row, widths, strict=True)]
    lines = []
    for number in range(max(map(len, parts), default=0)):
        cells = [part[number] if number < len(part) else "" for part in parts]
        lines.append((" " * _GAP).join(cell.ljust(size) for cell, size in zip(cells, widths, strict=True)))
    return [line.rstrip() for line in lines] or [""]


def _list_rows(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    head, *body = rows
    longest = max(map(len, head)) + _GAP
    fitted = list[str]()
    for row in body:
        named = [(name, cell) for name, cell in zip(head, row, strict=True) if cell]
        fitted += [""] * bool(fitted)
        for name, cell in named:
            fitted += _fold_line(f"{name.ljust(longest)}{cell}", width)
    return fitted


def fit_prose(prose: str, stream: IO[str] | None) -> str:
    """A message as one line or, on a terminal, in lines that fit it."""
    width = measure_width(stream)
    return prose if width is None else wrap(prose, width)


def read_width(stream: IO[str] | None) -> int:
    """The columns of prose: those of a terminal, and the same for all files and pipes."""
    return measure_width(stream) or WIDTH
