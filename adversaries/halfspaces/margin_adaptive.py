"""margin-adaptive: contradicts the shown weights, by as little as it can, as long as a target allows it."""

from __future__ import annotations

import attrs
import numpy as np

from adversaries.halfspaces.base import JUST, HalfspaceAdversary, balanced, fair_bits, normalised
from arena import Example, Moves


@attrs.frozen
class MarginAdaptive(HalfspaceAdversary):
    """Forces nearly as many mistakes on Winnow as its bound allows, 2 ln d/ρ².

    The target is one coordinate j, drawn for each game. Its coordinate of every example is y'ρ, so that the
    margin is reached and not exceeded; the others are ±1, but for a fraction or two, such that the weights
    shown last give y'(w·x) just below 0, and mostly so do those after the update that the last example may
    have set off (`adversaries.halfspaces.base.balanced`). In relative entropy an update by the rate η brings w
    nearer to the target by ηρ - ln cosh η only as long as w_j is small, where the bound's proof has
    ηρ - η²/2, and by twice that at the end, when w_j is 1/(1 + ρ). That makes about 2 ln(d/2)/ρ² mistakes at
    η = ρ. Labels are fair coins.

    It contradicts what was shown last, whatever the learner; how that pays before learners that are not
    multiplicative, nobody promises. Once a learner cannot be contradicted, its last point is repeated.
    """

    name = "margin-adaptive"
    protocols = ("Adaptive",)

    def play(self, games: int, rng: np.random.Generator) -> Moves:
        halfspaces = self.halfspaces
        d, rows = halfspaces.dimension, np.arange(games)
        hidden = rng.integers(0, d, games)
        target = np.zeros((games, d))
        target[rows, hidden] = 1.0
        free = target == 0
        z = np.where(free, 1.0, halfspaces.margin)
        weights = np.full((games, d), 1 / d)
        for _ in range(self.rounds):
            at_target = weights[rows, hidden]
            open_games = np.flatnonzero(at_target * halfspaces.margin + JUST < 1 - at_target)
            some = weights[open_games], z[open_games], free[open_games], z[open_games]
            z[open_games] = balanced(*some, aim=-JUST)
            y = fair_bits(1, games, rng)[0]
            x = np.where(y[:, None] == 1, z, -z)
            weights = normalised((yield Example(x, y, target=target)).hypothesis.concepts)
        return None
