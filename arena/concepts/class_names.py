"""Concept classes by their names on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from arena.concepts.base import ConceptClass
from arena.concepts.boxes import Boxes
from arena.concepts.decision_lists import DecisionLists
from arena.concepts.encrypted_thresholds import EncryptedThresholds
from arena.concepts.finite import FiniteClass, build_vote_pairs
from arena.concepts.grids import Intervals, Points, Rectangles
from arena.concepts.halfplanes import Halfplanes
from arena.concepts.halfspaces import Halfspaces
from arena.concepts.line import RealIntervals, RealPoints, Thresholds
from arena.concepts.stumps import Stumps
from arena.errors import InvalidArgument

FORMS = (
    "Possible are: thresholds (the real line), thresholds:1..16 (the integers from 1 to 16), "
    "thresholds:0.5,1,2 (these points), points and intervals in the same forms, rectangles:4x4 (a grid), "
    "boxes:2 (dimensions), stumps:8 (features), halfplanes, halfspaces:64,0.2 (dimensions, margin), "
    "encrypted:16,7 (ciphertexts, seed of the key), "
    "lists:4 (decision lists over 4 variables), lists:4:literals, lists:4:conjunctions2, "
    "votes:11 (on which 11 teachers of one example each can cast every pair of votes), "
    "matrix:FILE.csv (concepts x points of 0 and 1)."
)
MAX_POINTS = 1_000_000  # of a domain LOW..HIGH

_WITHOUT_PARAMETERS: dict[str, Callable[[], ConceptClass]] = {
    kind.name: kind for kind in (Thresholds, RealPoints, RealIntervals, Halfplanes)
}
_WITH_PARAMETERS: dict[str, Callable[[str], ConceptClass]] = {
    Thresholds.name: lambda rest: Thresholds(_parse_domain(rest)),
    Points.name: lambda rest: Points(_parse_domain(rest)),
    Intervals.name: lambda rest: Intervals(_parse_domain(rest)),
    Rectangles.name: lambda rest: Rectangles([_parse_size(side, rest) for side in rest.split("x")]),
    Boxes.name: lambda rest: Boxes(_parse_size(rest, rest)),
    Stumps.name: lambda rest: Stumps(_parse_size(rest, rest)),
    Halfspaces.name: lambda rest: Halfspaces(*_parse_numbers(rest, int, float, form="halfspaces:64,0.2")),
    EncryptedThresholds.name: lambda rest: EncryptedThresholds(
        *_parse_numbers(rest, int, int, form="encrypted:16,7")
    ),
    DecisionLists.name: DecisionLists.from_text,
    "votes": lambda rest: build_vote_pairs(_parse_size(rest, rest)),
}
CLASS_NAMES = frozenset({*_WITHOUT_PARAMETERS, *_WITH_PARAMETERS, FiniteClass.name})


def parse_concept_class(text: str) -> ConceptClass:
    """The concept class that `text` names. Raises: InvalidArgument that lists the possible forms.

    >>> parse_concept_class("thresholds:1..16"), parse_concept_class("boxes:2")
    (Thresholds(16 points from 1 to 16), Boxes(dimension=2))
    """
    name, colon, rest = text.strip().partition(":")
    if not colon and name in _WITHOUT_PARAMETERS:
        return _WITHOUT_PARAMETERS[name]()
    if colon and name in _WITH_PARAMETERS:
        return _WITH_PARAMETERS[name](rest)
    if name == FiniteClass.name and rest:
        return FiniteClass.from_csv(rest)
    raise InvalidArgument("there is no such concept class", value=text, remedy=FORMS)


def _parse_domain(text: str) -> list[float] | range:
    ends = re.fullmatch(r"\s*([+-]?\d+)\s*\.\.\s*([+-]?\d+)\s*", text)
    if ends is None:
        try:
            return [float(part) for part in text.split(",")]
        except ValueError:
            raise InvalidArgument(
                "the points of a domain must be numbers", value=text, remedy=FORMS
            ) from None
    low, high = int(ends[1]), int(ends[2])
    if not 0 <= high - low < MAX_POINTS:
        raise InvalidArgument(
            f"LOW..HIGH must have LOW <= HIGH and at most {MAX_POINTS:,} points",
            value=text,
            remedy=f'"{Thresholds.name}" without a domain is the real line.',
        )
    return range(low, high + 1)


def _parse_numbers(text: str, *kinds: Callable[[str], Any], form: str) -> list[Any]:
    parts = text.split(",")
    try:
        return [kind(part) for kind, part in zip(kinds, parts, strict=True)]
    except ValueError:
        raise InvalidArgument(
            f"{form.partition(':')[0]} must have {len(kinds)} numbers", value=text, remedy=f"Write {form}."
        ) from None


def _parse_size(size: str, text: str) -> int:
    if not size.strip().isdecimal():
        raise InvalidArgument("dimensions and the sides of a grid must be integers", value=text, remedy=FORMS)
    return int(size)
