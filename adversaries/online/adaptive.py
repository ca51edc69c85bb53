"""adaptive: asks where the hypothesis shown last can still be wrong, at the least cost to what is left."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.online.base import DIMENSION, NUMBER, VersionSpaces, class_for, first_said, on_domain
from arena import Adversary, Example, Learner, Moves, setting
from arena.concepts import ConceptClass
from arena.settings import at_least, one_of, whole


@attrs.frozen
class AdaptiveConsistent(Adversary):
    """Contradicts the hypothesis of the round before at the point where that leaves most concepts consistent.

    For every game it keeps the concepts that agree with all labels given. Where the hypothesis errs on a
    point whose label they all agree on, that costs nothing, and is repeated until the learner has learned it;
    else the label against the hypothesis is the one that leaves the largest Littlestone dimension (`keeps`:
    or the largest number of concepts). One dimension is spent for each new label at most, since some point
    splits the concepts into two parts of at least one dimension less. So a learner that changes only when it
    errs, and never gives up what it has learned, errs at least Ldim times if h_1 is that of its copy.

    Where the hypothesis is the only concept left it repeats an example.
    """

    name = "adaptive"
    protocols = ("Adaptive",)
    returns_score = False
    realizable = True

    rounds: int = setting(100, help="T", check=[whole, at_least(1)])
    keeps: str = setting(
        DIMENSION, help="what it keeps large: dimension or number", check=one_of(DIMENSION, NUMBER)
    )
    concepts: ConceptClass | None = setting(None, help="the concept class; default: the learner's")
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        spaces = VersionSpaces(class_for(self.learner, self.concepts), games, self.keeps)
        row = np.arange(games)
        said = first_said(self.learner, spaces, games)
        for _ in range(self.rounds):
            left = np.where(said, spaces.worth[:, 0], spaces.worth[:, 1])
            column = left.argmax(axis=1)
            y = said[row, column] ^ (left[row, column] >= 0)
            spaces.take(column, y)
            reply = yield Example(spaces.points[column], y)
            said = on_domain(reply.hypothesis, spaces.points)
        return None
