"""margin-adaptive: contradicts the shown weights by as little as possible, while a target allows it."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.halfspaces.base import (
    SLACK,
    HalfspaceAdversary,
    balance_points,
    draw_fair_bits,
    normalise_weights,
    target_weights,
)
from arena import Example, Moves


@attrs.frozen
class MarginAdaptive(HalfspaceAdversary):
    """Forces nearly as many mistakes on Winnow as its bound allows, 2 ln d/ρ².

    The target is one coordinate j, drawn for each game. Its coordinate of every example is y'ρ, so that the
    margin is exactly reached. The others are ±1, except for a fraction or two, such that y'(w·x) is just
    below 0 for the weights shown last, and mostly also after the update that the last example may have
    triggered (`adversaries.halfspaces.base.balance_points`). Labels are fair coins. This makes about
    2 ln(d/2)/ρ² mistakes at the rate η = ρ: docs/proofs/margin_adaptive.md.

    It contradicts the last weights of any learner, but nothing is promised against learners that are not
    multiplicative. When a learner cannot be contradicted, its last point is repeated.
    """

    name = "margin-adaptive"
    protocols = ("Adaptive",)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        halfspaces = self.halfspaces
        d, rows = halfspaces.dimension, np.arange(games)
        hidden = rng.integers(0, d, games)
        target = target_weights(hidden[:, None], d)
        free = target == 0
        z = np.where(free, 1.0, halfspaces.margin)
        weights = np.full((games, d), 1 / d)
        for _ in range(self.rounds):
            at_target = weights[rows, hidden]
            possible = np.flatnonzero(at_target * halfspaces.margin + SLACK < 1 - at_target)
            z[possible] = balance_points(
                weights[possible], z[possible], free[possible], z[possible], aim=-SLACK
            )
            y = draw_fair_bits(1, games, rng)[0]
            x = np.where(y[:, None] == 1, z, -z)
            weights = normalise_weights((yield Example(x, y, target=target)).hypothesis.concepts)
        return None
