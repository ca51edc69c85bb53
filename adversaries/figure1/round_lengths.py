"""What is public of a learner that answers in rounds: how long they are, and what it must be handed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from arena import Learner, PrivacyUnit, Unlabelled

_STRETCH = 2**20  # numbers, of points that a table is given at once


def unlabelled_needed(learner: Learner | None, queries: int) -> int:
    """The unlabelled points without which the learner does not answer so many queries."""
    spec: Any = learner
    if spec is None or PrivacyUnit.UNLABELLED_EXAMPLE not in spec.claim.protects:
        return 0
    needed, index = 0, 1
    left = queries - int(spec.round(1).answers)
    while left > 0 and index != spec.rounds:
        needed += int(spec.pool_size(index))
        index += 1
        left -= int(spec.round(index).answers)
    return needed


def handed(
    learner: Learner | None, queries: int, games: int, draw: Callable[[int], np.ndarray]
) -> Iterator[Unlabelled]:
    """The moves that hand the learner what it needs for so many queries: `draw(k)` are k points, (k, ...) or
    (n, k, ...)."""
    for stretch in stretches(unlabelled_needed(learner, queries), games, learner):
        yield Unlabelled(draw(stretch))


def stretches(points: int, games: int, learner: Learner | None) -> list[int]:
    """So many points a game in stretches that a table holds at once."""
    numbers = 1 if learner is None else int(np.prod(learner.point_shape, dtype=int))
    step = max(1, _STRETCH // max(1, games * numbers))
    full, rest = divmod(points, step)
    return [step] * full + ([rest] if rest else [])
