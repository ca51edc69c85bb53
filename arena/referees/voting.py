"""Votes of teachers on public points: the game of Algorithms 1 and 2 of Liu, Zhu, Chaudhuri, Wang, Revisiting
Model-Agnostic Private Learning.
"""

from __future__ import annotations

from typing import ClassVar

import attrs
from attrs.validators import optional

from arena.referees.batch import BatchSetup, Referee
from arena.referees.learner_calls import LabelRange
from arena.referees.predictor import PredictorBatch, PredictorRules
from arena.replies import UNSTABLE
from arena.settings import at_least, whole


@attrs.frozen
class Voting(Referee):
    """The training phase of Figure 1, then adaptive queries at up to ℓ public points.

    The training sets of the two worlds have equal length and differ in at most one place. Points are public:
    the same in both worlds. An answer is 0, 1 or ⊥ (`UNSTABLE`: the votes were too close). Every answer is
    shown, and whether the learner has halted.

    ell: the most queries of a game; None for no limit.
    """

    name: ClassVar[str] = "Voting"
    ell: int | None = attrs.field(default=None, validator=optional([whole, at_least(1)]))

    def open(self, setup: BatchSetup) -> PredictorBatch:
        labels = LabelRange(UNSTABLE, f"0, 1 or {UNSTABLE} (⊥)")
        rules = PredictorRules(protocol="Voting", most=self.ell, symbol="ℓ", labels=labels, public=True)
        return PredictorBatch(setup, rules)
