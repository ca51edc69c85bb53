"""Concept classes: on the line, in the plane, on the cube, and any finite class as a matrix.

A class is imported when it is first used: there are many, and a program uses few.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from arena.concepts.base import ConceptClass
from arena.concepts.dichotomies import CandidateConcepts, Dichotomies

if TYPE_CHECKING:
    from arena.concepts.class_names import CLASS_NAMES, parse_concept_class
    from arena.concepts.cube.decision_lists import DecisionLists
    from arena.concepts.cube.features import BooleanFeatures, Conjunctions, Literals, Variables
    from arena.concepts.cube.halfspaces import Halfspaces
    from arena.concepts.finite.finite_class import FiniteClass, Functions
    from arena.concepts.line.encrypted_thresholds import EncryptedThresholds
    from arena.concepts.line.finite_line import Intervals, Points
    from arena.concepts.line.real_intervals import RealIntervals
    from arena.concepts.line.real_points import RealPoints
    from arena.concepts.line.thresholds import Thresholds
    from arena.concepts.plane.boxes import Boxes
    from arena.concepts.plane.halfplanes import Halfplanes
    from arena.concepts.plane.rectangles import Rectangles
    from arena.concepts.plane.stumps import Stumps

_MODULES = {
    "CLASS_NAMES": "class_names",
    "parse_concept_class": "class_names",
    "DecisionLists": "cube.decision_lists",
    "BooleanFeatures": "cube.features",
    "Conjunctions": "cube.features",
    "Literals": "cube.features",
    "Variables": "cube.features",
    "Halfspaces": "cube.halfspaces",
    "FiniteClass": "finite.finite_class",
    "Functions": "finite.finite_class",
    "EncryptedThresholds": "line.encrypted_thresholds",
    "Intervals": "line.finite_line",
    "Points": "line.finite_line",
    "RealIntervals": "line.real_intervals",
    "RealPoints": "line.real_points",
    "Thresholds": "line.thresholds",
    "Boxes": "plane.boxes",
    "Halfplanes": "plane.halfplanes",
    "Rectangles": "plane.rectangles",
    "Stumps": "plane.stumps",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"arena.concepts.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


__all__ = [
    "CLASS_NAMES",
    "BooleanFeatures",
    "Boxes",
    "CandidateConcepts",
    "ConceptClass",
    "Conjunctions",
    "DecisionLists",
    "Dichotomies",
    "EncryptedThresholds",
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
    "Stumps",
    "Thresholds",
    "Variables",
    "parse_concept_class",
]
