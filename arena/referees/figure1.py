"""The two-world distinguishing game: Figure 1 of Naor, Nissim, Stemmer, Yan, Private Everlasting
Prediction.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from arena.claims import PrivacyUnit
from arena.errors import InvalidArgument
from arena.moves import Move, Query, Unlabelled
from arena.points import freeze, points_differ
from arena.referees.base import LearnerStates, Referee, Table
from arena.referees.predictor import PredictorBatch
from arena.replies import Received, Reply
from arena.transcript import Handed


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

    Beyond the figure, a learner that learns from unlabelled points (remark 3 of the introduction) may be
    handed some between queries: in two worlds, which differ in one place of them at most, and then the flag
    goes up as for a query. Whether the learner has halted is shown.

    t: the most queries a game may have; None for no bound.
    """

    name: ClassVar[str] = "Figure1"
    t: int | None = attrs.field(default=None)

    @t.validator
    def _check_t(self, attribute: object, value: int | None) -> None:
        if value is not None and value < 1:
            raise InvalidArgument("Figure 1 has t ≥ 1 rounds", value=value)

    def open(self, states: LearnerStates) -> Table:
        return _Figure1Batch(states, self.t)


class _Figure1Batch(PredictorBatch):
    protocol = "Figure 1"
    bound = "t"
    moves = "Train, Query, Queries and Unlabelled"

    def take(self, move: Move) -> Reply:
        return self._unlabelled(move) if isinstance(move, Unlabelled) else super().take(move)

    def _unlabelled(self, move: Unlabelled) -> Received:
        self._check_begun()
        if not hasattr(self._learner, "fresh"):
            raise self._refuse(
                f"{self._name} takes no unlabelled points",
                remedy="Hand them to a learner whose seat has a method fresh, such as everlasting-fresh.",
            )
        x = self._own_unlabelled(move)
        self._ask("fresh", x)
        self._read_halted()
        self._silent = freeze(self._halted.copy())
        if self._log is not None:
            self._log.append(Handed(round=self.round, x=x, halted=self._halted))
        return Received(self._silent)

    def _own_unlabelled(self, move: Unlabelled) -> np.ndarray:
        """(n, k, ...): the points of each game's world; raises the flag where the worlds differ."""
        x0 = self._many_points(move.x)
        if move.other is None:
            return x0
        x1 = self._many_points(move.other)
        if x0.shape != x1.shape:
            raise self._refuse(
                "both worlds have as many unlabelled points", expected=x0.shape[1], got=x1.shape[1]
            )
        places = (x0 != x1).any(axis=tuple(range(2, x0.ndim))).sum(axis=1)
        if (places > 1).any():
            raise self._refuse(
                "unlabelled points of the two worlds differ in at most one place",
                games=np.flatnonzero(places > 1),
                expected="0 or 1 places",
                got=f"{int(places.max())} places",
            )
        self._raise(places > 0, PrivacyUnit.UNLABELLED_EXAMPLE, "worlds' unlabelled points")
        return self._own(x0, x1)

    def _own_query(self, move: Query) -> tuple[np.ndarray, np.ndarray | None]:
        """Steps 4(a), 4(b), 4(d): each game's own query, and where the two worlds' queries differ."""
        x0 = self._points(move.x)
        if move.other is None:
            return x0, None
        x1 = self._points(move.other)
        differ = points_differ(x0, x1)
        if not differ.any():
            return x0, None
        self._raise(differ, PrivacyUnit.QUERY, "queries")
        return self._own(x0, x1), differ

    def _raise(self, differ: np.ndarray, challenge: PrivacyUnit, what: str) -> None:
        """Raise the flag where the worlds differ, or refuse it where it is up."""
        broken = differ & self.flag
        if broken.any():
            raise self._refuse(
                f"after the flag both {what} are equal",
                games=np.flatnonzero(broken),
                expected="the same point in both worlds",
                got="two different points",
            )
        if differ.any():
            self.flag |= differ
            self.challenges.add(challenge)
