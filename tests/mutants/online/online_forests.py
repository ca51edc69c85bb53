"""Broken versions of `golowich-livni`: the shipped learner with one slip each, in small forests.

Two changes are correct and so are no mutants. First, where the costs of switches are added, AboveThreshold
may keep the noise of its threshold: shifting it once, at ε/2, covers all queries below, and each of k
switches costs another ε/2, where the claim counts k·ε. Second, the instances of the reduction may share all
random numbers: then h_t is the hypothesis of one instance after t - 1 examples, and all instances together
cost as much as one.
"""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from mutants.online.online_realizable import InTurn
from support.simple_players import BrokenLearner

from arena.concepts import ConceptClass, Thresholds
from learners.online.golowich_livni import GolowichLivni, GolowichLivniState, TournamentForests


@attrs.frozen
class FewTrees(BrokenLearner, GolowichLivni):
    """Base of the broken learners: their settings."""

    State = GolowichLivniState

    concepts: ConceptClass = Thresholds(range(2))
    rounds: int = 40
    epsilon: float = 2.0
    delta: float = 0.1
    nodes: int = 2
    switches: int = 1
    level: float | None = 2.0


@attrs.frozen
class BareForest(FewTrees):
    """The slip: the most frequent function is shown without noise, as if that of AboveThreshold sufficed. No
    ε holds.

    In a forest of one tree the first mistake determines the root, and the function of the root is shown.
    """

    class State(GolowichLivniState):
        def _switch(self, rows: np.ndarray) -> None:
            counts = self._forests.counts(rows)
            best = np.where(counts.any(axis=1), counts.argmax(axis=1), self._forests.function[rows])
            self._forests.show(rows, best, counts)


@attrs.frozen
class EachSwitchWhole(FewTrees):
    """The slip: each switch uses the whole ε, as if there were only one. It loses ε for each switch.

    Many histograms of one forest reveal which of two functions more nodes have; an example takes two nodes
    from one and gives one to the other.
    """

    rounds: int = 500
    delta: float = 0.01
    nodes: int = 256
    switches: int = 400
    level: float | None = 85.0

    @property
    def watch_epsilon(self) -> float:
        return self.epsilon / 2


class ForestsInTurn(TournamentForests):
    def __init__(self, spec: FewTrees, games: int, rng: np.random.Generator) -> None:
        super().__init__(spec.soa, games, spec.nodes, rng)
        self._turn = np.zeros(games, np.intp)
        self._rng: Any = InTurn(rng, self._turn)

    def insert(self, first: int, columns: np.ndarray, y: np.ndarray) -> None:
        mistakes = self._soa.labels[self.function, columns] != y
        super().insert(first, columns, y)
        self._turn += mistakes


@attrs.frozen
class LeavesInTurn(FewTrees):
    """The slip: leaves are not drawn; mistakes of the hypothesis go to the leaves in turn. No ε holds.

    One more mistake moves all later ones on by one leaf, so that examples that shared a tree no longer do.
    """

    class State(GolowichLivniState):
        def __init__(self, spec: FewTrees, games: int, rng: np.random.Generator) -> None:
            super().__init__(spec, games, rng)
            self._forests = ForestsInTurn(spec, games, rng)

    rounds: int = 200
    epsilon: float = 3.0
    nodes: int = 128
    level: float | None = 8.0
