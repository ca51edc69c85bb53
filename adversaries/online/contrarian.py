"""Adversaries of online games that know no more of the learner than its points: committed, contrarian,
special-swap.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from arena import Adversary, Commit, Example, Learner, Moves, Ready, Unsupported, setting
from arena.points import finite_domain
from arena.settings import at_least, at_most, whole


@attrs.frozen
class Committed(Adversary):
    """Commits to T examples drawn beforehand: points uniform in [0, 1], labelled by a threshold, then flipped
    with probability `noise`.

    `iid` does so on the domain of a learner's class.
    """

    name = "committed"
    protocols = ("Oblivious",)
    returns_score = False

    rounds: int = setting(100, help="T", check=[whole, at_least(1)])
    threshold: float = setting(0.5, unit="point", help="points from here on are labelled 1")
    noise: float = setting(
        0.0, unit="probability", help="of a flipped label", check=[at_least(0), at_most(1)]
    )
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        if self.learner is not None and (self.learner.point_shape or finite_domain(self.learner)):
            raise Unsupported(
                f"{self.name} draws points from [0, 1], which {self.learner.name} does not receive",
                remedy="Play iid, which draws from the domain of the learner's class.",
            )
        x = rng.random((games, self.rounds))
        flipped = rng.random((games, self.rounds)) < self.noise
        yield Commit(x, (x >= self.threshold) ^ flipped)
        return None


@attrs.frozen
class Contrarian(Adversary):
    """Labels each point against the hypothesis of the round before, the most that an adaptive adversary
    can know.
    """

    name = "contrarian"
    protocols = ("Adaptive",)
    returns_score = False

    rounds: int = setting(100, help="T", check=[whole, at_least(1)])
    point: float | None = setting(
        None, unit="point", help="the point of every example; default: the middle of the domain, else 0.5"
    )
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        point: Any = middle_point(self.learner) if self.point is None else self.point
        label = np.ones(games, bool)
        for _ in range(self.rounds):
            reply = yield Example(point, label)
            label = ~reply.hypothesis(point)
        return None


@attrs.frozen
class SpecialSwap(Adversary):
    """Balances the labels of one point, then swaps one example, and every later hypothesis may tell.

    By default the special example is the same point with label 0 in world 0 and label 1 in world 1. The score
    is the number of later hypotheses that label `point` 1.
    """

    name = "special-swap"
    protocols = ("SpecialRound",)
    returns_score = True

    rounds: int = setting(100, help="T", check=[whole, at_least(2)])
    special: int = setting(1, help="t*, the special round", check=[whole, at_least(1)])
    point: float | None = setting(
        None, unit="point", help="the point of every example; default: the middle of the domain, else 0.5"
    )
    label: int = setting(0, help="of the special example in world 0", check=[whole, at_least(0), at_most(1)])
    other_point: float | None = setting(
        None, unit="point", help="of the special example in world 1; default: the same"
    )
    other_label: int = setting(
        1, help="of the special example in world 1", check=[whole, at_least(0), at_most(1)]
    )
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

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


def middle_point(learner: Learner | None) -> Any:
    """The middle of the learner's domain if that is finite, else 0.5 in every coordinate."""
    domain = None if learner is None else finite_domain(learner)
    if domain is not None:
        return domain[len(domain) // 2]
    return np.full(() if learner is None else learner.point_shape, 0.5)
