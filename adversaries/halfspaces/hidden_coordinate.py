"""hidden-coordinate: a point function as a halfspace of margin 1, whose point appears late."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from adversaries.common.prepared_sequences import ALL, ONE, decoys_setting, draw_start_rounds, start_setting
from adversaries.halfspaces.base import HalfspaceStream, target_weights
from arena import Example, InvalidArgument, setting
from arena.settings import one_of


@attrs.frozen
class HiddenCoordinate(HalfspaceStream):
    """The embedding of point functions of section 4.4 of Bun and Fang, with a hidden point i.

    The point j is the vector that is 1 in coordinate j and -1 elsewhere, and the target is the weight 1 at i.
    So v·x is 1 at the point i and -1 at all others. Until round t* other points come up, with label 0, and
    from then on only the point i, with label 1. In a share `decoys` of the games it never does. What this
    forces on a learner that is private towards one example: docs/proofs/hidden_point.md. Winnow labels every
    point 0 at first if d > 2, and learns the point i in about ln(d)/2η mistakes.
    """

    name = "hidden-coordinate"

    background: str = setting(
        ALL, help="one other point, or a random one every round", check=one_of(ONE, ALL)
    )
    start: str = start_setting()
    decoys: float = decoys_setting()

    def _draw_examples(self, dimension: int, games: int, rng: np.random.Generator) -> Iterator[Example]:
        if dimension < 2:
            raise InvalidArgument("a point can hide only in 2 or more dimensions", value=self.halfspaces)
        rows, hidden = np.arange(games), rng.integers(0, dimension, games)
        start = draw_start_rounds(self.start, self.rounds, games, rng)
        start[rng.random(games) < self.decoys] = self.rounds + 1
        target = target_weights(hidden[:, None], dimension)
        for t in range(1, self.rounds + 1):
            if t == 1 or self.background == ALL:
                other = rng.integers(0, dimension - 1, games)
                other += other >= hidden
            late = t >= start
            x = np.full((games, dimension), -1, np.int8)
            x[rows, np.where(late, hidden, other)] = 1
            yield Example(x, late, target=target)
