"""Base of the adversaries of Figure 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs
import numpy as np

from adversaries.figure1.chunked_moves import chunk_sizes, count_unlabelled
from arena import Adversary, Learner, Unlabelled, setting


@attrs.frozen
class Figure1Adversary(Adversary):
    """Base of the adversaries of Figure 1. A subclass implements `play`."""

    protocols = ("Figure1",)
    returns_score = True

    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def _give_unlabelled(
        self, queries: int, games: int, draw: Callable[[int], np.ndarray]
    ) -> Iterator[Unlabelled]:
        """The moves that give the learner the unlabelled points that it needs for so many queries.

        draw: `draw(k)` returns k points (k, ...) or (n, k, ...).
        """
        for size in chunk_sizes(count_unlabelled(self.learner, queries), games, self.learner):
            yield Unlabelled(draw(size))
