"""halving: predicts with the majority of the consistent concepts, without privacy."""

from __future__ import annotations

import attrs

from arena.littlestone import Automaton, halving
from learners.online.conservative import ConservativeLearner


@attrs.frozen
class Halving(ConservativeLearner):
    """Predicts at each point the label that most consistent concepts give, and 1 at a tie.

    Halving (Littlestone 1988) in its conservative form: consistency refers to the examples on which it erred.
    Each of these removes at least half of the concepts, so it makes at most log2 |H| mistakes, where concepts
    with the same labels on the domain count once. Its bound is exact, and often below that.
    """

    name = "halving"
    theorem = "Halving (Littlestone 1988): at most log2 |H| mistakes; here those of its longest game"

    def automaton(self) -> Automaton:
        return halving(self.concepts)
