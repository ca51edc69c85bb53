"""update-swap: one mistake more or less at the brink of an update, and the hypotheses that follow tell."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from adversaries.online.contrarian import middle_point
from arena import Adversary, Example, Hypothesis, Learner, Moves, Ready, setting
from arena.settings import at_least, one_of, whole

Point = float | tuple[float, ...]  # a vector is set from Python; on the command line there are numbers only
AGAINST, WITH = "against", "with"
FIRST_CHANGE, STAYS = "first-change", "stays"


@attrs.frozen
class UpdateSwap(Adversary):
    """Brings a learner to the brink of an update by mistakes, and swaps the example that may set it off.

    Every example is one point, labelled against h_1: `before` mistakes, as long as the learner stays with
    h_1. At the next round the label is that of h_1 in world 0, so no mistake, and against it in world 1. A
    learner that counts its mistakes, as one with AboveThreshold does, is one mistake further in world 1. The
    probes that follow are labelled against h_1 too (`probes` = against), so that both worlds come to the
    update, one a round after the other; or with h_1 (`probes` = with), so that what comes now is of the
    swap's making.

    The score is higher the sooner the learner leaves the function h that it showed before the swap:
    minus the number of later hypotheses until the first other than h (`score` = first-change), or minus the
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
        None, unit="point", help="the point of every example; default: the middle of the domain, else 0.5"
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
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        point: Any = middle_point(self.learner) if self.point is None else self.point
        calm = point if self.other_point is None else self.other_point
        shown = (yield Ready()).hypothesis
        said, said_calm = shown(point), shown(calm)
        before = min(self.before, self.rounds - 1)
        for _ in range(before):
            shown = (yield Example(point, ~said)).hypothesis
        h = shown
        reply = yield Example(calm, said_calm, point, ~said)
        stays, same = np.zeros(games), np.ones(games, bool)
        for _ in range(self.rounds - 1 - before):
            now = _same(h, reply.hypothesis)
            same = now & same if self.score == FIRST_CHANGE else now
            stays += same
            reply = yield Example(point, said if self.probes == WITH else ~said)
        return 0 - stays


def _same(one: Hypothesis, other: Hypothesis) -> np.ndarray:
    """(games,) bool: where two hypotheses of a table are the same concept."""
    same = one.concepts == other.concepts
    return np.asarray(same.reshape(len(same), -1).all(axis=1))
