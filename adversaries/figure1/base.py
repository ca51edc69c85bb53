"""Base of the adversaries of Figure 1, and long runs of points, divided into moves that fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs
import numpy as np

from arena import Adversary, Learner, PrivacyUnit, Unlabelled, setting
from arena.capabilities import AnswersInRounds

_MAX_NUMBERS = 2**20  # of the points of one move, in all games


@attrs.frozen
class Figure1Adversary(Adversary):
    """Base of the adversaries of Figure 1. A subclass implements `play`."""

    protocols = ("Figure1",)
    returns_score = True

    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def _give_unlabelled(
        self, queries: int, games: int, draw: Callable[[int], np.ndarray]
    ) -> Iterator[Unlabelled]:
        """The unlabelled points needed for so many queries; draw: k -> (k, ...) or (n, k, ...)."""
        for size in chunk_sizes(count_unlabelled(self.learner, queries), games, self.learner):
            yield Unlabelled(draw(size))


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
