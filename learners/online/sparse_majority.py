"""sparse-majority: predicts with the majority of a few concepts of the class, without privacy."""

from __future__ import annotations

import attrs

from arena.littlestone.sparse_majority_automaton import SparseMajorityAutomaton, sparse_majority
from learners.online.conservative import ConservativeLearner


@attrs.frozen
class SparseMajorityLearner(ConservativeLearner):
    """Predicts with a majority of a few concepts of the class that minimises the worst-case number of
    mistakes.

    After Hanneke, Livni, Moran, Online Learning with Simple Predictors (COLT 2021), computed for the given
    class; the guarantees are those of `arena.littlestone.sparse_majority_automaton`. In a realizable game it
    makes at most `automaton().mistakes` mistakes, and its hypotheses are majorities of at most
    `automaton().most_members` concepts, consistent or not. For thresholds that number is 1, so it is proper.

    If no concept is consistent it predicts 0 at every point (see `ConservativeLearner`), which is the
    majority of no concepts and may not be a majority of any.
    """

    name = "sparse-majority"
    theorem = (
        "sparse majorities (Hanneke, Livni, Moran 2021): O(Ldim) mistakes; here those of its longest game"
    )

    def automaton(self) -> SparseMajorityAutomaton:
        return sparse_majority(self.concepts)
