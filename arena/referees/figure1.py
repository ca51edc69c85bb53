"""The two-world distinguishing game: Figure 1 of Naor, Nissim, Stemmer, Yan, Private Everlasting
Prediction.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from arena.claims import QUERY
from arena.errors import InvalidArgument
from arena.moves import Query
from arena.points import unlike
from arena.referees.base import Referee, Seats, Table
from arena.referees.predictor import PredictorTable


@attrs.frozen
class Figure1(Referee):
    """Figure 1: a training phase in two worlds, then up to t queries in two worlds.

    1. The training sets have equal length and differ in at most one place.
    2. If they differ, the flag goes up.
    3. The learner gets its world's set. Nothing of h_0 is shown.
    4. Each round: (a) where the flag is up both queries are equal; (b) queries that differ raise it;
       (c) the label is shown where the queries are equal; (d) the learner gets its world's query;
       nothing of h_r is shown.

    The view is the labels and whether the learner has halted. A withheld round is withheld whole: a halt
    that it causes shows at the next round, as silence.

    t: the most queries a game may have; None for no bound.
    """

    name: ClassVar[str] = "Figure1"
    t: int | None = attrs.field(default=None)

    @t.validator
    def _check_t(self, attribute: object, value: int | None) -> None:
        if value is not None and value < 1:
            raise InvalidArgument("Figure 1 has t ≥ 1 rounds", value=value)

    def open(self, seats: Seats) -> Table:
        return _Figure1Table(seats, self.t)


class _Figure1Table(PredictorTable):
    protocol = "Figure 1"
    bound = "t"

    def _own_query(self, move: Query) -> tuple[np.ndarray, np.ndarray | None]:
        """Steps 4(a), 4(b), 4(d): each game's own query, and where the two worlds' queries differ."""
        x0 = self._points(move.x)
        if move.other is None:
            return x0, None
        x1 = self._points(move.other)
        differ = unlike(x0, x1)
        if not differ.any():
            return x0, None
        broken = differ & self.flag
        if broken.any():
            raise self._refuse(
                "after the flag both queries are equal",
                games=np.flatnonzero(broken),
                expected="the same point in both worlds",
                got="two different points",
            )
        self.flag |= differ
        self.challenges.add(QUERY)
        return self._own(x0, x1), differ
