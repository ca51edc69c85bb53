"""shrinking-margin: examples that are easy at first, and whose margin shrinks to that of the class."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from adversaries.common.prepared_sequences import ADAPTIVE
from adversaries.halfspaces.base import (
    SLACK,
    HalfspaceStream,
    balance_points,
    draw_fair_bits,
    draw_subsets,
    normalise_weights,
    target_weights,
)
from arena import Example, Moves, setting
from arena.settings import at_least, at_most


@attrs.frozen
class ShrinkingMargin(HalfspaceStream):
    """The target is the majority of k coordinates, drawn for each game, k the largest odd number up to 1/ρ.

    Points are in {-1, 1}^d, and labels are fair coins. At first all k coordinates vote for the label, and
    |v·x| = 1. In each stretch of rounds one more votes against it, until |v·x| = 1/k. The other coordinates
    are fair coins.

    Under Adaptive, the other coordinates are chosen against the weights shown last: y'(w·x) is
    `confidence`·ρ, or just below 0 if that is 0 (`adversaries.halfspaces.base.balance_points`). Every example
    comes with b_t = 1. Winnow errs as long as the k coordinates have less than about half of the weight. With
    a confidence between 0 and c, ConfidentWinnow updates without having erred, the worst case of its theorem.
    Points then have a fraction or two, so they are doubles.
    """

    name = "shrinking-margin"

    confidence: float = setting(
        0.0,
        unit="margins",
        help="by how much the weights shown last are right, under Adaptive; 0: just wrong",
        check=[at_least(0), at_most(1)],
    )

    @property
    def size(self) -> int:
        """k, the number of coordinates that vote."""
        halfspaces = self.halfspaces
        largest = min(int(1 / halfspaces.margin + 1e-6), halfspaces.dimension)
        return largest - 1 + largest % 2

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        if self.protocol != ADAPTIVE:
            return (yield from super().play(games, rng))
        halfspaces = self.halfspaces
        d = halfspaces.dimension
        relevant = draw_subsets(games, self.size, d, rng)
        target = target_weights(relevant, d)
        free = target == 0
        weights, z = np.full((games, d), 1 / d), np.ones((games, d))
        aim = self.confidence * halfspaces.margin or -SLACK
        for t in range(self.rounds):
            votes = self._draw_votes(relevant, t, d, rng)
            z = balance_points(weights, votes, free, z, aim)
            y = draw_fair_bits(1, games, rng)[0]
            x = np.where(y[:, None] == 1, z, -z)
            reply = yield Example(x, y, target=target, update=np.ones(games, bool))
            weights = normalise_weights(reply.hypothesis.concepts)
        return None

    def _draw_examples(self, dimension: int, games: int, rng: np.random.Generator) -> Iterator[Example]:
        relevant = draw_subsets(games, self.size, dimension, rng)
        target = target_weights(relevant, dimension)
        for t in range(self.rounds):
            y = draw_fair_bits(1, games, rng)[0]
            x = self._draw_votes(relevant, t, dimension, rng)
            x *= (2 * y - 1)[:, None]
            yield Example(x, y, target=target)

    def _draw_votes(self, relevant: np.ndarray, t: int, d: int, rng: np.random.Generator) -> np.ndarray:
        """(games, d) int8, z = y'x of round t + 1: -1 at relevant coordinates that vote against the label."""
        games, size = relevant.shape
        against = t * (size // 2 + 1) // self.rounds
        z = 2 * draw_fair_bits(games, d, rng) - 1
        rows, order = np.arange(games)[:, None], rng.permuted(relevant, axis=1)
        z[rows, order[:, :against]] = -1
        z[rows, order[:, against:]] = 1
        return z
