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
    "class_names": ("CLASS_NAMES", "parse_concept_class"),
    "cube.decision_lists": ("DecisionLists",),
    "cube.features": ("BooleanFeatures", "Conjunctions", "Literals", "Variables"),
    "cube.halfspaces": ("Halfspaces",),
    "finite.finite_class": ("FiniteClass", "Functions"),
    "line.encrypted_thresholds": ("EncryptedThresholds",),
    "line.finite_line": ("Intervals", "Points"),
    "line.real_intervals": ("RealIntervals",),
    "line.real_points": ("RealPoints",),
    "line.thresholds": ("Thresholds",),
    "plane.boxes": ("Boxes",),
    "plane.halfplanes": ("Halfplanes",),
    "plane.rectangles": ("Rectangles",),
    "plane.stumps": ("Stumps",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"arena.concepts.{_MODULE_OF[name]}"), name)
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
