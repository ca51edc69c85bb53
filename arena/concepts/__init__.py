"""Concept classes."""

from arena.concepts.base import ConceptClass, Dichotomies
from arena.concepts.finite import FiniteClass
from arena.concepts.thresholds import Thresholds

__all__ = ["ConceptClass", "Dichotomies", "FiniteClass", "Thresholds"]
