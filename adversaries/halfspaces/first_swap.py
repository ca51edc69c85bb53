"""first-swap: the first mistake that an update is made of is swapped, and the weights that are drawn tell."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.halfspaces.base import JUST, normalised, playable
from arena import Adversary, Example, InvalidArgument, Learner, Moves, Ready, setting
from arena.concepts import ConceptClass, Halfspaces
from arena.settings import at_least, whole

_SAME = 1e-9  # weights that differ by less have not been drawn anew


@attrs.frozen
class FirstSwap(Adversary):
    """The first example is a mistake in both worlds, and its z = y'x are opposite at nearly every coordinate.

    In world 0 z is 1 at the first `coordinates` of the d and -1 at the others; in world 1 it is -1 at those,
    and 1 at as many others as leave it a mistake. So an update by this example, alone or in a mean, makes the
    first coordinates heavier in world 0 and lighter in world 1. All later examples are mistakes that any
    weights >= 0 make and that change none, ones with the label 0: they count towards the next update, in both
    worlds alike, and every update draws the shown weights anew from those that the first example made.

    coordinates: of the draws of an update a share of w(S) is expected on those S. Half of the coordinates
    move that share most; one moves its logarithm most, by 4η of a learner with rate η, where half of them
    move it by 2η.

    The score is the sum, over all changes of the shown weights, of the share that S had in h_1 less the one
    that it has now.
    """

    name = "first-swap"
    protocols = ("SpecialRound",)
    returns_score = True

    rounds: int = setting(1_000, help="T", check=[whole, at_least(2)])
    coordinates: int | None = setting(
        None,
        help="the coordinates that the swap is about; default: (d - 1)/2, the most",
        check=[whole, at_least(1)],
    )
    concepts: ConceptClass | None = setting(None, help="the halfspaces; default: the learner's")
    learner: Learner | None = setting(None, help="the spec of the learner it plays against")

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        halfspaces = playable(self.name, self.concepts, self.learner)
        size = self._size(halfspaces)
        weights = normalised((yield Ready()).hypothesis.concepts)
        first = weights[:, :size].sum(axis=1)
        up, down = opposite(weights, size)
        score = np.zeros(games)
        move = Example(-up, 0, -down, 0)
        for _ in range(self.rounds):
            hypothesis = (yield move).hypothesis
            if hypothesis is None:
                break
            before, weights = weights, normalised(hypothesis.concepts)
            changed = (np.abs(weights - before) > _SAME).any(axis=1)
            score += np.where(changed, first - weights[:, :size].sum(axis=1), 0.0)
            move = Example(np.ones(halfspaces.dimension, np.int8), 0)
        return score

    def _size(self, halfspaces: Halfspaces) -> int:
        most = (halfspaces.dimension - 1) // 2
        size = self.coordinates or most
        if not 0 < size <= most:
            raise InvalidArgument(
                f"a mistake of uniform weights is about 1 to {most} of {halfspaces.dimension} coordinates",
                value=size,
                remedy="Choose a class of more dimensions, or fewer coordinates.",
            )
        return size


def opposite(weights: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Two z of {-1, 1}^d with w·z < 0 that differ at the first `size` coordinates, and at as many others as
    weights allow: 1 and -1 at the first, -1 and at first 1 at the others.

    Shapes: weights (n, d) of sum 1; results (n, d) int8.
    """
    up, down = np.full(weights.shape, -1, np.int8), np.full(weights.shape, -1, np.int8)
    up[:, :size] = 1
    down[:, size:] = (weights[:, size:].cumsum(axis=1) < 0.5 - JUST).astype(np.int8) * 2 - 1
    return up, down
