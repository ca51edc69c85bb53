"""sparse-majority: follows the majority of a few concepts of the class."""

from __future__ import annotations

import attrs

from arena.littlestone.sparse_majority_automaton import SparseMajorityAutomaton, sparse_majority
from learners.online.conservative import Conservative


@attrs.frozen
class SparseMajority(Conservative):
    """Predicts with the majority of a few concepts of the class, consistent or not, that keep the least
    budget of mistakes.

    After Hanneke, Livni, Moran, Online Learning with Simple Predictors (COLT 2021), computed for the class at
    hand: `arena.littlestone.sparse_majority_automaton` has what is guaranteed. In a realizable game it errs
    `automaton().mistakes` times at most, and its hypotheses are majorities of at most
    `automaton().most_members` concepts: for thresholds, where that is 1, it is proper.

    Once no concept is consistent it predicts 0 at every point (see `Conservative`), which is the majority of
    nothing and maybe of no concepts.
    """

    name = "sparse-majority"
    theorem = (
        "sparse majorities (Hanneke, Livni, Moran 2021): O(Ldim) mistakes; here those of its longest game"
    )

    def automaton(self) -> SparseMajorityAutomaton:
        return sparse_majority(self.concepts)
