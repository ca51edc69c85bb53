"""my-player: one training label differs between the worlds, and the answers are counted. Change it as you like."""

from __future__ import annotations

import attrs
import numpy as np

from arena import Adversary, Moves, Query, Sample, Train, setting
from arena.settings import at_least, whole


@attrs.frozen
class MyPlayer(Adversary):
    """Two training sets that differ in one label, and then a few queries of that point.

    The training sets are a tie up to that label, so that it decides what the learner answers if the noise
    lets it. To hide a query instead of an example, train on one sample in both worlds and yield
    Query(point of world 0, point of world 1).
    """

    name = "my-player"
    protocols = ("Figure1",)
    returns_score = True

    size: int = setting(10, help="examples in a training set", check=[whole, at_least(2)])
    queries: int = setting(5, help="queries in a game", check=[whole, at_least(1)])

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        """Play `games` games at once: yield moves, receive replies, and return a score for each game."""
        points = np.linspace(0.0, 1.0, self.size)
        labels = (np.arange(self.size) % 2 == 0).astype(int)
        changed = labels.copy()
        changed[-1] = 1 - changed[-1]
        yield Train(Sample(points, labels), Sample(points, changed))  # world 0, world 1
        ones = np.zeros(games)
        for _ in range(self.queries):
            reply = yield Query(points[-1])  # the same query in both worlds
            ones += reply.label == 1  # (games,); the label of a game that has halted is not shown
        return ones * (1 if changed[-1] else -1)  # the score, (games,): higher looks like world 1
