"""update-swap: brings the learner close to an update, and swaps an example that may trigger it."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from adversaries.online.base import middle_point
from arena import Adversary, Example, Hypothesis, Learner, Moves, Ready, setting
from arena.settings import at_least, one_of, whole

Point = float | tuple[float, ...]  # vectors can be set from Python only, not from the command line
AGAINST, WITH = "against", "with"
FIRST_CHANGE, STAYS = "first-change", "stays"


@attrs.frozen
class UpdateSwap(Adversary):
    """Brings a learner close to an update by mistakes, and swaps the example that may trigger it.

    Every example is one point, labelled against h_1: `before` mistakes, as long as the learner stays with
    h_1. In the special round, the label is that of h_1 in world 0, so no mistake, and against it in world 1.
    So a learner that counts its mistakes, as with AboveThreshold, has one more in world 1. The probes that
    follow are labelled against h_1 too (`probes` = against), so that the update comes in both worlds, one
    round apart; or as h_1 labels them (`probes` = with), so that only the swap can cause an update.

    Let h be the function shown before the swap. The score is higher the sooner the learner leaves h: minus
    the number of later hypotheses before the first that is not h (`score` = first-change), or minus the
    number of all later ones that are h (`score` = stays).
    """

    name = "update-swap"
    protocols = ("SpecialRound",)
    returns_score = True

    rounds: int = setting(100, help="T", check=[whole, at_least(2)])
    before: int = setting(
        10, help="mistakes before the special round, fewer than T", check=[whole, at_least(0)]
    )
    point: Point | None = setting(
        None, unit="point", help="the point of every example; default: the middle of the domain, or 0.5"
    )
    other_point: Point | None = setting(
        None, unit="point", help="of the special example in world 0; default: the same"
    )
    probes: str = setting(
        AGAINST, help="labels after the swap: against h_1 or with it", check=one_of(AGAINST, WITH)
    )
    score: str = setting(
        FIRST_CHANGE, help="what is scored: first-change or stays", check=one_of(FIRST_CHANGE, STAYS)
    )
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        point: Any = middle_point(self.learner) if self.point is None else self.point
        other_point = point if self.other_point is None else self.other_point
        hypothesis = (yield Ready()).hypothesis
        label, other_label = hypothesis(point), hypothesis(other_point)
        before = min(self.before, self.rounds - 1)
        for _ in range(before):
            hypothesis = (yield Example(point, ~label)).hypothesis
        reply = yield Example(other_point, other_label, point, ~label)  # world 0, world 1
        unchanged, in_a_row = np.zeros(games), np.ones(games, bool)
        for _ in range(self.rounds - 1 - before):
            same = _are_same(hypothesis, reply.hypothesis)
            in_a_row = same & in_a_row if self.score == FIRST_CHANGE else same
            unchanged += in_a_row
            reply = yield Example(point, label if self.probes == WITH else ~label)
        return 0 - unchanged


def _are_same(first: Hypothesis, second: Hypothesis) -> np.ndarray:
    """(games,) bool: where two hypotheses of a batch are the same concept."""
    same = first.concepts == second.concepts
    return np.asarray(same.reshape(len(same), -1).all(axis=1))
