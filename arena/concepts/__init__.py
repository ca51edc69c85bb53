"""Concept classes: on the line, in the plane, on the cube, and any finite class as a matrix."""

from arena.concepts.base import ConceptClass
from arena.concepts.boxes import Boxes
from arena.concepts.class_names import CLASS_NAMES, parse_concept_class
from arena.concepts.decision_lists import DecisionLists
from arena.concepts.dichotomies import CandidateConcepts, Dichotomies
from arena.concepts.encrypted_thresholds import EncryptedThresholds
from arena.concepts.features import BooleanFeatures, Conjunctions, Literals, Variables
from arena.concepts.finite import FiniteClass, Functions
from arena.concepts.grids import Intervals, Points, Rectangles
from arena.concepts.halfplanes import Halfplanes
from arena.concepts.halfspaces import Halfspaces
from arena.concepts.line import RealIntervals, RealPoints, Thresholds
from arena.concepts.stumps import Stumps

__all__ = ["CLASS_NAMES", "BooleanFeatures", "Boxes", "CandidateConcepts", "ConceptClass", "Conjunctions"]
__all__ += ["DecisionLists", "Dichotomies", "EncryptedThresholds", "FiniteClass", "Functions", "Halfplanes"]
__all__ += ["Halfspaces", "Intervals", "Literals", "Points", "RealIntervals", "RealPoints", "Rectangles"]
__all__ += ["Stumps", "Thresholds", "Variables", "parse_concept_class"]
