"""Adversaries of online games that need no knowledge of the learner: committed, contrarian, special-swap."""

from __future__ import annotations

import attrs
import numpy as np

from arena import Adversary, Commit, Example, Moves, Ready, setting
from arena.settings import at_least, at_most, whole


@attrs.frozen
class Committed(Adversary):
    """Commits to T examples drawn beforehand: points uniform in [0, 1], labelled by a threshold, then flipped
    with probability `noise`."""

    name = "committed"
    protocols = ("Oblivious",)

    rounds: int = setting(100, help="T", check=[whole, at_least(1)])
    threshold: float = setting(0.5, unit="point", help="points from here on are labelled 1")
    noise: float = setting(
        0.0, unit="probability", help="of a flipped label", check=[at_least(0), at_most(1)]
    )

    def play(self, games: int, rng: np.random.Generator) -> Moves:
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

    rounds: int = setting(100, help="T", check=[whole, at_least(1)])
    point: float = setting(0.5, unit="point", help="the point of every example")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        label = np.ones(games, bool)
        for _ in range(self.rounds):
            reply = yield Example(self.point, label)
            label = ~reply.hypothesis(self.point)
        return None


@attrs.frozen
class SpecialSwap(Adversary):
    """Balances the labels, then swaps one: its label is 0 in world 0 and 1 in world 1, and every later
    hypothesis may tell.

    The score is the number of later hypotheses that label the point 1.
    """

    name = "special-swap"
    protocols = ("SpecialRound",)

    rounds: int = setting(100, help="T", check=[whole, at_least(2)])
    special: int = setting(1, help="t*, the special round", check=[whole, at_least(1)])
    point: float = setting(0.5, unit="point", help="the point of every example")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        ones = np.zeros(games)
        yield Ready()
        for t in range(1, self.rounds + 1):
            if t == self.special:
                reply = yield Example(self.point, 0, other_y=1)
            else:
                reply = yield Example(self.point, t % 2)
            if t >= self.special and reply.hypothesis is not None:
                ones += reply.hypothesis(self.point)
        return ones
