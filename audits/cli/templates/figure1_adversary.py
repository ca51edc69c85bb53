"""my-player: one training label differs between the worlds. Replace it by your own attack."""

from __future__ import annotations

import attrs
import numpy as np

from arena import Adversary, Moves, Query, Sample, Train, count_setting


@attrs.frozen
class MyPlayer(Adversary):
    """Two training sets at one point that differ in one label, and then a few queries of that point.

    Half of the labels are 1, so one label decides what the learner answers, as far as its noise lets it. To
    hide a query instead of an example, train on one sample in both worlds and yield
    Query(point of world 0, point of world 1).
    """

    name = "my-player"
    protocols = ("Figure1",)
    returns_score = True

    size: int = count_setting(1_000, help="examples in a training set", least=2)
    queries: int = count_setting(5, help="queries in a game")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        """Play `games` games at once: yield moves, receive replies, and return a score for each game."""
        point, half = 0.5, self.size // 2
        same = Sample([point, point], [0, 1], [self.size - half, half])  # `half` examples are labelled 1
        other = Sample([point, point], [0, 1], [self.size - half - 1, half + 1])
        yield Train(same, other)  # world 0, world 1
        ones = np.zeros(games)
        for _ in range(self.queries):
            reply = yield Query(point)  # the same query in both worlds
            ones += reply.label == 1  # (games,); once a game has halted, no label is shown
        return ones  # the score, (games,): higher looks like world 1
