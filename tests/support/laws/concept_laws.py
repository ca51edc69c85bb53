"""Naive references of concept classes: labellings of a few points, Littlestone's dimension, SOA."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from itertools import combinations_with_replacement, product

import attrs
import numpy as np
from scipy.optimize import linprog

from arena.concepts import (
    Boxes,
    ConceptClass,
    DecisionLists,
    EncryptedThresholds,
    FiniteClass,
    Halfplanes,
    RealIntervals,
    RealPoints,
    Stumps,
    Thresholds,
    Variables,
)

Row = tuple[float, ...]
Labelling = tuple[bool, ...]


@attrs.frozen
class NaiveClass:
    """A class, points to draw from, and a function that lists its labellings of a list of points."""

    spec: ConceptClass
    points: tuple[Row | float, ...]
    labellings: Callable[[list], set[Labelling]]


def thresholds(points: list[float]) -> set[Labelling]:
    return {tuple(x >= t for x in points) for t in [*points, np.inf]}


def point_functions(points: list[float]) -> set[Labelling]:
    return {tuple(x == z for x in points) for z in [*points, np.inf]}


def boxes(points: list[Row]) -> set[Labelling]:
    sides = [list(combinations_with_replacement(sorted(set(axis)), 2)) for axis in zip(*points, strict=True)]
    held = {
        tuple(all(a <= x <= b for x, (a, b) in zip(p, box, strict=True)) for p in points)
        for box in product(*sides)
    }
    return held | {(False,) * len(points)}


def intervals(points: list[float]) -> set[Labelling]:
    return boxes([(x,) for x in points]) if points else {()}


def stumps(points: list[Row]) -> set[Labelling]:
    found = {(False,) * len(points), (True,) * len(points)}
    for axis in zip(*points, strict=True):
        for t in axis:
            found |= {tuple(x >= t for x in axis), tuple(x < t for x in axis)}
    return found


def halfplanes(points: list[Row]) -> set[Labelling]:
    return set(filter(lambda labels: separable(points, labels), product([False, True], repeat=len(points))))


def separable(points: Iterable[Row], labels: Iterable[bool]) -> bool:
    """By a linear programme, once for each set of points: s·(a·x + b·y - c) >= 1 for all of them."""
    said = sorted(set(zip(points, map(bool, labels), strict=True)))
    return not said or _separable(tuple(x for x, _ in said), tuple(y for _, y in said))


@lru_cache(maxsize=4096)
def _separable(points: tuple[Row, ...], labels: Labelling) -> bool:
    signs = np.where(labels, 1.0, -1.0)
    rows = signs[:, None] * np.column_stack([np.array(points, float), -np.ones(len(points))])
    solved = linprog(np.zeros(3), A_ub=-rows, b_ub=-np.ones(len(points)), bounds=[(None, None)] * 3)
    return solved.status == 0


CIPHER = EncryptedThresholds(7, 3)
PLAIN = {int(CIPHER.encrypt(i)): i for i in range(7)}
CHAIN = FiniteClass(np.tri(4, 5, -1).astype(bool)[:, ::-1])  # thresholds on 0..4, upside down
LISTS = DecisionLists(Variables(2))
LINE = tuple(float(x) for x in range(5))
PLANE = tuple(product((0.0, 1.0, 2.0), repeat=2))
CUBE = tuple(product((0.0, 1.0), (0.0, 1.0, 5.0), (-1.0, 2.0)))

NAIVE_CLASSES = {
    "thresholds": NaiveClass(Thresholds(), LINE, thresholds),
    "points": NaiveClass(RealPoints(), LINE, point_functions),
    "intervals": NaiveClass(RealIntervals(), LINE, intervals),
    "boxes:1": NaiveClass(Boxes(1), tuple((x,) for x in LINE), boxes),
    "boxes:2": NaiveClass(Boxes(2), PLANE, boxes),
    "boxes:3": NaiveClass(Boxes(3), CUBE, boxes),
    "stumps:1": NaiveClass(Stumps(1), tuple((x,) for x in LINE), stumps),
    "stumps:3": NaiveClass(Stumps(3), CUBE, stumps),
    "halfplanes": NaiveClass(Halfplanes(), PLANE, halfplanes),
    "encrypted:7,3": NaiveClass(
        CIPHER, tuple(range(7)), lambda points: thresholds([float(PLAIN[x]) for x in points])
    ),
    "matrix": NaiveClass(
        CHAIN, LINE, lambda points: {tuple(row[[int(x) for x in points]].tolist()) for row in CHAIN.matrix}
    ),
    "lists": NaiveClass(
        LISTS,
        tuple(product((0.0, 1.0), repeat=2)),
        lambda points: (
            {tuple(row) for row in LISTS.labels(LISTS.all_lists(), np.array(points)).tolist()}
            if points
            else {()}
        ),
    ),
}


def as_array(naive: NaiveClass, points: list) -> np.ndarray:
    """Points as (m, ...), also where there are none."""
    return np.array(points, float).reshape(len(points), *naive.spec.point_shape)


Concepts = frozenset[tuple[int, ...]]


def concepts_of(matrix: np.ndarray) -> Concepts:
    return frozenset(tuple(map(int, row)) for row in matrix)


def agreeing(concepts: Concepts, x: int, y: int) -> Concepts:
    return frozenset(c for c in concepts if c[x] == y)


@cache
def dimension(concepts: Concepts) -> int:
    """The largest d such that some point has both labels and both sides dimension d - 1; -1 of none."""
    if not concepts:
        return -1
    points = range(len(next(iter(concepts))))
    sides = (
        min(dimension(agreeing(concepts, x, 0)), dimension(agreeing(concepts, x, 1)))
        for x in _separate(concepts, points)
    )
    return 1 + max(sides, default=-1)


def _separate(concepts: Concepts, points: range) -> list[int]:
    return [x for x in points if len({c[x] for c in concepts}) == 2]


def soa_label(concepts: Concepts, x: int) -> int:
    """The label of the larger dimension, at a tie that of more concepts, then 1."""
    zero, one = agreeing(concepts, x, 0), agreeing(concepts, x, 1)
    return int(bool(one) and (dimension(one), len(one)) >= (dimension(zero), len(zero)))


def halving_label(concepts: Concepts, x: int) -> int:
    zero, one = agreeing(concepts, x, 0), agreeing(concepts, x, 1)
    return int(bool(one) and len(one) >= len(zero))


def is_shattered(concepts: Concepts, depth: int, points: int) -> bool:
    """Whether some complete tree of this depth is shattered, by trying them all."""
    if depth == 0:
        return bool(concepts)
    return any(
        all(is_shattered(agreeing(concepts, x, y), depth - 1, points) for y in (0, 1)) for x in range(points)
    )


def matrices(concepts: int, points: int) -> list[np.ndarray]:
    """Every class of that many distinct concepts on that many points."""
    rows = list(product((0, 1), repeat=points))
    chosen = [pick for pick in product(rows, repeat=concepts) if list(pick) == sorted(set(pick))]
    return [np.array(pick, bool) for pick in chosen]
