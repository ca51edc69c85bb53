"""Littlestone's dimension and his learner, as slowly and plainly as they are defined."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

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
