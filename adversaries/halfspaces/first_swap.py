"""first-swap: swaps the first mistake that an update is made of, and watches the weights that are drawn."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.halfspaces.base import SLACK, HalfspaceAdversary, normalise_weights
from arena import Example, InvalidArgument, Moves, Ready, count_setting
from arena.concepts import Halfspaces

_SAME = 1e-9  # weights that differ by less have not been redrawn


@attrs.frozen
class FirstSwap(HalfspaceAdversary):
    """The first mistake has opposite z = y'x in the two worlds at nearly every coordinate.

    By default it is the first example. Before it, `correct` rounds show examples that all weights >= 0 label
    correctly, for learners that react to a mistake when all has been well for a while.

    In world 0, z is 1 at the first `coordinates` of the d and -1 at the others. In world 1, it is -1 at the
    first, and 1 at as many others as leave it a mistake. So an update with this example makes the first
    coordinates heavier in world 0 and lighter in world 1. All later examples, with label 0, are mistakes of
    any weights >= 0, and they change no weights in relation to each other, but bring on the next update in
    both worlds.

    The score is the sum, over all changes of the shown weights, of the share of the first coordinates before
    the special round minus that now. It ends when the weights become uniform, since a learner that begins
    again does not use the example any more.
    """

    name = "first-swap"
    protocols = ("SpecialRound",)
    returns_score = True
    realizable = False

    rounds: int = count_setting(1_000, help="T", least=2)
    coordinates: int | None = count_setting(
        None, help="the number of coordinates that the swap affects; default: (d - 1)/2, the most"
    )
    correct: int = count_setting(0, help="rounds without a mistake before the special round", least=0)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        halfspaces = self.halfspaces
        size = self._choose_size(halfspaces)
        weights = normalise_weights((yield Ready()).hypothesis.concepts)
        ones = np.ones(halfspaces.dimension, np.int8)
        correct = min(self.correct, self.rounds - 1)
        for _ in range(correct):
            weights = normalise_weights((yield Example(ones, 1)).hypothesis.concepts)
        first_share = weights[:, :size].sum(axis=1)
        up, down = build_opposite_mistakes(weights, size)
        score, used = np.zeros(games), np.ones(games, bool)
        move = Example(-up, 0, -down, 0)
        for _ in range(self.rounds - correct):
            hypothesis = (yield move).hypothesis
            if hypothesis is None:
                break
            before, weights = weights, normalise_weights(hypothesis.concepts)
            changed = (np.abs(weights - before) > _SAME).any(axis=1)
            used &= ~changed | (np.ptp(weights, axis=1) > _SAME)
            score += np.where(changed & used, first_share - weights[:, :size].sum(axis=1), 0.0)
            move = Example(ones, 0)
        return score

    def _choose_size(self, halfspaces: Halfspaces) -> int:
        largest = (halfspaces.dimension - 1) // 2
        size = self.coordinates or largest
        if not 0 < size <= largest:
            raise InvalidArgument(
                f"coordinates must be from 1 to {largest} of the {halfspaces.dimension} dimensions, so that "
                "uniform weights err",
                value=size,
                remedy="Choose a class of more dimensions, or fewer coordinates.",
            )
        return size


def build_opposite_mistakes(weights: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Two z of {-1, 1}^d with w·z < 0 that are opposite at as many coordinates as the weights allow.

    The one is 1 at the first `size` coordinates and -1 at the others. The other is -1 at the first, and 1 at
    the others as far as possible. Shapes: weights (n, d) of sum 1; results (n, d) int8.
    """
    up, down = np.full(weights.shape, -1, np.int8), np.full(weights.shape, -1, np.int8)
    up[:, :size] = 1
    down[:, size:] = (weights[:, size:].cumsum(axis=1) < 0.5 - SLACK).astype(np.int8) * 2 - 1
    return up, down
