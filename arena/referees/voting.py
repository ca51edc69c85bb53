"""Votes of teachers on public points: the game of Algorithms 1 and 2 of Liu, Zhu, Chaudhuri, Wang, Revisiting
Model-Agnostic Private Learning.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from arena.errors import InvalidArgument
from arena.moves import Query
from arena.points import points_differ
from arena.referees.base import LearnerStates, Referee, Table
from arena.referees.predictor import PredictorBatch
from arena.replies import UNSTABLE


@attrs.frozen
class Voting(Referee):
    """The training phase of Figure 1, then nature asks about up to ℓ public points, one after the other, each
    chosen when the answers before it are known.

    Training sets of equal length differ in at most one place. Points are public: the same in both worlds.
    An answer is 0, 1 or ⊥ (`UNSTABLE`: the votes were too close), and all answers are shown, with whether
    the learner has halted.

    ell: the most points a game may ask about; None for no bound.
    """

    name: ClassVar[str] = "Voting"
    ell: int | None = attrs.field(default=None)

    @ell.validator
    def _check_ell(self, attribute: object, value: int | None) -> None:
        if value is not None and value < 1:
            raise InvalidArgument("Voting has ℓ ≥ 1 queries", value=value)

    def open(self, states: LearnerStates) -> Table:
        return _VotingBatch(states, self.ell)


class _VotingBatch(PredictorBatch):
    protocol = "Voting"
    bound = "ℓ"
    highest = UNSTABLE
    words = f"0, 1 or {UNSTABLE} (⊥)"

    def _own_query(self, move: Query) -> tuple[np.ndarray, np.ndarray | None]:
        x = self._points(move.x)
        if move.other is not None:
            differ = points_differ(x, self._points(move.other))
            if differ.any():
                raise self._refuse(
                    "nature asks about public points",
                    games=np.flatnonzero(differ),
                    expected="the same point in both worlds",
                    got="two different points",
                )
        return x, None
