"""Tables, paragraphs and numbers, written alike in every report for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from tabulate import tabulate

WIDTH = 100  # characters of a line of prose


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
