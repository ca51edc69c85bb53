"""halving: follows the majority of the concepts that are consistent."""

from __future__ import annotations

import attrs

from arena.littlestone import Automaton, halving
from learners.online.conservative import Conservative


@attrs.frozen
class Halving(Conservative):
    """Predicts at each point the label that most concepts give, among those consistent so far; at a tie 1.

    Halving (Littlestone 1988) in its conservative form: what is consistent is told by the examples on
    which it erred. Each of these removes half of the concepts at least, so it errs log2 |H| times at most,
    where concepts that label the domain alike count once. The bound told is exact, and often below that.

    Once no concept is consistent it predicts 0 at every point (see `Conservative`).
    """

    name = "halving"
    theorem = "Halving (Littlestone 1988): at most log2 |H| mistakes; here those of its longest game"

    def automaton(self) -> Automaton:
        return halving(self.concepts)
