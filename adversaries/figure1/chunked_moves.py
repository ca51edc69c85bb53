"""Long runs of queries and unlabelled points, divided into moves that fit into memory."""

from __future__ import annotations

import numpy as np

from arena import Learner, PrivacyUnit
from arena.capabilities import AnswersInRounds

_MAX_NUMBERS = 2**20  # of the points of one move, in all games


def chunk_sizes(points: int, games: int, learner: Learner | None) -> list[int]:
    """So many points a game, divided into chunks of which one move can hold each."""
    numbers = 1 if learner is None else int(np.prod(learner.point_shape, dtype=int))
    step = max(1, _MAX_NUMBERS // max(1, games * numbers))
    full, rest = divmod(points, step)
    return [step] * full + ([rest] if rest else [])


def count_unlabelled(learner: Learner | None, queries: int) -> int:
    """The number of unlabelled points without which the learner does not answer so many queries."""
    if learner is None or PrivacyUnit.UNLABELLED_EXAMPLE not in learner.claim.protects:
        return 0
    assert isinstance(learner, AnswersInRounds)
    needed, index = 0, 1
    left = queries - learner.round(1).answers
    while left > 0 and index != learner.rounds:
        needed += learner.pool_size(index)
        index += 1
        left -= learner.round(index).answers
    return needed
