"""Tables, paragraphs and numbers, written alike in every report; and text of strangers, made safe."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from tabulate import tabulate

WIDTH = 100  # characters of a line of prose, where no terminal says how many it has
_NAMES = 22  # columns of the names beside a long value, about
# Control characters but tabs and newlines; separators of lines; marks, embeddings, overrides and isolates of
# the direction of writing; surrogates, as in names of files that are not UTF-8; invisible tags.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


def wrap(prose: str, width: int = WIDTH) -> str:
    """A paragraph of prose, broken into lines."""
    return textwrap.fill(prose, width, break_long_words=False, break_on_hyphens=False)  # paths stay whole


def wrap_value(prose: str) -> str:
    """A long value in a table of names, broken into lines beside the names."""
    return wrap(prose, WIDTH - _NAMES)


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


def describe_lower(bound: float, refuted: float | None = None) -> str:
    """A certified lower bound on ε. refuted: the ε of a claim that is refuted. A bound that looks no larger
    in these digits is written as more than the claim, which is false, too."""
    if refuted is None or bound < refuted or is_visibly_above(bound, refuted):
        return f"ε ≥ {nats(bound)}"
    return f"ε > {refuted:.10g}"


def is_visibly_above(bound: float, claimed: float) -> bool:
    """Whether a bound is above a claimed ε in the digits in which both are written."""
    return float(nats(bound)) > max(claimed, float(nats(claimed)))


def describe_validity(fixed_games: bool) -> str:
    """At which number of games a bound holds, after its confidence; empty if at all of them."""
    return ", valid at this number of games only, fixed beforehand" if fixed_games else ""


def escape_controls(text: str, *, one_line: bool = False) -> str:
    """The text, with characters that steer a terminal, or hide or reorder text, as Python writes them."""
    text = _UNSAFE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)
    return text.replace("\n", "\\n").replace("\t", "\\t") if one_line else text
