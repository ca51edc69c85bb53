"""contrarian: labels one point against the last hypothesis."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from adversaries.online.base import middle_point
from arena import Adversary, Example, Learner, Moves, count_setting, setting


@attrs.frozen
class Contrarian(Adversary):
    """Labels one point against the hypothesis of the previous round, the last that an adversary has seen."""

    name = "contrarian"
    protocols = ("Adaptive",)
    returns_score = False

    rounds: int = count_setting(100, help="T")
    point: float | None = setting(
        None, unit="point", help="the point of every example; default: the middle of the domain, or 0.5"
    )
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        point: Any = middle_point(self.learner) if self.point is None else self.point
        label = np.ones(games, bool)
        for _ in range(self.rounds):
            reply = yield Example(point, label)
            label = ~reply.hypothesis(point)
        return None
