"""Dimensions of a class and of its dual, in which points and concepts are exchanged."""

from __future__ import annotations

import numpy as np

from arena.concepts import ConceptClass, FiniteClass
from arena.concepts.consistency import labellings
from arena.littlestone.concept_sets import ConceptSets, concept_sets


def littlestone_dimension(concept_class: ConceptClass) -> int:
    """Ldim: the depth of the deepest tree that the class shatters (Definition 2.2 of Li, Wang, Ye).

    Raises: Unsupported if the domain is not finite or the class is too large.
    """
    sets = concept_sets(concept_class)
    return sets.dimension(sets.all)


def dual_littlestone_dimension(concept_class: ConceptClass) -> int:
    """Ldim*: the Littlestone dimension of the dual class, whose concepts are the points.

    Raises: as `littlestone_dimension`.
    """
    sets = ConceptSets(f"the dual of {concept_class}", _dual(concept_class))
    return sets.dimension(sets.all)


def dual_vc_dimension(concept_class: ConceptClass) -> int:
    """VC*: the VC dimension of the dual class.

    Raises: Unsupported if the domain is not finite.
    """
    return FiniteClass(_dual(concept_class)).vc_dimension


def _dual(concept_class: ConceptClass) -> np.ndarray:
    """(points, concepts) bool, with one of several points that all concepts label alike."""
    return np.asarray(np.unique(labellings(concept_class).T, axis=0))
