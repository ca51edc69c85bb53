"""Concept classes: on the line, boxes, stumps, decision lists, halfplanes, any finite class as a matrix."""

from __future__ import annotations

import re
from collections.abc import Callable

from arena.concepts.base import ConceptClass, Dichotomies
from arena.concepts.cube.decision_lists import DecisionLists
from arena.concepts.cube.features import Conjunctions, Features, Literals, Variables
from arena.concepts.cube.halfspaces import Halfspaces
from arena.concepts.dichotomies import Solutions
from arena.concepts.finite.finite_class import FiniteClass
from arena.concepts.finite.functions import Functions
from arena.concepts.line.encrypted_thresholds import EncryptedThresholds
from arena.concepts.line.intervals import Intervals
from arena.concepts.line.points import Points
from arena.concepts.line.real_intervals import RealIntervals
from arena.concepts.line.real_points import RealPoints
from arena.concepts.line.thresholds import Thresholds
from arena.concepts.plane.boxes import Boxes
from arena.concepts.plane.halfplanes import Halfplanes
from arena.concepts.plane.rectangles import Rectangles
from arena.concepts.plane.stumps import Stumps
from arena.errors import InvalidArgument

POSSIBLE = (
    "Possible are: thresholds (the real line), thresholds:1..16 (the whole numbers from 1 to 16), "
    "thresholds:0.5,1,2 (these points), points and intervals likewise, rectangles:4x4 (a grid), "
    "boxes:2 (real dimensions), stumps:8 (features), halfplanes, halfspaces:64,0.2 (dimensions, margin), "
    "encrypted:16,7 (ciphertexts, seed of the key), "
    "lists:4 (decision lists over 4 variables), lists:4:literals, lists:4:conjunctions2, "
    "matrix:FILE.csv (concepts x points of 0 and 1)."
)
MOST_POINTS = 1_000_000


def _whole(text: str) -> int:
    if not text.strip().isdecimal():
        raise InvalidArgument("dimensions are a whole number", value=text, remedy=POSSIBLE)
    return int(text)


_ALONE: dict[str, Callable[[], ConceptClass]] = {
    kind.name: kind for kind in (Thresholds, RealPoints, RealIntervals, Halfplanes)
}
_OF: dict[str, Callable[[str], ConceptClass]] = {
    Thresholds.name: lambda rest: Thresholds(_domain(rest)),
    Points.name: lambda rest: Points(_domain(rest)),
    Intervals.name: lambda rest: Intervals(_domain(rest)),
    Rectangles.name: lambda rest: Rectangles([_side(part, rest) for part in rest.split("x")]),
    Boxes.name: lambda rest: Boxes(_whole(rest)),
    Stumps.name: lambda rest: Stumps(_whole(rest)),
    Halfspaces.name: Halfspaces.from_text,
    EncryptedThresholds.name: EncryptedThresholds.from_text,
    DecisionLists.name: DecisionLists.from_text,
}
CLASS_NAMES = frozenset({*_ALONE, *_OF, FiniteClass.name})


def concept_class(text: str) -> ConceptClass:
    """The concept class that `text` names on the command line.

    Raises: InvalidArgument that lists what is possible.

    >>> concept_class("thresholds:1..16"), concept_class("boxes:2")
    (Thresholds(16 points from 1 to 16), Boxes(dimension=2))
    """
    name, colon, rest = text.strip().partition(":")
    if not colon and name in _ALONE:
        return _ALONE[name]()
    if colon and name in _OF:
        return _OF[name](rest)
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
    "CLASS_NAMES",
    "Boxes",
    "ConceptClass",
    "Conjunctions",
    "DecisionLists",
    "Dichotomies",
    "EncryptedThresholds",
    "Features",
    "FiniteClass",
    "Functions",
    "Halfplanes",
    "Halfspaces",
    "Intervals",
    "Literals",
    "Points",
    "RealIntervals",
    "RealPoints",
    "Rectangles",
    "Solutions",
    "Stumps",
    "Thresholds",
    "Variables",
    "concept_class",
]
