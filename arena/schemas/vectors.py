"""Vectors at a distance: how far apart two are, and the vector that lies at a distance in a direction."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from arena.claims import Neighbours, Relation
from arena.records import Records

_ROUNDING = 1 - 2.0**-50  # factor that shortens a step whose rounded sum would exceed the distance
_MOST_RAISED = 16  # entries of a whole vector that are moved by one more
_SLACK = Fraction(1, 2**40)  # share of a distance that a given pair may exceed, as its entries are rounded
_MOST_ULPS = 8  # steps of the last place that an entry of such a vector is moved, at most

Vector = tuple[float, ...]


def measure_norm(relation: Relation, change: np.ndarray) -> float:
    """The norm of a change, by the kind of a relation of vectors."""
    sizes = np.abs(change)
    if relation.kind is Neighbours.AT_LINF_DISTANCE:
        return float(sizes.max(initial=0.0))
    return float(sizes.sum()) if relation.kind is Neighbours.AT_L1_DISTANCE else math.sqrt(sizes @ sizes)


def measure_distance(relation: Relation, first: Records, second: Records) -> float | None:
    """How far apart two vectors are; None for what are no vectors of one length."""
    vectors = [dataset.list_numbers() for dataset in (first, second)]
    if vectors[0] is None or vectors[1] is None or len(vectors[0]) != len(vectors[1]):
        return None
    return measure_norm(relation, np.subtract(vectors[1], vectors[0]))


def shift_vector(
    relation: Relation, base: np.ndarray, direction: np.ndarray, *, whole: bool = False
) -> Vector | None:
    """The vector at the whole distance of a relation from another, in a direction; None if no vector of
    floats lies there. whole: only whole numbers are added, as many as the distance allows."""
    norm = measure_norm(relation, direction)
    if not 0 < norm < math.inf:
        return None
    step = relation.distance / norm
    for factor in (1.0, _ROUNDING):
        change = factor * step * direction
        moved = base + (np.trunc(change) if whole else change)
        if whole:
            moved = _raise_entries(relation, base, moved, direction)
        if _is_near(relation, base, moved):
            return tuple(moved.tolist())
    return None


def _raise_entries(
    relation: Relation, base: np.ndarray, moved: np.ndarray, direction: np.ndarray
) -> np.ndarray:
    """The vector with one more in the entries that change most, as far as the distance allows."""
    for place in np.argsort(-np.abs(direction), kind="stable")[:_MOST_RAISED].tolist():
        raised = moved.copy()
        raised[place] += np.sign(direction[place])
        if direction[place] and _is_near(relation, base, raised):
            moved = raised
    return moved


def _is_near(relation: Relation, first: np.ndarray, second: np.ndarray) -> bool:
    worlds = [Records([tuple(vector.tolist())]) for vector in (first, second)]
    return relation.count_changes(worlds[0], worlds[1], lambda given: np.zeros(len(given))) == 1


def correct_rounding(relation: Relation, first: Vector, second: Vector) -> Vector:
    """The second vector, moved towards the first in the last places of its entries, if it is at the distance
    of a relation but for rounding; otherwise as it is."""
    base, moved = np.array(first), np.array(second)
    limit = Fraction(relation.distance) * (1 + _SLACK)
    if base.shape != moved.shape or not np.isfinite([base, moved]).all():
        return second
    if _is_near(relation, base, moved) or Fraction(measure_norm(relation, moved - base)) > limit:
        return second
    for _ in range(_MOST_ULPS):
        moved = np.nextafter(moved, base)
        if _is_near(relation, base, moved):
            return tuple(moved.tolist())
    return second
