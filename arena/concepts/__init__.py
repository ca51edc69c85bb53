"""Concept classes: on the line, rectangles, decision lists, halfspaces, any finite class as a matrix."""

from __future__ import annotations

import re

from arena.concepts.base import ConceptClass, Dichotomies
from arena.concepts.decision_lists import DecisionLists
from arena.concepts.features import Conjunctions, Features, Literals, Variables
from arena.concepts.finite import FiniteClass
from arena.concepts.functions import Functions
from arena.concepts.halfspaces import Halfspaces
from arena.concepts.intervals import Intervals
from arena.concepts.rectangles import Rectangles
from arena.concepts.singletons import Points
from arena.concepts.thresholds import Thresholds
from arena.errors import InvalidArgument

POSSIBLE = (
    "Possible are: thresholds (the real line), thresholds:1..16 (the whole numbers from 1 to 16), "
    "thresholds:0.5,1,2 (these points), points and intervals likewise, rectangles:4x4 (a grid), "
    "halfspaces:64,0.2 (dimensions, margin), "
    "lists:4 (decision lists over 4 variables), lists:4:literals, lists:4:conjunctions2, "
    "matrix:FILE.csv (concepts x points of 0 and 1)."
)
MOST_POINTS = 1_000_000
_ON_LINE: dict[str, type[Thresholds] | type[Points] | type[Intervals]] = {
    kind.name: kind for kind in (Thresholds, Points, Intervals)
}


def concept_class(text: str) -> ConceptClass:
    """The concept class that `text` names on the command line.

    Raises: InvalidArgument that lists what is possible.

    >>> concept_class("thresholds:1..16")
    Thresholds(16 points from 1 to 16)
    """
    name, colon, rest = text.strip().partition(":")
    if name == Thresholds.name and not colon:
        return Thresholds()
    if name in _ON_LINE and colon:
        return _ON_LINE[name](_domain(rest))
    if name == Rectangles.name and colon:
        return Rectangles([_side(part, text) for part in rest.split("x")])
    if name == Halfspaces.name and colon:
        return Halfspaces.from_text(rest)
    if name == DecisionLists.name and colon:
        return DecisionLists.from_text(rest)
    if name == FiniteClass.name and rest:
        return FiniteClass.from_csv(rest)
    raise InvalidArgument("no such concept class", value=text, remedy=POSSIBLE)


def _domain(text: str) -> list[float] | range:
    ends = re.fullmatch(r"\s*([+-]?\d+)\s*\.\.\s*([+-]?\d+)\s*", text)
    if ends is None:
        return [_number(part) for part in text.split(",")]
    low, high = int(ends[1]), int(ends[2])
    if not 0 <= high - low < MOST_POINTS:
        raise InvalidArgument(
            f"LOW..HIGH needs LOW <= HIGH and at most {MOST_POINTS:,} points",
            value=text,
            remedy=f'"{Thresholds.name}" alone is the real line.',
        )
    return range(low, high + 1)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidArgument("a point of a domain must be a number", value=text, remedy=POSSIBLE) from None


def _side(part: str, text: str) -> int:
    if not part.strip().isdecimal():
        raise InvalidArgument("a grid is written as its sides, 4x4", value=text, remedy=POSSIBLE)
    return int(part)


__all__ = [
    "ConceptClass",
    "Conjunctions",
    "DecisionLists",
    "Dichotomies",
    "Features",
    "FiniteClass",
    "Functions",
    "Halfspaces",
    "Intervals",
    "Literals",
    "Points",
    "Rectangles",
    "Thresholds",
    "Variables",
    "concept_class",
]
