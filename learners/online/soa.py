"""soa: the Standard Optimal Algorithm, which has the optimal mistake bound, without privacy."""

from __future__ import annotations

import attrs

from arena.littlestone import Automaton, soa
from learners.online.conservative import ConservativeLearner


@attrs.frozen
class Soa(ConservativeLearner):
    """Predicts at each point the label for which the consistent concepts have the larger Littlestone
    dimension.

    The Standard Optimal Algorithm of Littlestone (1988) in its conservative form: consistency refers to the
    examples on which it erred, which is all that its proof uses. In a realizable game it makes at most Ldim
    mistakes, and no deterministic learner has a smaller bound.
    """

    name = "soa"
    theorem = "the Standard Optimal Algorithm (Littlestone 1988): at most Ldim mistakes"

    def automaton(self) -> Automaton:
        return soa(self.concepts)
