"""special-swap: balances the labels of one point, so that one swapped example may decide later hypotheses."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.online.base import middle_point
from arena import Adversary, Example, Learner, Moves, PrivacyUnit, Ready, count_setting, setting
from arena.settings import at_least, at_most, whole


@attrs.frozen
class SpecialSwap(Adversary):
    """Alternates the labels of one point, except for the special round, whose example differs by world.

    By default, the special example is the same point, labelled 0 in world 0 and 1 in world 1. The score is
    the number of hypotheses from the special round on that label `point` 1.
    """

    name = "special-swap"
    protocols = ("SpecialRound",)
    returns_score = True
    usual_for = (PrivacyUnit.STREAM_EXAMPLE,)

    rounds: int = count_setting(100, help="T", least=2)
    special: int = count_setting(1, help="t*, the special round")
    point: float | None = setting(
        None, unit="point", help="the point of every example; default: the middle of the domain, or 0.5"
    )
    label: int = setting(0, help="of the special example in world 0", check=[whole, at_least(0), at_most(1)])
    other_point: float | None = setting(
        None, unit="point", help="of the special example in world 1; default: the same"
    )
    other_label: int = setting(
        1, help="of the special example in world 1", check=[whole, at_least(0), at_most(1)]
    )
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        point = middle_point(self.learner) if self.point is None else self.point
        other_point = point if self.other_point is None else self.other_point
        ones = np.zeros(games)
        yield Ready()
        for t in range(1, self.rounds + 1):
            if t == self.special:
                reply = yield Example(point, self.label, other_point, self.other_label)
            else:
                reply = yield Example(point, t % 2)
            if t >= self.special and reply.hypothesis is not None:
                ones += reply.hypothesis(point)
        return ones
