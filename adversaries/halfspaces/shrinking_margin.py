"""shrinking-margin: examples that are easy at first, and come down to the margin."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from adversaries.halfspaces.base import (
    ADAPTIVE,
    JUST,
    HalfspaceStream,
    balanced,
    fair_bits,
    normalised,
    subsets,
)
from arena import Example, Moves, setting
from arena.concepts import Halfspaces
from arena.settings import at_least, at_most


@attrs.frozen
class ShrinkingMargin(HalfspaceStream):
    """The target is the majority of k coordinates, drawn for each game, k the largest odd number up to 1/ρ;
    points are in {-1, 1}^d, labels fair coins. At first all k speak for the label, and |v·x| = 1; stretch by
    stretch one more speaks against it, until |v·x| = 1/k. Other coordinates are fair coins.

    Under Adaptive the other coordinates are chosen against the weights shown last, so that the learner is at
    a loss: y'(w·x) = `confidence`·ρ, or just below 0 where that is 0 (`adversaries.halfspaces.base.balanced`).
    Every example comes with b_t = 1. Winnow then errs as long as the k coordinates have less than about half
    of the weight; and with a confidence between 0 and c ConfidentWinnow updates without having erred, as its
    theorem fears. Points have a fraction or two a game, so they are doubles.
    """

    name = "shrinking-margin"

    confidence: float = setting(
        0.0,
        unit="margins",
        help="how surely the weights shown last are right, under Adaptive; 0: just wrong",
        check=[at_least(0), at_most(1)],
    )

    @property
    def size(self) -> int:
        """k, the coordinates that vote."""
        halfspaces = self.halfspaces
        most = min(int(1 / halfspaces.margin + 1e-6), halfspaces.dimension)
        return most - 1 + most % 2

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        if self.protocol != ADAPTIVE:
            return (yield from super().play(games, rng))
        halfspaces = self.halfspaces
        d = halfspaces.dimension
        relevant = subsets(games, self.size, d, rng)
        target, free = self._target(relevant, d), np.ones((games, d), bool)
        free[np.arange(games)[:, None], relevant] = False
        weights, z = np.full((games, d), 1 / d), np.ones((games, d))
        aim = self.confidence * halfspaces.margin or -JUST
        for t in range(self.rounds):
            wanted = self._votes(relevant, t, d, rng)
            z = balanced(weights, wanted, free, z, aim)
            y = fair_bits(1, games, rng)[0]
            example = Example(np.where(y[:, None] == 1, z, -z), y, target=target, update=np.ones(games, bool))
            weights = normalised((yield example).hypothesis.concepts)
        return None

    def _examples(self, halfspaces: Halfspaces, games: int, rng: np.random.Generator) -> Iterator[Example]:
        d = halfspaces.dimension
        relevant = subsets(games, self.size, d, rng)
        target = self._target(relevant, d)
        for t in range(self.rounds):
            y = fair_bits(1, games, rng)[0]
            x = self._votes(relevant, t, d, rng)
            x *= (2 * y - 1)[:, None]
            yield Example(x, y, target=target)

    def _votes(self, relevant: np.ndarray, t: int, d: int, rng: np.random.Generator) -> np.ndarray:
        """(games, d) int8, z = y'x of round t + 1: -1 at as many random relevant coordinates as are against
        the label by then, 1 at the others, and coins elsewhere."""
        games, size = relevant.shape
        against = t * (size // 2 + 1) // self.rounds
        z = 2 * fair_bits(games, d, rng) - 1
        rows, order = np.arange(games)[:, None], rng.permuted(relevant, axis=1)
        z[rows, order[:, :against]] = -1
        z[rows, order[:, against:]] = 1
        return z

    def _target(self, relevant: np.ndarray, d: int) -> np.ndarray:
        target = np.zeros((len(relevant), d))
        target[np.arange(len(relevant))[:, None], relevant] = 1 / relevant.shape[1]
        return target
