"""committed: commits to random examples of a threshold."""

from __future__ import annotations

import attrs
import numpy as np

from arena import Adversary, Commit, Learner, Moves, Unsupported, count_setting, setting
from arena.capabilities import finite_domain
from arena.settings import at_least, at_most


@attrs.frozen
class CommittedExamples(Adversary):
    """Commits to T random examples: uniform points of [0, 1], labelled by a threshold and a little noise.

    Each label is flipped with probability `noise`. `iid` does the same on the domain of a learner's class.
    """

    name = "committed"
    protocols = ("Oblivious",)
    returns_score = False

    rounds: int = count_setting(100, help="T")
    threshold: float = setting(0.5, unit="point", help="points from here on are labelled 1")
    noise: float = setting(
        0.0, unit="probability", help="of a flipped label", check=[at_least(0), at_most(1)]
    )
    learner: Learner | None = setting(None, help="the configuration of the learner it plays against")

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
