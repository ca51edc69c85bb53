"""The two-world game of Figure 1 of Naor, Nissim, Stemmer, Yan, Private Everlasting Prediction."""

from __future__ import annotations

from typing import ClassVar

import attrs
from attrs.validators import optional

from arena.moves import Queries, Query, Train, Unlabelled
from arena.referees.batch import BatchSetup, Referee
from arena.referees.predictor import PredictorBatch, PredictorRules
from arena.settings import at_least, whole


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

    Deviation: a learner that learns from unlabelled points (remark 3 of the introduction) may be handed some
    between queries, in two worlds. They differ in at most one place, and then raise the flag as a query does.
    Whether the learner has halted is shown.

    t: the most queries of a game; None for no limit.
    """

    name: ClassVar[str] = "Figure1"
    t: int | None = attrs.field(default=None, validator=optional([whole, at_least(1)]))

    def open(self, setup: BatchSetup) -> PredictorBatch:
        moves = (Train, Query, Queries, Unlabelled)
        rules = PredictorRules(protocol="Figure 1", most=self.t, symbol="t", moves=moves)
        return PredictorBatch(setup, rules)
