"""soa: the Standard Optimal Algorithm, which errs as seldom as any deterministic learner can promise."""

from __future__ import annotations

import attrs

from arena.littlestone import Automaton, soa
from learners.online.conservative import Conservative


@attrs.frozen
class Soa(Conservative):
    """Predicts at each point the label whose concepts, among those consistent so far, have the larger
    Littlestone dimension.

    The Standard Optimal Algorithm of Littlestone (1988) in its conservative form: what is consistent is
    told by the examples on which it erred, which is all that its proof uses. In a realizable game it errs
    Ldim times at most, and no deterministic learner promises less.

    Once no concept is consistent it predicts 0 at every point (see `Conservative`).
    """

    name = "soa"
    theorem = "the Standard Optimal Algorithm (Littlestone 1988): at most Ldim mistakes"

    def automaton(self) -> Automaton:
        return soa(self.concepts)
