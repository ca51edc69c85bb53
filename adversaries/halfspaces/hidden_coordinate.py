"""hidden-coordinate: a point function written as a halfspace of margin 1, whose point comes up late."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import numpy as np

from adversaries.halfspaces.base import HalfspaceStream
from adversaries.online.point_functions import ALL, ONE, SCALE, UNIFORM, starts
from arena import Example, InvalidArgument, setting
from arena.concepts import Halfspaces
from arena.settings import at_least, at_most, one_of


@attrs.frozen
class HiddenCoordinate(HalfspaceStream):
    """The embedding of section 4.4 of Bun and Fang: the point j is written as the vector that is 1 in place j
    and -1 elsewhere, and the target is the weight 1 at i. So v·x is 1 at the point i and -1 at all others.

    Points other than i come up, with the label 0, until at round t* the point i does, with the label 1, and
    nothing else from then on. In a share `decoys` of the games it never does. What that forces on a learner
    that is private towards one example is what `point-functions` says of the class of points. Winnow, which
    labels every point 0 at first if d > 2, learns the point i by about ln(d)/2η mistakes.

    background: "one" is one other point in all rounds, "all" a random one in every round.
    start: as point-functions has it.
    """

    name = "hidden-coordinate"

    background: str = setting(
        ALL, help="one other point, or a random one every round", check=one_of(ONE, ALL)
    )
    start: str = setting(
        SCALE,
        help="t*: scale (a random power of two or a little later) or uniform",
        check=one_of(SCALE, UNIFORM),
    )
    decoys: float = setting(
        0.25, unit="probability", help="of a game that is background only", check=[at_least(0), at_most(1)]
    )

    def _examples(self, halfspaces: Halfspaces, games: int, rng: np.random.Generator) -> Iterator[Example]:
        d, rows = halfspaces.dimension, np.arange(games)
        if d < 2:
            raise InvalidArgument("a point hides among 2 or more dimensions", value=halfspaces)
        hidden = rng.integers(0, d, games)
        first = starts(self.start, self.rounds, games, rng)
        first[rng.random(games) < self.decoys] = self.rounds + 1
        target = np.zeros((games, d))
        target[rows, hidden] = 1.0
        for t in range(1, self.rounds + 1):
            if t == 1 or self.background == ALL:
                other = rng.integers(0, d - 1, games)
                other += other >= hidden
            late = t >= first
            x = np.full((games, d), -1, np.int8)
            x[rows, np.where(late, hidden, other)] = 1
            yield Example(x, late, target=target)
