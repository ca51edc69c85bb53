"""adaptive: contradicts the last hypothesis where that keeps the most concepts consistent."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.online.base import (
    DIMENSION,
    NUMBER,
    ClassAdversary,
    ValuedVersionSpaces,
    expect_first_labels,
    label_points,
)
from arena import Example, Moves, setting
from arena.settings import one_of


@attrs.frozen
class AdaptiveConsistent(ClassAdversary):
    """Contradicts the hypothesis of the previous round at the point where that is cheapest.

    For every game it tracks the version space, the concepts that agree with all labels so far. Where the
    hypothesis errs at a point whose label is already determined, contradicting it is free, and is repeated
    until the learner has learned that label. Otherwise the label against the hypothesis is the one that keeps
    the largest Littlestone dimension (or, with `keeps` = number, the most concepts). Each new label costs at
    most one dimension, since some point splits the version space into two parts of at least one dimension
    less. So a learner that changes only when it errs, and keeps what it has learned, errs at least Ldim times
    if h_1 is that of the simulated game.

    Where the hypothesis is the only consistent concept, an example is repeated.
    """

    name = "adaptive"
    protocols = ("Adaptive",)
    realizable = True

    keeps: str = setting(
        DIMENSION, help="what it keeps large: dimension or number", check=one_of(DIMENSION, NUMBER)
    )

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        spaces = ValuedVersionSpaces(self._concept_class, games, self.keeps)
        row = np.arange(games)
        labels = expect_first_labels(self.learner, spaces, games)
        for _ in range(self.rounds):
            values = spaces.contradict(labels)
            column = values.argmax(axis=1)
            y = labels[row, column] ^ (values[row, column] >= 0)
            spaces.add(column, y)
            reply = yield Example(spaces.points[column], y)
            labels = label_points(reply.hypothesis, spaces.points)
        return None
