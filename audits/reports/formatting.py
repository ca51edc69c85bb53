"""Tables, paragraphs and numbers, written alike in every report for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from tabulate import tabulate

WIDTH = 100  # characters of a line of prose
Table = tuple[str, Sequence[str], Sequence[Sequence[str]]]  # title or "", headers, rows


def compose_text(
    heads: Iterable[Iterable[tuple[str, str]]], tables: Iterable[Table], sentences: Iterable[str]
) -> str:
    """A report for a terminal: tables of names and values, tables with titles, and paragraphs of prose."""
    parts = [name_table(rows) for rows in heads]
    for title, headers, rows in tables:
        parts += [title, column_table(rows, headers)] if title else [column_table(rows, headers)]
    return "\n\n".join([*parts, *map(wrap, sentences)])


def wrap(prose: str, width: int = WIDTH) -> str:
    """A paragraph of prose, broken into lines."""
    return textwrap.fill(prose, width)


def name_table(rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and values, without a header."""
    return str(tabulate(list(rows), tablefmt="plain", disable_numparse=True))


def column_table(rows: Iterable[Sequence[str]], headers: Sequence[str]) -> str:
    """A table with a header and a line below it."""
    return str(tabulate(list(rows), headers, tablefmt="simple", disable_numparse=True))


def percent(probability: float) -> str:
    """A probability as a percentage."""
    return f"{100 * probability:.10g} %"


def nats(epsilon: float) -> str:
    """A value of ε."""
    return f"{epsilon:.4g}"
